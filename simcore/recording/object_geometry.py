"""The fixed geometry of an articulated object that observations are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.urdf.model import UrdfModel


@dataclass(frozen=True)
class PartGeometry:
    """One part of an object; vectors are in the frame of its link unless they say otherwise."""

    kind: str
    """How the part moves, one of `ObservedScene.part_kinds`."""
    link: str
    """URDF link of the part."""
    joint: str
    """URDF joint that moves it."""
    slides: bool
    """Whether the joint is prismatic."""
    closed: float
    """Joint position of the closed part [rad or m]."""
    open: float
    """Joint position of the fully open part [rad or m]."""
    limits: tuple[float, float]
    """Lower and upper limit of the joint [rad or m]; for a joint without limits, the lesser and greater of `closed` and
    `open`."""
    T_link_box: Pose
    """Centre of the box around the part, handle included; x out of the part, z along the grip."""
    box_size: Array
    """(3,) extents of that box along its x, y and z [m]."""
    hinge_point: Array
    """(3,) point on the axis of the joint nearest to the grip [m]; for a part that slides, the grip."""
    hinge_axis: Array
    """(3,) unit direction of the joint; the part opens by a positive turn about it or a motion along it."""
    T_link_grip: Pose
    """Centre of what the fingers hold; x out of the part, z along the handle. Without a handle: the keypoint at which a
    hand acts."""
    grip_type: str
    """What the fingers hold, one of `ObservedScene.grip_types`."""
    grip_size: Array
    """(3,) depth, thickness and length of what the fingers hold, along its x, y and z [m]; 0 without a handle."""

    @property
    def sign(self) -> float:
        """+1 if the position of the joint grows as the part opens, else -1."""
        return 1.0 if self.open >= self.closed else -1.0


@dataclass(frozen=True)
class ObjectGeometry:
    """One articulated object."""

    model: UrdfModel
    """Links, joints and shapes."""
    joints: tuple[str, ...]
    """Names of the movable joints, in the order of `objects.<object>.joint_positions`."""
    bounds: Array
    """(2, 3) lower and upper corner of the closed object in its root link frame [m]; x is its front, z is up."""
    parts: Mapping[str, PartGeometry]
    """Its annotated parts by name."""

    def link_pose(self, link: str, positions: Array) -> Pose:
        """Returns the frame of a link in the root link frame at (m,) positions of the movable joints [rad or m]."""
        return self.model.link_pose(link, dict(zip(self.joints, map(float, positions), strict=True)))


def movable_joints(model: UrdfModel) -> tuple[str, ...]:
    """Returns the movable joints in the order of a record: depth first from the root, as the engine numbers them."""
    found: list[str] = []

    def visit(link: str) -> None:
        for joint in model.joints.values():
            if joint.parent == link:
                found.extend([joint.name] if joint.moves else [])
                visit(joint.child)

    visit(model.root)
    return tuple(found)
