"""The systems whose planner settings Unlatch reads, and the hands that these settings are written for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

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
