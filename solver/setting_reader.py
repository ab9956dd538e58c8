"""Reads a `planner_setting` by the conventions of its system, checks every key, and says what no skill or hand can do.

Unlatch's own conventions are those of `articulation.yaml`: `cross(tail - head, contact axis)` points out of the part,
the tail of a hinged part lies away from the hinge, the move axis of a slider points to where it opens, and `rotate`
turns by a change of the joint position. The others:

- InternDataEngine: see `solver.peer_settings`. `rotate` turns about its rotation axis.
- GenSim2: the frame `object` is that of PartNet-Mobility's meshes and moves with the part; the tail lies on the hinge.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.geometry import angle_between, third_side_range, unit
from unlatch.solver.scene import Array, PlanningScene
from unlatch.solver.setting import (
    HANDS,
    KeyposeRandomRangeCfg,
    MotionReading,
    Origin,
    PlannerSettingCfg,
    RangeXyzCfg,
    SuccessMode,
    check_keys,
    detect_origin,
    hand_rotation,
    omitted_setting,
    read_list,
    sum_turns,
)
from unlatch.solver.term import Term, read_number
from unlatch.solver.term_kinds import AxisAngle, infer_type


def read_scene(setting: PlannerSettingCfg, scene: PlanningScene, *, opens: bool | None) -> PlanningScene:
    """Returns a scene, given by our own conventions, with the keypoints, axes and frames that a setting means.

    `opens` is whether the skill opens the part (True) or closes it (False); None = neither.
    """
    if not setting.origin.is_peer:
        return scene
    from unlatch.solver.peer_settings import read_peer_scene  # few files have such a block

    return read_peer_scene(setting, scene, opens=opens)


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
    # GenSim2 has only one robot; else a setting that names no hand is written for that of the robot
    hand = setting.hand or ("panda" if setting.origin is Origin.gensim2 else None)
    return MotionReading(R_ee_variant @ hand_rotation(hand, tool), _turn_sign(setting, scene, opens=opens))


def _turn_sign(setting: PlannerSettingCfg, scene: PlanningScene, *, opens: bool | None) -> float:
    """Returns the sign with which the turns of a setting of another system lead the part as its skill says."""
    if not setting.origin.is_peer or scene.joint.prismatic:
        return 1.0
    turn = sum_turns(setting.listed_post_motions)
    if opens is not None:
        wanted = (1.0 if opens else -1.0) * float(np.sign(scene.s_open - scene.s_closed))
        return -1.0 if turn * wanted < 0.0 else 1.0
    joint = scene.joint
    forwards, backwards = joint.upper - scene.s, scene.s - joint.lower
    here, other = (forwards, backwards) if turn > 0.0 else (backwards, forwards)
    return -1.0 if joint.lower < joint.upper and abs(turn) > here and other > here else 1.0


_ALONG = 0.7
"""A motion is along the hand's approach axis from this cosine on."""


