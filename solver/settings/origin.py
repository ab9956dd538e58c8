"""The systems whose planner settings Unlatch reads, and the hands that these settings are written for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from unlatch.simcore.geometry import unit
from unlatch.solver.scene import Array


class Origin(Enum):
    """The system that a planner setting comes from; its conventions decide what the setting means."""

    unlatch = "unlatch"
    interndata = "interndata"
    gensim2 = "gensim2"

    @property
    def title(self) -> str:
        """The name of the system."""
        return _TITLES[self.value]

    @property
    def is_peer(self) -> bool:
        """Whether it is another system."""
        return self is not Origin.unlatch


_TITLES = {"unlatch": "Unlatch", "interndata": "InternDataEngine", "gensim2": "GenSim2"}

CONTACT_NAME = "fingers_contact_with_link0"
"""The name that means a point constraint in the form of the peers."""
TARGET_AXIS = ("target_axis",)
TARGET_CROSS = ("cross_target_axis1_from_keypoint_name", "cross_target_axis1_to_keypoint_name")
TARGET_PAIR = ("target_axis_from_keypoint_name", "target_axis_to_keypoint_name")
"""Fields of an angle constraint that state its target: an axis, a cross product, or two keypoints."""

MEANINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "fingers_orthogonal_to_link0": ((*TARGET_AXIS, *TARGET_CROSS), TARGET_PAIR, "cross product"),
    "hand_parallel_to_axis_computed_by_keypoints": (
        TARGET_PAIR,
        (*TARGET_AXIS, "target_axis_frame", *TARGET_CROSS),
        "the two target keypoints",
    ),
    "hand_parallel_to_link0_edge": (TARGET_AXIS, (*TARGET_CROSS, *TARGET_PAIR), "target_axis alone"),
    "hand_parallel_to_link0_edge_door": (
        TARGET_CROSS,
        (*TARGET_AXIS, "target_axis_frame", *TARGET_PAIR),
        "the object keypoint axis alone",
    ),
    "hand_parallel_to_link0_move_axis": (TARGET_AXIS, (*TARGET_CROSS, *TARGET_PAIR), "target_axis alone"),
}
"""Names with a meaning in the form of the peers: fields needed, fields without effect, meaning."""

IGNORED = ("actuation_time", "mobile_move", "post_actuation_times", "pre_actuation_times")
"""Keys of the peers that have no effect."""

HANDS: dict[str, tuple[str, str]] = {
    "fr3": ("z", "y"),
    "franka": ("z", "y"),
    "lift2": ("x", "-y"),
    "panda": ("z", "y"),
    "split_aloha": ("z", "y"),
}
"""Hands of the other systems: the axes of their hand frame along which they approach and open."""

_HAND_OF = {Origin.gensim2: "panda"}
"""Hand of a setting that names none: GenSim2 has only one robot."""


def hand_of(origin: Origin, hand: str | None) -> str | None:
    """Returns the hand that a setting is written for; None: that of the robot that carries it out."""
    return hand or _HAND_OF.get(origin)


def hand_rotation(hand: str | None, tool: Mapping[str, Array]) -> Array:
    """Returns (3, 3) the rotation from the frame of a hand in `HANDS` to the ee frame of a robot.

    Args:
        hand: Name of the hand; None = the robot's own, which gives the identity.
        tool: Keypoints of the robot's hand, (3,) each, ee frame [m].
    """
    if hand is None or not {"tool_head", "tool_tail", "tool_side"} <= set(tool):
        return np.eye(3)
    approach, side = (_letter_axis(letter) for letter in HANDS[hand])
    forward = unit(tool["tool_head"] - tool["tool_tail"])
    sideways = tool["tool_side"] - tool["tool_head"]
    sideways = unit(sideways - forward * float(forward @ sideways))
    theirs = np.column_stack([approach, side, np.cross(approach, side)])
    ours = np.column_stack([forward, sideways, np.cross(forward, sideways)])
    return ours @ theirs.T


def _letter_axis(letter: str) -> Array:
    return np.eye(3)["xyz".index(letter[-1])] * (-1.0 if letter.startswith("-") else 1.0)


def detect_origin(raw: Mapping[str, Any]) -> Origin:
    """Returns which system wrote a block: the one it names in `origin`, or else the one whose marks it has.

    Without marks of another system it is ours: every unknown key is an error.
    The marks are things that only the other systems write: constraint names in `MEANINGS` (InternDataEngine), the label
    `category_name`, the keys of `IGNORED`, and the labels of a whole GenSim2 task without a threshold.
    """
    named = raw.get("origin")
    if isinstance(named, Origin):
        return named
    if isinstance(named, str) and named in Origin.__members__:
        return Origin[named]
    entries = raw.get("constraint_list")
    names = {str(e.get("name")) for e in entries if isinstance(e, Mapping)} if isinstance(entries, list) else set()
    if names & {CONTACT_NAME, *MEANINGS}:
        return Origin.interndata
    if raw.get("category_name") is not None or any(key in raw for key in IGNORED):
        return Origin.gensim2
    is_whole_task = {"task_name", "tool_keypoint_name_list", "object_keypoint_name_list"} <= set(raw)
    return Origin.gensim2 if is_whole_task and "success_threshold" not in raw else Origin.unlatch
