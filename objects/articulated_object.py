"""An articulated object on disk with its annotation, before a simulator loads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotation import Articulation, PartKind
from unlatch.objects.annotation_entries import Region, RegionOpening
from unlatch.objects.config import RestsOn
from unlatch.objects.mechanisms import follow, rest_positions, settling_reach
from unlatch.simcore.errors import AssetError, unknown_entry
from unlatch.simcore.geometry import Pose, turn_to_x
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import read_urdf

PHYSICS_FILE = "physics.json"
"""Name of the file with drives and masses that a URDF cannot hold, beside the URDF of a converted object."""


@dataclass(frozen=True)
class ObjectAsset:
    """An articulated object: URDF, annotation, bounds, and the friction and damping of its joints.

    The root link frame has z up and +x out of the object's front, where its doors and drawers open to.
    """

    name: str
    category: str
    instance: str
    """Seed of a procedural object, or id of an object of a data set."""
    source: str
    """`procedural`, `partnet_mobility` or `urdf`."""
    urdf_path: Path
    """The URDF for simulation and planning."""
    articulation: Articulation
    content_hash: str
    """SHA-256 over all content of the object; recorded with the episode."""
    bounds_obj: np.ndarray
    """(2, 3) lower and upper corner of the closed object in its root link frame [m]."""
    friction: dict[str, float] = field(default_factory=dict)
    """Dry friction by joint name [N m or N]."""
    damping: dict[str, float] = field(default_factory=dict)
    """Viscous damping by joint name [N m s/rad or N s/m]."""
    R_obj_peer: np.ndarray = field(default_factory=lambda: turn_to_x(2))
    """(3, 3) rotation of the frame in which GenSim2 states axes, in the root link frame. Of an object that stands, z
    is up and x into the front; as the object is laid down, the frame turns with it."""
    info_frames: Mapping[str, np.ndarray] = field(default_factory=dict, compare=False, repr=False)
    """(4, 4) by link, of a USD: the map from the coordinates in which an `info.json` states keypoints [m]."""
    parameters: dict[str, float | str] = field(default_factory=dict)
    """Values that the generator drew or the importer chose; recorded with the episode."""
    rests_on: RestsOn = RestsOn.bottom
    """The side that is down."""
    fixed: bool = True
    """Whether an articulated object is fastened where it stands."""
    files: tuple[Path, ...] = field(default=(), compare=False, repr=False)
    """Files and folders that it was read from; if one changes, it is another object. Empty for a generated object."""
    word: str = ""
    """What instructions call it; empty: its category."""
    write_textured: Callable[[], Path] | None = field(default=None, compare=False, repr=False)
    """Writes the URDF with textures and returns its path; None if the object has no textures."""

    def __post_init__(self) -> None:
        bounds = np.array(self.bounds_obj, dtype=float).reshape(2, 3)
        R_obj_peer = np.array(self.R_obj_peer, dtype=float).reshape(3, 3)
        for name, array in (("bounds_obj", bounds), ("R_obj_peer", R_obj_peer)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def changed(self, **values: Any) -> ObjectAsset:
        """Returns a copy with other values of some fields; its URDF is the same and is not read again."""
        copy = replace(self, **values)
        if "model" in self.__dict__:
            copy.__dict__["model"] = self.model
        return copy

    @cached_property
    def model(self) -> UrdfModel:
        """The parsed URDF."""
        return read_urdf(self.urdf_path)

    @cached_property
    def rest_positions(self) -> dict[str, float]:
        """Positions of annotated joints, and of those of mechanisms, that nobody has moved [rad or m]."""
        articulation = self.articulation
        return rest_positions(articulation.mechanisms, parts=articulation.joint_ranges(), model=self.model)

    def settling_reach(self, joint: str) -> float:
        """Returns the opening within which a joint moves by itself when let go [rad or m]; 0 without mechanisms."""
        return settling_reach(joint, self.articulation.mechanisms)

    def with_followers(self, positions: dict[str, float], *, led: Collection[str]) -> dict[str, float]:
        """Returns joint positions with those of joints that move with the ones that are led [rad or m]."""
        return follow(self.articulation.mechanisms, positions, led=led)

    def explain_held(self, part: str, positions: Mapping[str, float]) -> list[str]:
        """Returns which conditions that free a part do not hold, see `mechanism_problems.explain_held`.

        Raises:
            AssetError: The object has no such part.
        """
        from unlatch.objects.mechanism_problems import explain_held

        articulation = self.articulation
        return explain_held(
            articulation.part(part).joint,
            articulation.mechanisms,
            {**self.rest_positions, **positions},
            parts=articulation.joint_ranges(),
            names={each.joint: name for name, each in articulation.parts.items()},
            model=self.model,
        )

    @cached_property
    def outline_obj(self) -> np.ndarray:
        """(N, 4) balls and corners on the outline of the closed object, in its root link frame [m]; see `find_outline`.

        Each row is a centre and a radius. (0, 4) of an object without colliders.
        """
        from unlatch.objects.find_regions import find_outline  # only tasks that carry need it

        found = find_outline(self.model, self.articulation.closed_positions())
        found.setflags(write=False)
        return found

    @property
    def free(self) -> bool:
        """Whether a hand can carry the object away."""
        return self.articulation.free

    @property
    def can_move(self) -> bool:
        """Whether the whole object moves if it is pushed: it is free, or nothing fastens it."""
        return self.free or not self.fixed

    @cached_property
    def regions(self) -> dict[str, Region]:
        """Places in or on the object where things may be put, by name: those of the annotation, or found ones."""
        from unlatch.objects.find_regions import find_regions  # only tasks that carry need it

        stated = self.articulation.regions
        return find_regions(self.model, self.articulation) if stated is None else stated

    def region(self, name: str) -> Region:
        """Returns a region by name.

        Raises:
            AssetError: The object has no such region.
        """
        if name not in self.regions:
            said = f"No region '{name}' in the {self.category}."
            raise unknown_entry(said, name, self.regions, heading="Regions", error=AssetError, name=name)
        return self.regions[name]

    def covers(self, region: Region) -> bool:
        """Returns whether something is over a region of this object once its part is closed.

        That is a ceiling, or the cabinet under which a drawer slides.
        """
        part = None if region.part is None else self.articulation.part(region.part)
        is_drawer = part is not None and part.kind is PartKind.slider and part.link == region.link
        return region.opening is RegionOpening.front or is_drawer

    @property
    def mass_kg(self) -> float:
        """Mass of all its links [kg]."""
        return sum_in_order(link.inertial.mass_kg for link in self.model.links.values() if link.inertial is not None)

    @property
    def centre_of_mass(self) -> np.ndarray:
        """(3,) centre of mass of the closed object in its root link frame [m]."""
        mass_kg, moment, closed = 0.0, np.zeros(3), self.articulation.closed_positions()
        for name, link in self.model.links.items():
            if link.inertial is not None:
                mass_kg += link.inertial.mass_kg
                moment += link.inertial.mass_kg * (self.model.link_pose(name, closed) @ link.inertial.com_link)
        return moment / mass_kg if mass_kg > 0.0 else np.asarray(self.bounds_obj.mean(axis=0))

    @property
    def size_m(self) -> np.ndarray:
        """(3,) extents of the closed object: depth, width, height [m]."""
        extents: np.ndarray = self.bounds_obj[1] - self.bounds_obj[0]
        return extents

    def drawn_urdf(self) -> Path:
        """Returns the URDF for rendering: the same links, joints and colliders, with textures if the object has some.

        Raises:
            AssetError: Its files cannot be written.
        """
        return self.urdf_path if self.write_textured is None else self.write_textured()

    def __repr__(self) -> str:
        size = " x ".join(f"{v:.2f}" for v in self.size_m)
        return (
            f"ObjectAsset({self.name}: {self.category} {self.source}/{self.instance}, {size} m, "
            f"parts: {', '.join(self.articulation.parts)}, hash {self.content_hash[:12]})"
        )


_HALF_TURN = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, np.pi)).R


def front_frame(asset: ObjectAsset) -> Pose:
    """Returns `T_root_front` of an object: at the middle of the lower edge of its front, x into it, z up."""
    low, high = asset.bounds_obj
    return Pose(_HALF_TURN, [high[0], 0.5 * (low[1] + high[1]), low[2]])
