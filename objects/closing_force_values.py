"""Catches and gaskets of objects whose file states none, by category: ranges, with where they come from.

Forces are at the handle, and do not include the friction of the hinge. Published sources, and what they say:

- Refrigerators: a push of at most 66.7 N (15 lbf) on the inside of the door, near its latch edge, opens it (16 CFR
  1750.5(a)(1), measured as in 1750.6(a)). The handle is about as far from the hinge: an upper bound. A page about door
  seals says that 5 to 10 lbf (22 to 44 N) are typical, without a measurement (shhonestfortune.com, "DIY fixes for
  refrigerator door seal efficiency").
- Doors and drawers of homes were measured once: Jain, Nguyen, Rath, Okerman and Kemp, "The complex structure of simple
  devices: a survey of trajectories and forces that open doors and drawers", BioRob 2010 (29 doors and 15 drawers in 6
  homes and an office, doi 10.1109/BIOROB.2010.5626754). We could not read its tables. A summary of it by others gives
  15 to 36 N at the handles of appliances, and 0 to 3 N after the start.
- Magnetic catches of cabinets pull with 2 to 8 lbf, 9 to 36 N (Monroe Engineering, "Magnetic catches: what is pull
  force and why does it matter?").
- Drawer slides with a detent: about 5 to 7 N open the drawer (Accuride Europe, "Accuride detents"). The same maker says
  that slides that close themselves need more, and gives no number.
- Cabinets and drawers that must be accessible in the USA: at most 22.2 N (5 lbf) operate the hardware (2010 ADA
  Standards 309.4 and 811.4). The doors of appliances are exempt (804.6.2).
- Washing machines: "industry standards require" that about 15 lbf (66.7 N) open the door, latch and seal together (US
  patent 6,560,998).

We found no published force for microwaves, ovens and dishwashers. UL 923, section 40, states loads that the door of a
microwave must bear, not the force that opens it. Their ranges, and all reaches, are our own choice of a typical
household product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unlatch.objects.annotation import Articulation, Part, PartKind
from unlatch.objects.closing_forces import NO_CLOSING_FORCES, Catch, ClosingForces, Gasket
from unlatch.objects.closing_motion import can_hold_closed
from unlatch.simcore.rng import stream
from unlatch.simcore.urdf.model import UrdfModel

Range = tuple[float, float]


@dataclass(frozen=True)
class CatchRange:
    """What a catch is drawn from: a uniform distribution for each value."""

    leave_n: Range
    reach_m: Range
    enter_n: Range | None = None

    def draw(self, rng: np.random.Generator) -> Catch:
        """Draws a catch."""
        leave, reach = _draw_uniform(self.leave_n, rng), _draw_uniform(self.reach_m, rng)
        return Catch(leave, reach, 0.0 if self.enter_n is None else _draw_uniform(self.enter_n, rng))


@dataclass(frozen=True)
class GasketRange:
    """What a gasket is drawn from."""

    pull_n: Range
    reach_m: Range

    def draw(self, rng: np.random.Generator) -> Gasket:
        """Draws a gasket."""
        return Gasket(_draw_uniform(self.pull_n, rng), _draw_uniform(self.reach_m, rng))


@dataclass(frozen=True)
class ForceRanges:
    """What the closing forces of one kind of part are drawn from."""

    catch: CatchRange | None = None
    gasket: GasketRange | None = None

    def draw(self, rng: np.random.Generator) -> ClosingForces:
        """Draws catch and gasket."""
        return ClosingForces(
            catch=None if self.catch is None else self.catch.draw(rng),
            gasket=None if self.gasket is None else self.gasket.draw(rng),
        )


_DRAWER = ForceRanges(CatchRange(leave_n=(5.0, 15.0), reach_m=(0.015, 0.04)))
"""Runners that pull the drawer in over its last centimetres: from the force of a detent (Accuride) up, and below the
bound for accessible furniture (ADA)."""
_SMALL_DRAWER = ForceRanges(CatchRange(leave_n=(3.0, 8.0), reach_m=(0.004, 0.01)))
"""A small chest without runners: a ball or a bead that snaps into a groove, around the force of a detent (Accuride)."""
_CABINET = ForceRanges(CatchRange(leave_n=(9.0, 36.0), reach_m=(0.003, 0.006)))
"""A magnetic catch at the edge far from the hinge: the pulls that Monroe Engineering states."""
_REFRIGERATOR = ForceRanges(gasket=GasketRange(pull_n=(20.0, 50.0), reach_m=(0.004, 0.008)))
"""A magnetic gasket: below the legal bound, around the forces that are called typical."""
_MICROWAVE = ForceRanges(CatchRange(leave_n=(15.0, 40.0), reach_m=(0.003, 0.006), enter_n=(10.0, 25.0)))
"""Two hooks that a spring presses behind a ledge: our own choice, around the 15 to 36 N reported for appliances."""
_RUBBER = GasketRange(pull_n=(-5.0, -2.0), reach_m=(0.008, 0.012))
"""A rubber seal that the latch compresses: our own choice."""
_LATCHED = ForceRanges(CatchRange(leave_n=(20.0, 45.0), reach_m=(0.004, 0.008), enter_n=(10.0, 25.0)), _RUBBER)
"""A latch that the handle pulls open, and a rubber seal: our own choice, below the bound for washing machines."""
_OVEN = ForceRanges(CatchRange(leave_n=(10.0, 30.0), reach_m=(0.015, 0.03)))
"""Hinges with springs, which pull the door in at the end: our own choice."""

CLOSING_FORCE_RANGES: dict[tuple[str, PartKind], ForceRanges] = {
    ("cabinet", PartKind.hinge_vertical): _CABINET,
    ("desk_drawers", PartKind.slider): _SMALL_DRAWER,
    ("dishwasher", PartKind.hinge_horizontal): _LATCHED,
    ("drawer", PartKind.slider): _DRAWER,
    ("drawer_cabinet", PartKind.slider): _DRAWER,
    ("microwave", PartKind.hinge_vertical): _MICROWAVE,
    ("oven", PartKind.hinge_horizontal): _OVEN,
    ("refrigerator", PartKind.hinge_vertical): _REFRIGERATOR,
    ("storagefurniture", PartKind.hinge_vertical): _CABINET,
    ("storagefurniture", PartKind.slider): _DRAWER,
    ("table", PartKind.slider): _DRAWER,
    ("washing_machine", PartKind.hinge_vertical): _LATCHED,
    ("washingmachine", PartKind.hinge_vertical): _LATCHED,
}
"""Ranges by category, in lower case, and kind of part. All other parts have neither catch nor gasket: lids, knobs and
levers; safes and doors of rooms, whose bolts a key or a lever moves; windows and toasters."""


def draw_closing_forces(category: str, kind: PartKind, rng: np.random.Generator) -> ClosingForces:
    """Draws the closing forces of a part; nothing is drawn for a part that has none."""
    ranges = CLOSING_FORCE_RANGES.get((category.lower(), kind))
    return NO_CLOSING_FORCES if ranges is None else ranges.draw(rng)


def with_drawn_forces(articulation: Articulation, category: str, rng: np.random.Generator) -> Articulation:
    """Returns the annotation with closing forces for the parts that state none, in the order of the parts.

    Parts that have none by their category stay as they are.
    """

    def complete(part: Part) -> Part:
        if part.closing_forces is not None:
            return part
        drawn = draw_closing_forces(category, part.kind, rng)
        return part if drawn == NO_CLOSING_FORCES else replace(part, closing_forces=drawn)

    return replace(articulation, parts={name: complete(part) for name, part in articulation.parts.items()})


def record_forces(articulation: Articulation) -> dict[str, float | str]:
    """Returns the closing forces of all parts for the record of an object, such as `door_catch_leave_n`."""
    forces = {name: part.closing_forces for name, part in articulation.parts.items()}
    return {key: value for name, item in forces.items() if item for key, value in item.record(name).items()}


def with_category_forces(articulation: Articulation, model: UrdfModel, *, category: str, instance: str) -> Articulation:
    """Returns the annotation of a real object with the closing forces that its file does not state.

    A part that cannot be held closed, see `can_hold_closed`, gets none. The values depend on category and instance
    only: the same object has the same catch in every episode.
    """
    drawn = with_drawn_forces(articulation, category, stream(0, f"objects.closing_forces.{category}.{instance}"))
    parts = {
        name: part if can_hold_closed(part, model) else articulation.parts[name] for name, part in drawn.parts.items()
    }
    return replace(drawn, parts=parts)


def _draw_uniform(bounds: Range, rng: np.random.Generator) -> float:
    return round(float(rng.uniform(*bounds)), 4)
