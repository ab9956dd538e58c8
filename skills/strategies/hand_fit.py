"""Tests whether a hand can grasp a part: how far its fingers open and how deep they reach.

The hand is modelled as boxes. They are placed as the constraints of the planner setting would place the hand, and
tested for overlap with the convex solids of the object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotation import HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import closing_reach
from unlatch.robots.hand_shape import PAD_M, HandShape
from unlatch.simcore.geometry import Pose, unit
from unlatch.simcore.meshes.solids import Solids
from unlatch.skills.mechanism_steps import pressed_positions

Array = np.ndarray

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"

FINGER_ROOM_M = (0.015, 0.01, 0.007)
"""Gaps between each finger and the handle, the widest first; the first that fits is taken [m]."""
TIP_ROOM_M = 0.003
"""Gap between the fingertips and what is behind a handle: fingertips that press against it cannot close [m]."""
PALM_ROOM_M = 0.004
"""Gap between the palm and everything else [m]."""
LEAST_HELD_M = 0.006
"""Smallest overlap of the pads with a handle [m]."""
_MIDDLE_M = 0.003
"""Half the width of the middle of a pad."""
_STEP_BACK_M = 0.001
_LEAST_LENGTH_M = 0.12
_SHIFT_SHARE = 0.3
_MOST_SHIFT_M = 0.12
"""A bar or edge of at least `_LEAST_LENGTH_M` is also held beside its head. The shift from the head is `_SHIFT_SHARE`
of the length, at most `_MOST_SHIFT_M`."""
_PLACE_STEP_M = 0.01
"""Distance of the places along a bar that are tried if the hand does not fit its head. The hand also fits this far to
either side of a place that is taken."""
_LEANS_RAD = (0.0, 0.3, -0.3, 0.6, -0.6, 0.85, -0.85)
"""Angles by which the hand may lean, inside the tolerance of the planner setting, the smallest first."""
_ACROSS = 0.3
"""Directions with at most this cosine between them count as at right angles."""
_BESIDE_M = 0.03
"""A head farther than this from the handle's box is not on the handle; hand-set keypoints are about as accurate."""


@dataclass(frozen=True)
class HandDirections:
    """How a hand lies at the head of a part, other than its handle says; link frame."""

    closing: Array
    """(3,) unit direction along which the fingers close."""
    back: Array
    """(3,) unit direction from the part to the palm."""
    thickness_m: float
    """Thickness of the part between the fingers [m]."""


@dataclass(frozen=True)
class HandGrasp:
    """How the hand grasps a part."""

    width_m: float
    """Opening of the fingers on the approach [m]."""
    setback_m: float
    """Distance of the hand from the head, back along its approach [m]."""


def held_at_edge(part: Part) -> bool:
    """Returns whether a part is held at an edge: it has no handle, or its hand-set head lies beside the handle."""
    handle = part.handle
    if handle.type is HandleType.edge or handle.T_link_handle is None:
        return handle.type is HandleType.edge
    head = handle.T_link_handle.inverse() @ part.keypoint(HEAD).xyz
    return not part.kind.turns_in_hand and bool(np.any(np.abs(head) > handle.size / 2 + _BESIDE_M))