def find_misfit_motions(setting: PlannerSettingCfg, tool: Mapping[str, Array], where: str) -> list[str]:
    """Returns a line if translations of a setting do not fit the hand of a robot; empty if they do.

    If the setting names a `hand`, its motions are turned into the robot's frame, and fit. `tool` has the keypoints of
    the robot's hand, (3,) each, ee frame [m]; `where` is the full key of the setting, for the line.
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
    nearest = int(np.argmax(np.abs(approach)))
    along = ("-" if approach[nearest] < 0.0 else "") + "xyz"[nearest]
    fitting = [hand for hand, (letter, _) in HANDS.items() if letter in letters] if letters != [along] else []
    remedy = "A hand steps back against its approach axis. Check the signs."
    if fitting:
        remedy = f"If it is written for {' or '.join(fitting)}, add `hand: {fitting[0]}`."
    return [
        f"{where}.pre_actuation_motions: they move the hand along {', '.join(letters)}, but the hand of this robot "
        f"approaches along {along}, so that they do not lead it back from the part. {remedy}"
    ]


_EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+")


def read_planner_setting(raw: Mapping[str, Any], *, where: str) -> tuple[PlannerSettingCfg, list[str]]:
    """Reads and checks one `planner_setting`, in our form or in that of another system (`solver.peer_settings`).

    Args:
        raw: Plain mapping, as from YAML.
        where: Its full key, for messages (`skills[0].planner_setting`).

    Returns:
        The setting, and one line for each change.

    Raises:
        ConfigError: A key is unknown, missing, of the wrong type or out of range, or constraints contradict. In a block
            of another system, keys of that system and contradictions give a line instead.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where} is a {type(raw).__name__}, expected a mapping.", key=where)
    if raw.get("derived"):
        return _read_derived(raw, where), []
    notices: list[str] = []
    plain = read_exponents(raw, where, notices)
    origin = detect_origin(plain)
    if origin.is_peer:
        from unlatch.solver.peer_settings import rewrite_setting  # few files have such a block

        values = rewrite_setting(plain, where, notices, origin)
    else:
        values = _complete_own_form(plain, where, notices)
    values.setdefault("origin", origin)
    check_keys(values, PlannerSettingCfg, where)
    if values.get("success_threshold") is None or values["success_threshold"] == "???":
        raise ConfigError(
            f"{where}.success_threshold is missing, expected the joint displacement that counts as success "
            "[rad or m]. Add it.",
            key=f"{where}.success_threshold",
        )
    if not values.get("constraint_list"):
        raise ConfigError(
            f"{where}.constraint_list is missing or empty, expected at least one constraint. Add it.",
            key=f"{where}.constraint_list",
        )
    setting = PlannerSettingCfg()  # unfilled; the fields are set below, then checked with the full key
    for key, value in values.items():
        setattr(setting, key, _read_field(key, value, f"{where}.{key}"))
    setting.check(where)
    for problem in find_setting_contradictions(setting.constraint_list, where=f"{where}.constraint_list"):
        if origin is Origin.unlatch:
            raise problem
        sentence = problem.message.removesuffix("Change or remove one of them.")
        notices.append(f"{sentence}Kept as it is; no plan exists until one of them is changed or removed.")
    return setting, notices


