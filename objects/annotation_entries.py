"""Entries of an annotation beside its parts: regions, fixed handles, freed joints, closing forces."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.closing_profile import catch_force, gasket_force
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose

UNIT_TOLERANCE = 1e-3
"""The length of a unit vector may be off by this much."""


def readonly_vector(values: ArrayLike) -> np.ndarray:
    """Returns a copy of three numbers that cannot be written to."""
    array = np.array(values, dtype=float).reshape(3)
    array.setflags(write=False)
    return array


def rounded(value: float) -> float:
    """Returns a number as a file holds it: rounded to a nanometre, without a negative zero."""
    return round(float(value), 9) + 0.0


def rounded_list(values: ArrayLike) -> list[float]:
    """Returns numbers as a file holds them, see `rounded`."""
    return [rounded(v) for v in np.asarray(values, dtype=float)]


class RegionKind(Enum):
    """What surrounds a region."""

    inside = "inside"
    """Walls on at least three sides: a drawer, a shelf, a bowl."""
    surface = "surface"
    """Nothing: the top of a table, a tray, a plate."""


class RegionOpening(Enum):
    """The side from which things come into a region."""

    above = "above"
    front = "front"
    """Along x of the region's frame: there is a ceiling."""


@dataclass(frozen=True)
class Region:
    """A free box above a floor, in the frame of the link that it moves with."""

    kind: RegionKind
    link: str
    """URDF link that the region moves with."""
    T_link_region: Pose
    """Middle of the floor; z up, x out of the front of the object."""
    size: np.ndarray
    """(3,) extents of the free box along x, y and z [m]; z from the floor up."""
    opening: RegionOpening
    """Side from which things come in."""
    part: str | None = None
    """The part that must be open for a hand to reach the region; None: it is always open."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", readonly_vector(self.size))

    def holds(self, point: np.ndarray) -> bool:
        """Returns whether a point (3,) in the frame of the region is in its box [m]."""
        half = 0.5 * self.size
        return bool(np.all(np.abs(point[:2]) < half[:2]) and 0.0 < point[2] < self.size[2])

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`, rounded to a nanometre."""
        return {
            "kind": self.kind.name,
            "link": self.link,
            "T_link_region": {
                "position": rounded_list(self.T_link_region.p),
                "quat_xyzw": rounded_list(self.T_link_region.quat_xyzw),
            },
            "size": rounded_list(self.size),
            "opening": self.opening.name,
            **({} if self.part is None else {"part": self.part}),
        }


@dataclass(frozen=True)
class FreedJoint:
    """A joint that the URDF fixes and that moves all the same, such as the dial of a safe."""

    kind: str
    """`revolute` or `prismatic`; it moves about or along the axis that the URDF states."""
    lower: float
    upper: float
    """Its limits [rad, or the unit of the URDF]."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`."""
        return asdict(self)


