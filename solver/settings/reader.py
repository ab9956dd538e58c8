"""Reads a `planner_setting` mapping: rewrites the form of other systems first, then checks every key."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.geometry import angle_between
from unlatch.simcore.geometry.rotations import third_side_range
from unlatch.solver.settings.hand_motions import read_list
from unlatch.solver.settings.origin import HANDS, Origin, detect_origin
from unlatch.solver.settings.setting import (
    KeyposeRandomRangeCfg,
    PlannerSettingCfg,
    RangeXyzCfg,
    SuccessMode,
    check_keys,
    omitted_setting,
)
from unlatch.solver.terms.axis import AxisAngle
from unlatch.solver.terms.catalog import infer_type
from unlatch.solver.terms.term import Term, read_number

_EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+")


def read_planner_setting(raw: Mapping[str, Any], *, where: str) -> tuple[PlannerSettingCfg, list[str]]:
    """Reads and checks one `planner_setting`, in our form or in that of another system (`solver.settings.peer_form`).

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
        from unlatch.solver.settings.peer_form import rewrite_setting  # few files have such a block

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


def find_settings(tree: Any, where: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the full key and the block of every `planner_setting` of a parsed YAML file.

    A file of GenSim2 is one block as a whole. In other files, blocks have the key `planner_setting`, at any depth.
    """
    if isinstance(tree, Mapping):
        if not where and "constraint_list" in tree:
            yield "planner_setting", tree
            return
        for key, value in tree.items():
            full = f"{where}.{key}" if where else str(key)
            if key == "planner_setting" and isinstance(value, Mapping):
                yield full, value
            else:
                yield from find_settings(value, full)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from find_settings(value, f"{where}[{index}]")


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
}
"""Allowed types of simple fields, and the words for them."""


def _read_field(key: str, value: Any, where: str) -> Any:
    if key == "success_mode" and value is not None and not isinstance(value, SuccessMode):
        if not isinstance(value, str) or value not in SuccessMode.__members__:
            raise unknown_name(str(value), "a success mode", where=where, known=SuccessMode.__members__)
        return SuccessMode[value]
    if key == "origin" and not isinstance(value, Origin):
        if not isinstance(value, str) or value not in Origin.__members__:
            raise unknown_name(str(value), "an origin", where=where, known=Origin.__members__)
        return Origin[value]
    if key == "hand" and value is not None and (not isinstance(value, str) or value not in HANDS):
        raise unknown_name(str(value), "a hand", where=where, known=HANDS)
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