def read_exponents(value: Any, where: str, notices: list[str]) -> Any:
    """Returns a value with texts such as `1e-6` as numbers; YAML 1.1 reads them as texts."""
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        notices.append(f"{where}: the text '{value}' (YAML 1.1 wants 1.0e-6) read as the number {float(value):g}.")
        return float(value)
    if isinstance(value, Mapping):
        return {k: read_exponents(v, f"{where}.{k}", notices) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [read_exponents(v, f"{where}[{i}]", notices) for i, v in enumerate(value)]
    return value


def _complete_own_form(raw: Mapping[str, Any], where: str, notices: list[str]) -> dict[str, Any]:
    """Returns a block of ours in which entries have a `type`, and the frame `link` is called `object`."""
    known = [f.name for f in fields(PlannerSettingCfg)]
    out = {str(key): value for key, value in raw.items() if value is not None or key not in known}
    for key, cost in (("constraint_list", False), ("cost_list", True)):
        if isinstance(out.get(key), list):
            out[key] = [
                _complete_entry(entry, f"{where}.{key}[{i}]", notices, cost=cost)
                if isinstance(entry, Mapping)
                else entry
                for i, entry in enumerate(out[key])
            ]
    return out


def _complete_entry(entry: Mapping[str, Any], where: str, notices: list[str], *, cost: bool) -> dict[str, Any]:
    out = {str(key): value for key, value in entry.items() if value is not None}
    inferred = infer_type(out, cost=cost)
    if "type" not in out and inferred is not None:
        out["type"] = inferred
        notices.append(f"{where}.type: missing, read as {inferred} from its fields.")
    if out.get("target_axis_frame") == "link":
        out["target_axis_frame"] = "object"
        notices.append(f"{where}.target_axis_frame: link read as object (the moving part's frame).")
    return out


def _read_derived(raw: Mapping[str, Any], where: str) -> PlannerSettingCfg:
    """Reads a derived setting; it may have no other key with a value."""
    setting, unset = omitted_setting(), asdict(omitted_setting())
    for key, value in raw.items():
        written = unset.get(key)
        if key not in unset or value not in (written, getattr(written, "value", written)):
            raise ConfigError(
                f"{where}.{key} has no effect together with {where}.derived=true, which derives the whole setting "
                "from the part's kind. Remove one of them.",
                key=f"{where}.{key}",
            )
    return setting


def check_names(
    setting: PlannerSettingCfg,
    tool_names: Collection[str],
    object_names: Collection[str],
    where: str,
    axis_names: Collection[str] | None = None,
) -> None:
    """Checks that every tool keypoint, object keypoint and (unless None) axis that a setting names exists.

    Raises:
        ConfigError: One does not exist; close and known names in the message.
    """
    for key, names in (("tool_keypoint_name_list", tool_names), ("object_keypoint_name_list", object_names)):
        for name in getattr(setting, key):
            _check_name(name, names, f"{where}.{key}")
    for name in setting.keypoint_shifts:
        _check_name(name, object_names, f"{where}.keypoint_shifts")
    for list_key, terms in (("constraint_list", setting.constraint_list), ("cost_list", setting.cost_list)):
        for i, term in enumerate(terms):
            place = f"{where}.{list_key}[{i}]"
            for key, name in term.tool_names().items():
                _check_name(name, tool_names, f"{place}.{key}", kind="a tool keypoint")
            for key, name in term.object_names().items():
                _check_name(name, object_names, f"{place}.{key}", kind="a keypoint of the object")
            for key in ("target_axis", "plane_normal"):
                axis = getattr(term, key, None)
                if isinstance(axis, str) and axis_names is not None:
                    short = {n.removeprefix("object_") for n in axis_names}
                    if {"link0_move_axis", "link0_contact_axis"} <= short:
                        short.add("link0_vertical_axis")
                    _check_name(
                        axis.removeprefix("object_"), sorted(short), f"{place}.{key}", kind="an axis of the object"
                    )


def find_setting_contradictions(terms: list[Term], *, where: str) -> Iterator[ConfigError]:
    """Yields an error for each pair of angle constraints on one tool axis (or one target) that contradict each other.

    With angle g between the two targets, directions at angles a and b from them exist only if
    `|a - b| <= g <= min(a + b, 2 pi - a - b)` (triangle inequality on the sphere). Only pairs whose g is known without
    a scene are checked here: the same target, or two vectors of one frame; the planner checks the others.
    """
    axes = [(i, term) for i, term in enumerate(terms) if isinstance(term, AxisAngle)]
    for n, (i, first) in enumerate(axes):
        for j, second in axes[n + 1 :]:
            sign = _tool_axis_sign(first, second)
            between = _known_angle(first, second)
            if sign == 0 or between is None:
                continue
            between = between if sign > 0 else math.pi - between
            out = triangle_excess(first.interval()[:2], second.interval()[:2], between)
            if out > 1e-9:
                yield ConfigError(
                    f"{where}[{i}] '{first.label}' and {where}[{j}] '{second.label}' contradict each other: the same "
                    f"tool axis must be {_format_range(first)} from {first.describe_target()} and "
                    f"{_format_range(second)} from {second.describe_target()}, which are "
                    f"{math.degrees(between):.1f} degrees apart; no direction satisfies both (out by {out:.4g} rad). "
                    "Change or remove one of them.",
                    key=where,
                    constraints=(first.label, second.label),
                    out_by_rad=out,
                )


def triangle_excess(first: tuple[float, float], second: tuple[float, float], between: float) -> float:
    """Returns by how much two ranges of angles to two directions contradict each other [rad]; 0 = both can hold.

    Each range is the smallest and largest angle to its direction; `between` is the angle of the directions.
    """
    low, high = third_side_range(*first, between)
    return max(0.0, low - second[1], second[0] - high)


def _format_range(term: AxisAngle) -> str:
    low, high, _ = term.interval()
    return f"{math.degrees(low):.1f} to {math.degrees(high):.1f} degrees"


def _tool_axis_sign(first: AxisAngle, second: AxisAngle) -> int:
    a = (first.axis_from_keypoint_name, first.axis_to_keypoint_name)
    b = (second.axis_from_keypoint_name, second.axis_to_keypoint_name)
    if a == b:
        return 1
    return -1 if a == b[::-1] else 0


def _known_angle(first: AxisAngle, second: AxisAngle) -> float | None:
    if first.target_key() == second.target_key():
        return 0.0
    literal = [
        t.target_axis
        for t in (first, second)
        if isinstance(t.target_axis, list) and t.cross_target_axis1_from_keypoint_name is None
    ]
    if len(literal) == 2 and first.target_axis_frame == second.target_axis_frame:
        return angle_between(literal[0], literal[1])
    return None


def _check_name(name: str, known: Collection[str], where: str, *, kind: str = "a keypoint") -> None:
    if name not in known:
        raise unknown_name(name, kind, where=where, known=sorted(known))


_FIELD_TYPES: dict[str, tuple[Any, str]] = {
    "update_art_joint": (bool, "true or false"),
    "contact_pose_index": (int | None, "a whole number"),
    "task_name": (str | None, "a text"),
    "category_name": (str | None, "a text"),
    "additional_labels": (Mapping, "a mapping by asset"),
    "keypoint_shifts": (Mapping, "a mapping by keypoint"),
    "held_part": (str | None, "a part of the object"),
}
"""Allowed types of simple fields, and the words for them."""


_CHOICES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "success_mode": ("a success mode", SuccessMode.__members__),
    "origin": ("an origin", Origin.__members__),
    "hand": ("a hand", {name: name for name in HANDS}),
}
"""Fields that are chosen by name, what each names, and its values."""


