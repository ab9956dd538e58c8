"""Rewrites a `planner_setting` of GenSim2 or InternDataEngine into our form.

Users load such a block unchanged. Each key that is rewritten or dropped gives one line. Values that affect the robot
but are not understood (an unknown constraint, an unknown motion) stay, so that the strict reader refuses them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from unlatch.simcore.errors import close_matches
from unlatch.solver.settings.hand_motions import MOTION_WORDS
from unlatch.solver.settings.origin import IGNORED, Origin
from unlatch.solver.settings.peer_entry import (
    KEYPOINT_ALIASES,
    is_misspelling,
    rewrite_entry,
)
from unlatch.solver.settings.setting import PART_KEYPOINTS, PlannerSettingCfg, RangeXyzCfg, SuccessMode

_GENSIM2_SHARE = 0.3
_ROTATE_RAD = 0.785
_WORD_WITH_NUMBER = re.compile(r"(move-[a-z]+)[ :=]+([+-]?\d*\.?\d+)")


def rewrite_setting(raw: Mapping[str, Any], where: str, notices: list[str], origin: Origin) -> dict[str, Any]:
    """Returns a block of another system in our form; `notices` receives a line for each change."""
    known = [f.name for f in fields(PlannerSettingCfg)]
    out = {str(key): value for key, value in raw.items() if value is not None or key not in known}
    for key, cost in (("constraint_list", False), ("cost_list", True)):
        if isinstance(out.get(key), list):
            out[key] = list(_rewrite_entries(out[key], f"{where}.{key}", notices, origin, cost=cost))
    _drop_keys(out, where, notices, known)
    _settle_success(out, where, notices, origin)
    _settle_motions(out, where, notices)
    _settle_contact(out, f"{where}.contact_pose_index", notices)
    if isinstance(out.get("keypose_random_range"), Mapping):
        out["keypose_random_range"] = _rewrite_noise(
            out["keypose_random_range"], f"{where}.keypose_random_range", notices
        )
    _settle_names(out, f"{where}.object_keypoint_name_list", notices)
    return out


def _rewrite_entries(
    entries: list[Any], where: str, notices: list[str], origin: Origin, *, cost: bool
) -> Iterator[Any]:
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        place = f"{where}[{index}]"
        if not isinstance(entry, Mapping):
            yield entry  # the strict reader reports it
            continue
        out = rewrite_entry(entry, place, notices, origin=origin, cost=cost)
        if out is None:
            continue
        same = repr(sorted((k, v) for k, v in out.items() if k != "name"))
        if same in seen:
            notices.append(f"{place}: dropped, it says the same as {where}[{seen[same]}].")
            continue
        seen.setdefault(same, index)
        yield out


def _drop_keys(out: dict[str, Any], where: str, notices: list[str], known: list[str]) -> None:
    for key in [key for key in out if key not in known]:
        if key in IGNORED:
            notices.append(f"{where}.{key}: ignored, motions are timed inside the joint limits.")
        elif is_misspelling(key, known, out):
            continue  # a misspelt key is refused, as everywhere
        else:
            notices.append(f"{where}.{key}: dropped, no key of a planner_setting.{close_matches(key, known)}")
        del out[key]


def _settle_success(out: dict[str, Any], where: str, notices: list[str], origin: Origin) -> None:
    place, mode = f"{where}.success_threshold", out.get("success_mode")
    if isinstance(mode, str) and mode not in SuccessMode.__members__:
        known = list(SuccessMode.__members__)
        notices.append(
            f"{where}.success_mode: dropped, '{mode}' is no mode.{close_matches(mode, known)} "
            "The skill's default is used."
        )
        del out["success_mode"]
    threshold = out.get("success_threshold")
    if isinstance(threshold, int | float) and not isinstance(threshold, bool) and threshold < 0.0:
        out["success_threshold"] = -threshold
        notices.append(f"{place}: {threshold} read as {-threshold}, the displacement is compared without its sign.")
    if threshold is not None or any(is_misspelling(key, ("success_threshold",), ()) for key in out):
        return  # the misspelt one is refused
    if origin is Origin.interndata:
        out["success_threshold"] = _ROTATE_RAD
        notices.append(f"{place}: missing, read as {_ROTATE_RAD} (rad), what InternDataEngine's rotate takes.")
        return
    out["success_mode"], out["success_threshold"] = "fraction", _GENSIM2_SHARE
    notices.append(
        f"{place}: missing, read as success_mode fraction, {_GENSIM2_SHARE}: in GenSim2 success is an openness "
        "within 0.2 of 0 or 1, starting half open. Give 0.8 for a part that starts at the other end."
    )


def _settle_motions(out: dict[str, Any], where: str, notices: list[str]) -> None:
    for key in ("pre_actuation_motions", "post_actuation_motions"):
        if isinstance(out.get(key), list):
            out[key] = [_rewrite_motion(m, f"{where}.{key}[{i}]", notices) for i, m in enumerate(out[key])]
    key = "modify_actuation_motion"
    if isinstance(out.get(key), list) and len(out[key]) == 1 and isinstance(out[key][0], list):
        out[key] = out[key][0]
        notices.append(f"{where}.{key}: a list of one motion read as that motion.")
    labels = out.get("additional_labels")
    if isinstance(labels, Mapping):
        out["additional_labels"] = {
            name: _rewrite_label(value, f"{where}.additional_labels.{name}", notices) for name, value in labels.items()
        }


def _rewrite_motion(motion: Any, where: str, notices: list[str]) -> Any:
    match = _WORD_WITH_NUMBER.fullmatch(motion) if isinstance(motion, str) else None
    if match is not None and match[1] in MOTION_WORDS:
        notices.append(f"{where}: '{motion}' read as [{match[1]}, {float(match[2]):g}].")
        return [match[1], float(match[2])]
    if isinstance(motion, list) and len(motion) == 1 and isinstance(motion[0], str) and motion[0] in MOTION_WORDS:
        notices.append(f"{where}: [{motion[0]}] read as {motion[0]}.")
        return motion[0]
    return motion


def _rewrite_label(value: Any, where: str, notices: list[str]) -> Any:
    if isinstance(value, Mapping) and set(value) == {"modify_actuation_motion"}:
        notices.append(f"{where}: read as its modify_actuation_motion.")
        return value["modify_actuation_motion"]
    return value


def _settle_contact(out: dict[str, Any], where: str, notices: list[str]) -> None:
    """Replaces a contact index by that of the goal if the gripper would close before the goal, or never."""
    index, pre, post = (out.get(k) for k in ("contact_pose_index", "pre_actuation_motions", "post_actuation_motions"))
    if not isinstance(index, int) or isinstance(index, bool):
        return
    goal = 1 + (len(pre) if isinstance(pre, list) else 0)
    last = goal + (len(post) if isinstance(post, list) else 0)
    if not goal <= index <= last:
        del out["contact_pose_index"]
        side = "before" if index < goal else "after"
        notices.append(
            f"{where}: {index} lies {side} every keyframe in which the fingers can meet the part, "
            f"read as the goal, {goal}."
        )


def _rewrite_noise(value: Mapping[str, Any], where: str, notices: list[str]) -> dict[str, Any]:
    known = [f.name for f in fields(RangeXyzCfg)]
    out: dict[str, Any] = {}
    for name, inner in value.items():
        if name not in ("orientation", "position"):
            if is_misspelling(str(name), ("orientation", "position"), value):
                out[name] = inner
            else:
                notices.append(f"{where}.{name}: dropped, no key of it.")
            continue
        if not isinstance(inner, Mapping):
            out[name] = inner
            continue
        kept = {k: v for k, v in inner.items() if k in known or is_misspelling(str(k), known, inner)}
        notices.extend(f"{where}.{name}.{k}: dropped, no key of it." for k in inner if k not in kept)
        for axis in "xyz":
            low, high = kept.get(f"{axis}_min", 0.0), kept.get(f"{axis}_max", 0.0)
            if all(isinstance(v, int | float) for v in (low, high)) and low > high:
                kept[f"{axis}_min"], kept[f"{axis}_max"] = high, low
                notices.append(f"{where}.{name}: {axis}_min {low} above {axis}_max {high}, exchanged.")
        out[name] = kept
    return out


def _settle_names(out: dict[str, Any], where: str, notices: list[str]) -> None:
    """Drops names that no constraint uses and few objects have: the other systems do not enforce this list."""
    names = out.get("object_keypoint_name_list")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return
    entries = [
        entry
        for key in ("constraint_list", "cost_list")
        if isinstance(out.get(key), list)
        for entry in out[key]
        if isinstance(entry, Mapping)
    ]
    used = [value for entry in entries for key, value in entry.items() if str(key).endswith("keypoint_name")]
    kept = []
    for name in names:
        known = KEYPOINT_ALIASES.get(name, name)
        if known in used or known in PART_KEYPOINTS:
            kept.append(known)
        else:
            notices.append(f"{where}: dropped {name}, which no constraint names.")
    out["object_keypoint_name_list"] = kept