@dataclass(frozen=True)
class FixedHandle:
    """A round bar on a link that no part moves; all values are in the frame of that link."""

    link: str
    """URDF link of the bar."""
    middle: np.ndarray
    """(3,) middle of the bar [m]."""
    along: np.ndarray
    """(3,) unit direction of the bar."""
    out: np.ndarray
    """(3,) unit direction away from the object; a hand comes from there."""
    thickness_m: float
    """Diameter of the bar [m]."""

    def __post_init__(self) -> None:
        for name in ("middle", "along", "out"):
            object.__setattr__(self, name, readonly_vector(getattr(self, name)))

    def moved(self, T: Pose, *, link: str) -> FixedHandle:
        """Returns the bar in the frame of another link; `T` leads from the frame of its own link there."""
        along, out = T.rotate(self.along), T.rotate(self.out)
        return FixedHandle(link, T @ self.middle, along, out, self.thickness_m)

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`, rounded to a nanometre."""
        return {
            "link": self.link,
            "middle": rounded_list(self.middle),
            "along": rounded_list(self.along),
            "out": rounded_list(self.out),
            "thickness_m": rounded(self.thickness_m),
        }


_SAMPLES = 400
"""Openings at which the largest forces are looked for; the profiles have no feature as narrow as their distance."""


@dataclass(frozen=True)
class Catch:
    """A catch: a magnet, a ball, a latch with a hook, or the spring of a drawer that closes itself."""

    leave_n: float
    """Force at the handle that must be exceeded to open the part [N]."""
    reach_m: float
    """Distance that the handle moves from closed while the catch pulls the part closed [m]."""
    enter_n: float = 0.0
    """Force at the handle that must be exceeded to close the part again [N]; 0: the catch pulls it in."""

    def __post_init__(self) -> None:
        for name in ("leave_n", "enter_n", "reach_m"):
            _check_at_least_zero("catch", name, getattr(self, name))
        if self.leave_n > 0.0 and self.reach_m == 0.0:
            raise AssetError(
                "catch.reach_m is 0, expected more. Write how far the handle moves from closed while it acts [m]."
            )
        if self.enter_n > 0.0 and self.leave_n == 0.0:
            raise AssetError(
                f"catch.enter_n is {self.enter_n:g}, but leave_n is 0: it would hold nothing. Raise leave_n."
            )


@dataclass(frozen=True)
class Gasket:
    """A seal between the part and its body: a magnetic strip, or rubber that is compressed."""

    pull_n: float
    """Force at the handle of the closed part [N]: positive pulls it closed (a magnet), negative pushes it open
    (compressed rubber)."""
    reach_m: float
    """Distance that the handle moves from closed while the gasket acts [m]."""

    def __post_init__(self) -> None:
        _check_at_least_zero("gasket", "reach_m", self.reach_m)
        if self.pull_n != 0.0 and self.reach_m == 0.0:
            raise AssetError(
                "gasket.reach_m is 0, expected more. Write how far the handle moves from closed while it acts [m]."
            )


@dataclass(frozen=True)
class ClosingForces:
    """The forces at the closed stop of a part, at its handle; None: it has no such thing."""

    catch: Catch | None = None
    gasket: Gasket | None = None

    def __post_init__(self) -> None:
        if self.force_n(0.0) < 0.0:
            raise AssetError(
                f"the gasket pushes the closed part open with {-self.force_n(0.0):g} N more than the catch holds. "
                "Raise catch.leave_n or gasket.pull_n."
            )

    def force_n(self, opening_m: float) -> float:
        """Returns the force at the handle that has moved by `opening_m` from closed [N]; positive pulls it closed."""
        force = 0.0
        if self.catch is not None:
            catch = self.catch
            force += catch_force(opening_m, leave=catch.leave_n, enter=catch.enter_n, reach=catch.reach_m)
        if self.gasket is not None:
            force += gasket_force(opening_m, pull=self.gasket.pull_n, reach=self.gasket.reach_m)
        return force

    def scaled(self, factor: float) -> ClosingForces:
        """Returns those of an object whose lengths are multiplied: forces change with the third power."""
        catch, gasket, force = self.catch, self.gasket, factor**3
        return ClosingForces(
            catch and Catch(catch.leave_n * force, catch.reach_m * factor, catch.enter_n * force),
            gasket and Gasket(gasket.pull_n * force, gasket.reach_m * factor),
        )

    @property
    def reach_m(self) -> float:
        """Distance that the handle moves from closed until no closing force acts [m]."""
        catch, gasket = self.catch, self.gasket
        of_catch = 0.0 if catch is None or catch.leave_n == 0.0 else catch.reach_m * (2.0 if catch.enter_n else 1.0)
        return max(of_catch, 0.0 if gasket is None or gasket.pull_n == 0.0 else gasket.reach_m)

    @property
    def peak_opening_force_n(self) -> float:
        """Largest force at the handle that must be exceeded to open the part, without friction [N]."""
        return float(max(0.0, *self._forces()))

    @property
    def peak_closing_force_n(self) -> float:
        """Largest force at the handle that must be exceeded to close the part, without friction [N]."""
        return float(max(0.0, *(-force for force in self._forces())))

    @property
    def pull_j(self) -> float:
        """Work with which they pull the part closed from the end of their reach [J]."""
        return self.reach_m * float(np.maximum(self._forces(), 0.0).mean())

    def weakened(self, share: float) -> ClosingForces:
        """Returns the same forces times a share."""
        catch, gasket = self.catch, self.gasket
        if catch is not None:
            catch = replace(catch, leave_n=round(share * catch.leave_n, 4), enter_n=round(share * catch.enter_n, 4))
        if gasket is not None:
            gasket = replace(gasket, pull_n=round(share * gasket.pull_n, 4))
        return ClosingForces(catch, gasket)

    def _forces(self) -> list[float]:
        return [self.force_n(float(opening)) for opening in np.linspace(0.0, self.reach_m, _SAMPLES + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`; numbers are rounded to a nanonewton or nanometre."""
        entries = {"catch": self.catch, "gasket": self.gasket}
        return {
            name: {key: rounded(value) for key, value in asdict(entry).items()}
            for name, entry in entries.items()
            if entry is not None
        }

    def record(self, part: str) -> dict[str, float | str]:
        """Returns the values as a flat record, with the name of the part before each key."""
        return {
            f"{part}_{name}_{key}": value for name, values in self.to_dict().items() for key, value in values.items()
        }


NO_CLOSING_FORCES = ClosingForces()
"""A part without catch and gasket."""


def _check_at_least_zero(what: str, name: str, value: float) -> None:
    if not 0.0 <= value < np.inf:
        raise AssetError(f"{what}.{name} is {value:g}, expected 0 or more. Correct it.")