def _read_field(key: str, value: Any, where: str) -> Any:
    if key in _CHOICES and value is not None and not isinstance(value, SuccessMode | Origin):
        kind, choices = _CHOICES[key]
        if not isinstance(value, str) or value not in choices:
            raise unknown_name(str(value), kind, where=where, known=choices)
        return choices[value]
    types, expected = _FIELD_TYPES.get(key, (object, ""))
    if not isinstance(value, types) or (types == int | None and isinstance(value, bool)):
        raise ConfigError(f"{where}={value!r} is a {type(value).__name__}, expected {expected}.", key=where)
    if key in ("tool_keypoint_name_list", "object_keypoint_name_list"):
        if isinstance(value, str) or not all(isinstance(v, str) for v in read_list(value, where)):
            raise ConfigError(f"{where}={value!r} is not a list of names.", key=where)
        return list(value)
    if key == "keypose_random_range" and not isinstance(value, KeyposeRandomRangeCfg):
        return _read_random_range(value, where)
    if key in ("constraint_list", "cost_list", "slips"):
        return read_list(value, where)
    return value


def _read_random_range(value: Any, where: str) -> KeyposeRandomRangeCfg:
    def one(name: str, bound: float) -> RangeXyzCfg:
        inner = value.get(name)
        if inner is None:
            return RangeXyzCfg()
        if not isinstance(inner, Mapping):
            raise ConfigError(f"{where}.{name} is a {type(inner).__name__}, expected a mapping.", key=f"{where}.{name}")
        check_keys(inner, RangeXyzCfg, f"{where}.{name}")
        numbers = {str(k): read_number(v, f"{where}.{name}.{k}", lower=-bound, upper=bound) for k, v in inner.items()}
        try:
            return RangeXyzCfg(**numbers)
        except ConfigError as exc:
            raise ConfigError(f"{where}.{name}{exc.message}", key=f"{where}.{name}") from exc

    if not isinstance(value, Mapping) or set(value) - {"orientation", "position"}:
        raise ConfigError(
            f"{where}={value!r} is wrong, expected the keys orientation [deg] and position [m].", key=where
        )
    return KeyposeRandomRangeCfg(orientation=one("orientation", 180.0), position=one("position", 1.0))
