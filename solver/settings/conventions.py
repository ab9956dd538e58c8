"""Reads a planner setting by the conventions of the system that it comes from.

Unlatch's own conventions are those of `articulation.yaml`: `cross(tail - head, contact axis)` points out of the part,
the tail of a hinged part lies away from the hinge, the move axis of a slider points to where it opens, and `rotate`
turns by a change of the joint position. The others:

- InternDataEngine: see `simcore.peer_axes`. `rotate` turns about its rotation axis.
- GenSim2: the frame `object` is that of the whole object, not of its moving part, and the tail lies on the hinge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.simcore.peer_axes import PeerAxes, find_peer_axes
from unlatch.simcore.sums import sum_in_order
from unlatch.solver.scene import Array, PlanningScene, axis_name
from unlatch.solver.settings.hand_motions import MotionReading
from unlatch.solver.settings.origin import Origin, hand_of, hand_rotation
from unlatch.solver.settings.setting import PlannerSettingCfg
from unlatch.solver.terms.axis import AxisAngle

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"
_CONTACT = "link0_contact_axis"
_TAIL_M = 0.05
_CLEAR_COSINE = 0.2
"""From this cosine on a constraint says from which side the hand comes."""


def read_scene(setting: PlannerSettingCfg, scene: PlanningScene, *, opens: bool | None) -> PlanningScene:
    """Returns the scene with the keypoints, axes and frames that the constraints of a setting mean.

    Args:
        setting: The setting.
        scene: The object by our own conventions.
        opens: Whether the skill opens the part (True) or closes it (False); None = neither.
    """
    if setting.origin is Origin.gensim2:
        return _read_gensim2(scene)
    if setting.origin is Origin.interndata:
        theirs = peer_axes(scene)
        if theirs is None:
            return scene
        keypoints = {**scene.keypoints, TAIL: scene.keypoint(HEAD) + _TAIL_M * theirs.tail}
        own = {name: axis for name, axis in scene.axes.items() if axis_name(name) not in theirs.axes}
        sign = _cross_sign(setting, theirs, opens=opens)
        return replace(scene, keypoints=keypoints, axes={**own, **theirs.axes}, cross_sign=sign)
    return scene


def read_motions(
    setting: PlannerSettingCfg,
    scene: PlanningScene,
    tool: Mapping[str, Array],
    R_ee_variant: Array,
    *,
    opens: bool | None,
) -> MotionReading:
    """Returns how the listed motions of a setting move the hand.

    Args:
        setting: The setting.
        scene: The object, at the position of the part before it moves.
        tool: Keypoints of the robot's own hand, (3,) each, ee frame [m].
        R_ee_variant: (3, 3) turn of a symmetric hand with exchanged fingers; the identity for the hand as it is.
        opens: Whether the skill opens the part (True) or closes it (False); None = neither.
    """
    R_ee_hand = R_ee_variant @ hand_rotation(hand_of(setting.origin, setting.hand), tool)
    return MotionReading(R_ee_hand, _turn_sign(setting, scene, opens=opens))


def peer_axes(scene: PlanningScene) -> PeerAxes | None:
    """Returns the directions of a part as InternDataEngine annotates it, base frame.

    None if the part has no such axes: those of knobs and levers, which its public tools cannot annotate, stay ours.
    """
    contact = scene.axes.get(_CONTACT, scene.axes.get(f"object_{_CONTACT}"))
    if contact is None or HEAD not in scene.keypoints or TAIL not in scene.keypoints:
        return None
    joint = scene.joint
    return find_peer_axes(
        head=scene.keypoint(HEAD),
        across=scene.keypoint(TAIL) - scene.keypoint(HEAD),
        contact=contact,
        axis=joint.axis,
        origin=joint.origin,
        R_closed=joint.motion(scene.s_closed - scene.s)[0],
        up=_object_rotation(scene)[:, 2],
        slides_by=float(np.sign(scene.s_open - scene.s_closed)) if joint.prismatic else 0.0,
    )


def _read_gensim2(scene: PlanningScene) -> PlanningScene:
    keypoints, joint = dict(scene.keypoints), scene.joint
    if not joint.prismatic and HEAD in keypoints and TAIL in keypoints:
        arm = keypoints[HEAD] - joint.origin
        lever = arm - joint.axis * float(arm @ joint.axis)
        if float(np.linalg.norm(lever)) > 1e-3:
            keypoints[TAIL] = keypoints[HEAD] - lever
    return replace(scene, keypoints=keypoints, R_base_link=_object_rotation(scene))


def _object_rotation(scene: PlanningScene) -> Array:
    return scene.R_base_world if scene.R_base_object is None else scene.R_base_object


def _cross_sign(setting: PlannerSettingCfg, theirs: PeerAxes, *, opens: bool | None) -> float:
    """Returns -1 if the setting is written for a door whose hinge is on the other side.

    By the annotation, cross products point out of a door with its hinge on the left, and into one with its hinge on
    the right. The turns of the setting say for which of the two it is written: opening is a negative turn on the left.
    """
    is_for_right = _sum_turns(setting.listed_post_motions) * (-1.0 if opens is False else 1.0) > 0.0
    if is_for_right and _hand_side(setting) > 0.0:
        is_for_right = False  # such a hand would come through the door: the cross product points out of it here
    return 1.0 if is_for_right == theirs.is_mirrored else -1.0


def _hand_side(setting: PlannerSettingCfg) -> float:
    """Returns the cosine between a cross product and the direction from the fingertips to the palm; 0 = not stated."""
    for term in setting.constraint_list:
        if not isinstance(term, AxisAngle) or term.target_axis is None:
            continue
        ends = (term.axis_from_keypoint_name, term.axis_to_keypoint_name)
        if term.cross_target_axis1_from_keypoint_name is None or set(ends) != {"tool_head", "tool_tail"}:
            continue
        cosine = term.cosine() * (1.0 if ends[0] == "tool_head" else -1.0)
        if abs(cosine) > _CLEAR_COSINE:
            return cosine
    return 0.0


def _turn_sign(setting: PlannerSettingCfg, scene: PlanningScene, *, opens: bool | None) -> float:
    """Returns the sign with which the turns of a setting of another system lead the part as its skill says."""
    if not setting.origin.is_peer or scene.joint.prismatic:
        return 1.0
    turn = _sum_turns(setting.listed_post_motions)
    if opens is not None:
        wanted = (1.0 if opens else -1.0) * float(np.sign(scene.s_open - scene.s_closed))
        return -1.0 if turn * wanted < 0.0 else 1.0
    joint = scene.joint
    forwards, backwards = joint.upper - scene.s, scene.s - joint.lower
    here, other = (forwards, backwards) if turn > 0.0 else (backwards, forwards)
    return -1.0 if joint.lower < joint.upper and abs(turn) > here and other > here else 1.0


def _sum_turns(motions: Sequence[Sequence[Any]]) -> float:
    return float(sum_in_order(float(value) for mode, value in motions if mode == "rotate"))
