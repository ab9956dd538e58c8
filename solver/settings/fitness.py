"""Says what about a planner setting no skill, or no hand of the present robot, can carry out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unlatch.simcore.errors import close_matches
from unlatch.simcore.geometry import unit
from unlatch.solver.scene import Array, axis_name
from unlatch.solver.settings.origin import HANDS, Origin
from unlatch.solver.settings.setting import PART_KEYPOINTS, PlannerSettingCfg
from unlatch.solver.terms.term import Term

_TOOL_KEYPOINTS = ("tool_head", "tool_side", "tool_tail", "tool_tip")
_AXES = ("base_front_axis", "link0_contact_axis", "link0_move_axis", "link0_rot_axis", "link0_vertical_axis")
_CONTAINER_WORDS = ("inside", "surface", "bottom")
"""Words in the names of points at which GenSim2 drops a carried object."""
_RIGID = "RigidBody"
_ALONG = 0.7
"""A motion is along the hand's approach axis from this cosine on."""


def find_obstacles(setting: PlannerSettingCfg, where: str) -> list[str]:
    """Returns why no articulation skill can carry out a setting, one line each; empty if one can.

    Args:
        setting: The setting.
        where: Its full key, for the lines.
    """
    found = []
    if setting.category_name == _RIGID:
        found.append(f"{where}.category_name: {_RIGID}; open, close and rotate move parts with a joint.")
    for key, terms in (("constraint_list", setting.constraint_list), ("cost_list", setting.cost_list)):
        for index, term in enumerate(terms):
            found += _find_unknown_names(term, f"{where}.{key}[{index}]")
    return found


def _find_unknown_names(term: Term, where: str) -> list[str]:
    found = []
    for key, name in term.tool_names().items():
        if name not in _TOOL_KEYPOINTS:
            near = close_matches(name, _TOOL_KEYPOINTS)
            found.append(
                f"{where}.{key}: '{name}' is no keypoint of a hand.{near} Keypoints: {_join(_TOOL_KEYPOINTS)}."
            )
    for key, name in term.object_names().items():
        if name in PART_KEYPOINTS:
            continue
        if name.startswith("rigidbody_"):
            what = "is a point of a rigid object; open, close and rotate move parts with a joint."
        elif any(word in name for word in _CONTAINER_WORDS):
            what = "is where a carried object is put down; open, close and rotate carry none."
        else:
            near = close_matches(name, PART_KEYPOINTS)
            what = (
                f"is no keypoint that every part has.{near} Keypoints: {_join(PART_KEYPOINTS)}; an articulation.yaml "
                "may have more."
            )
        found.append(f"{where}.{key}: '{name}' {what}")
    for key in ("target_axis", "plane_normal"):
        axis = getattr(term, key, None)
        if isinstance(axis, str) and axis_name(axis) not in _AXES:
            found.append(
                f"{where}.{key}: '{axis}' is no axis that parts have.{close_matches(axis_name(axis), _AXES)} Axes: "
                f"{_join(_AXES)}."
            )
    return found


def find_misfit_motions(setting: PlannerSettingCfg, tool: Mapping[str, Array], where: str) -> list[str]:
    """Returns a line if translations of a setting do not fit the hand of a robot; empty if they do.

    Args:
        setting: The setting. If it names a `hand`, its motions are turned into the robot's frame, and fit.
        tool: Keypoints of the robot's hand, (3,) each, ee frame [m].
        where: The full key of the setting, for the line.
    """
    if setting.hand is not None or setting.origin is Origin.gensim2 or not {"tool_head", "tool_tail"} <= set(tool):
        return []
    way = np.zeros(3)
    for mode, value in setting.pre_actuation_motions:
        if mode.startswith("translate_"):
            way["xyz".index(mode[-1])] += float(value)
    approach = unit(np.array(tool["tool_head"]) - np.array(tool["tool_tail"]))
    if not way.any() or float(-approach @ unit(way)) > _ALONG:
        return []
    letters = sorted({mode[-1] for mode, _ in setting.pre_actuation_motions if mode.startswith("translate_")})
    along = _letter_of(approach)
    fitting = [hand for hand, (letter, _) in HANDS.items() if letter in letters] if letters != [along] else []
    remedy = (
        f"If it is written for {' or '.join(fitting)}, add `hand: {fitting[0]}`."
        if fitting
        else ("A hand steps back against its approach axis. Check the signs.")
    )
    return [
        f"{where}.pre_actuation_motions: they move the hand along {', '.join(letters)}, but the hand of this robot "
        f"approaches along {along}, so that they do not lead it back from the part. {remedy}"
    ]


def _letter_of(axis: Array) -> str:
    index = int(np.argmax(np.abs(axis)))
    return ("-" if axis[index] < 0.0 else "") + "xyz"[index]


def _join(names: tuple[str, ...]) -> str:
    return ", ".join(names)