class HandFit:
    """Tests where a hand fits at one part of one object."""

    def __init__(self, asset: ObjectAsset, part: Part, hand: HandShape, *, approach_m: float) -> None:
        """Prepares the test; the straight approach must be free at its start, `approach_m` away [m]."""
        self.asset = asset
        self.part = part
        self.hand = hand
        self.approach_m = approach_m
        self.solids = Solids.from_urdf(asset.urdf_path)
        self.closing_reach = closing_reach(part, asset.model)
        """Opening within which catch or gasket act on the part [rad or m]."""
        self._closed = asset.articulation.closed_positions()
        self._pressed = pressed_positions(asset, part)
        self._depth_m, self._thickness_m, self._length_m = (
            map(float, part.handle.size) if part.handle.type is not HandleType.none else (0.0, 0.0, 0.0)
        )

    def grasp(
        self,
        opening: float,
        *,
        shift_m: float = 0.0,
        along: bool = False,
        directions: HandDirections | None = None,
        closed: bool = False,
    ) -> HandGrasp | None:
        """Returns the widest and deepest grasp that fits; None if none fits.

        Args:
            opening: Opening of the part from closed [rad or m].
            shift_m: Shift of the hand from the head along the contact axis [m].
            along: Whether the fingers close along the contact axis, not across it.
            directions: How the hand lies; None: as the handle says.
            closed: Whether the fingers must also fit once they have closed, as beside the raised ring around a dial.
        """
        states = self._states(opening)
        thickness = self._length_m if along else self._thickness_m
        thickness = thickness if directions is None else directions.thickness_m
        if thickness > self.hand.max_width_m:
            return None
        poses = [self._tool_poses(each, shift_m, along=along, directions=directions) for each in states]
        # how far the hand may stay back while the pads still overlap the handle [m]
        most_back_m = max(0.0, self.hand.tip_m + self._depth_m / 2 - LEAST_HELD_M)
        for room in FINGER_ROOM_M:
            width = min(thickness + 2 * room, self.hand.max_width_m)
            for back in np.arange(0.0, most_back_m + 1e-9, _STEP_BACK_M):
                held_m = thickness if closed else None
                if all(
                    any(self._fits(T, float(back), width, positions, held_m=held_m) for T in tried)
                    for positions, tried in zip(states, poses, strict=True)
                ):
                    return HandGrasp(round(width, 4), round(float(back), 4))
        return None

    def grasp_over(
        self,
        openings: tuple[float, ...],
        *,
        shift_m: float = 0.0,
        along: bool = False,
        directions: HandDirections | None = None,
    ) -> HandGrasp | None:
        """Returns a grasp that fits at every one of several openings; see `grasp`."""
        grasps: list[HandGrasp] = []
        for opening in dict.fromkeys(openings):
            grasp = self.grasp(opening, shift_m=shift_m, along=along, directions=directions)
            if grasp is None:
                return None
            grasps.append(grasp)
        return HandGrasp(min(grasp.width_m for grasp in grasps), max(grasp.setback_m for grasp in grasps))

    def closes_on_part(self, opening: float, grasp: HandGrasp, *, shift_m: float = 0.0) -> bool:
        """Returns whether something of the part is between the middles of the pads, deep enough to be held.

        The straight hand counts. A head beside a curved piece fits between the fingers, which then close on nothing.
        """
        positions, half = self.positions(opening), grasp.width_m / 2
        there = self._tool_poses(positions, shift_m, along=False)[0] @ Pose.from_translation([-grasp.setback_m, 0, 0])
        low = [self.hand.tip_m - PAD_M, -half, -_MIDDLE_M]
        high = [self.hand.tip_m - LEAST_HELD_M, half, _MIDDLE_M]
        return self.solids.meets(np.array([[low, high]]), there, positions, only=self.part.link)

    def _states(self, opening: float) -> list[dict[str, float]]:
        """Returns the joint positions at which a hand must fit: also those where it has pressed the part down."""
        positions = self.positions(opening)
        return [positions, {**positions, **self._pressed}] if self._pressed else [positions]

    def positions(self, opening: float) -> dict[str, float]:
        """Returns joint positions with the part at an opening from closed and all others closed [rad or m]."""
        return {**self._closed, self.part.joint: self.part.openness.position(opening)}

    def axes_link(self) -> tuple[Array, Array, Array]:
        """Returns (3,) unit directions in the link frame: head to tail, along the bar, out of the part."""
        head, tail = (self.part.keypoint(name).xyz for name in (HEAD, TAIL))
        across, along = unit(tail - head), unit(self.part.axes["link0_contact_axis"].xyz)
        return across, along, unit(np.cross(across, along))

    def hinge_link(self) -> Array:
        """Returns the (3,) unit direction of the joint's axis in the frame of the part's link."""
        model, part = self.solids.model, self.part
        joint = model.joints[part.joint]
        T_link_child = model.link_pose(part.link).inverse() @ model.link_pose(joint.child)
        return T_link_child.rotate(unit(joint.axis))

    def shifts(self) -> list[float]:
        """Returns other places on a long bar or edge, as shifts from its head along the contact axis [m]."""
        if self._length_m < _LEAST_LENGTH_M or self.part.kind.turns_in_hand:
            return []
        shift = round(min(_SHIFT_SHARE * self._length_m, _MOST_SHIFT_M), 3)
        return [each for each in (shift, -shift) if self._is_on_part(each)]

    def grasp_shifts(self, openings: tuple[float, ...]) -> list[float]:
        """Returns the places where a bar or edge is held, as shifts from its head along the contact axis [m].

        They are the head and `shifts`. If the hand fits none of them at every opening from closed [rad or m], and the
        part is a bar, the nearest places on either side of the head where the hand fits follow: other bars, or the
        hub of a wheel, can be in the way of the fingers at the head.
        """
        usual = [0.0, *self.shifts()]
        is_bar = (
            self.part.handle.type is HandleType.bar and not self.part.kind.turns_in_hand and not held_at_edge(self.part)
        )
        if not is_bar or any(self.grasp_over(openings, shift_m=shift) is not None for shift in usual):
            return usual
        return [*usual, *self._free_places(openings)]

    def _free_places(self, openings: tuple[float, ...]) -> list[float]:
        """Returns the shift to the nearest place on either side of the head where the hand fits and holds the bar."""
        count = int(self._length_m / _PLACE_STEP_M)
        found = []
        for side in (1.0, -1.0):
            in_a_row = 0
            for number in range(1, count + 1):
                shift = round(side * number * _PLACE_STEP_M, 3)
                in_a_row = in_a_row + 1 if self._holds(shift, openings) else 0
                if in_a_row == 3:  # the middle one has room to either side
                    found.append(round(shift - side * _PLACE_STEP_M, 3))
                    break
        return sorted(found, key=abs)

    def _holds(self, shift_m: float, openings: tuple[float, ...]) -> bool:
        """Whether the hand fits at a place beside the head, and has something of the part between its pads there."""
        grasp = self.grasp_over(openings, shift_m=shift_m)
        return grasp is not None and self.closes_on_part(openings[0], grasp, shift_m=shift_m)

    def _is_on_part(self, shift_m: float) -> bool:
        """Whether a place beside the head is on the part: the head may be off the middle of its edge."""
        _, along, _ = self.axes_link()
        place = self.part.keypoint(HEAD).xyz + shift_m * along
        points = self.solids.section(self.part.link, along, float(place @ along))
        if not len(points):
            return False
        return bool(np.all(place > points.min(axis=0) - _BESIDE_M) and np.all(place < points.max(axis=0) + _BESIDE_M))

    def front_directions(self) -> HandDirections | None:
        """Returns how a hand from the front lies at a slider that moves along the front of its object.

        The fingers close along the motion, such as above and below the lever of a toaster. None: the part is no such
        slider.
        """
        part, model = self.part, self.solids.model
        if part.kind is not PartKind.slider or part.handle.type is not HandleType.knob:
            return None
        T_link_root = model.link_pose(part.link, self.positions(0.0)).inverse()
        back = T_link_root.rotate(np.array([1.0, 0.0, 0.0]))
        closing = unit(part.axes["link0_move_axis"].xyz)
        if abs(float(back @ closing)) > _ACROSS:
            return None
        return HandDirections(closing, unit(back - closing * float(back @ closing)), self._depth_m)

    def _tool_poses(
        self, positions: dict[str, float], shift_m: float, *, along: bool, directions: HandDirections | None = None
    ) -> list[Pose]:
        """Returns poses of the tool frame at the head that the setting allows, the straight one first, root frame."""
        part = self.part
        T_root_link = self.solids.model.link_pose(part.link, positions)
        tail, bar, outward = (T_root_link.rotate(direction) for direction in self.axes_link())
        head = T_root_link @ part.keypoint(HEAD).xyz + shift_m * bar
        if directions is not None:
            closing, back = T_root_link.rotate(directions.closing), T_root_link.rotate(directions.back)
        elif held_at_edge(part):
            closing, back = outward, -tail if part.kind is PartKind.slider else tail
        else:
            closing, back = bar if along else tail, outward
        leans = _LEANS_RAD[:3] if part.kind is PartKind.knob else _LEANS_RAD
        poses = []
        for lean in leans:
            x = -(np.cos(lean) * back + np.sin(lean) * np.cross(closing, back))
            poses.append(Pose(np.column_stack([x, closing, np.cross(x, closing)]), head))
        return poses

    def _fits(
        self,
        T_root_tool: Pose,
        setback_m: float,
        width_m: float,
        positions: dict[str, float],
        *,
        held_m: float | None,
    ) -> bool:
        """Whether open fingers fit, and if the thickness of what they hold is given [m], also closed ones."""
        fingers, palm = self.hand.boxes(width_m)
        there = T_root_tool @ Pose.from_translation([-setback_m, 0.0, 0.0])
        if held_m is not None and self.solids.meets(
            self.hand.boxes(held_m)[0], there, positions, margin_m=TIP_ROOM_M, without=self.part.link
        ):
            return False
        before = T_root_tool @ Pose.from_translation([-setback_m - self.approach_m, 0.0, 0.0])
        return (
            not self.solids.meets(fingers, there, positions, margin_m=TIP_ROOM_M)
            and not self.solids.meets(palm, there, positions, margin_m=PALM_ROOM_M)
            and not self.solids.meets(self.hand.gap_box(width_m), there, positions, without=self.part.link)
            and not self.solids.meets(np.concatenate([fingers, palm]), before, positions)
        )
