"""Rewrites a `planner_setting` of GenSim2 or InternDataEngine into our form, its entries of constraints and costs
included.

Users load such a block unchanged. Each key that is rewritten or dropped gives one line. Values that affect the robot
but are not understood (an unknown constraint, an unknown motion) stay, so that the strict reader refuses them.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np

from unlatch.simcore.errors import close_matches
from unlatch.simcore.peer_axes import PeerAxes, find_peer_axes
from unlatch.solver.scene import Array, PlanningScene, axis_name
from unlatch.solver.setting import (
    CONTACT_NAME,
    IGNORED,
    MEANINGS,
    MOTION_WORDS,
    PART_KEYPOINTS,
    TARGET_AXIS,
    TARGET_CROSS,
    TARGET_PAIR,
    Origin,
    PlannerSettingCfg,
    RangeXyzCfg,
    SuccessMode,
    sum_turns,
)
from unlatch.solver.term_kinds import COSTS, TERMS, AxisAngle, infer_type

_ANGLE_TYPES = (
    "frame_axis_parallel",
    "frame_axis_orthogonal",
    "keypoint_axis_parallel",
    "keypoint_axis_orthogonal",
)
KEYPOINT_ALIASES = {"base_object_contact_point": "base_contact_point"}
"""Object keypoints that the peers call by two names."""

_LETTERS = {f"{sign}{axis}": (i, -1.0 if sign == "-" else 1.0) for i, axis in enumerate("xyz") for sign in ("", "-")}
_FRAMES = ("object", "base", "world")
_TIGHTEST = 1e-6
"""Replaces a tolerance of 0: the precision to which the solver verifies its solutions [m, rad]."""
_DEFAULT_TOLERANCE = {"m": 1e-3, "rad": 0.01}
_ROUNDING = 0.01
"""An inner product at most this far outside -1 to 1 is a rounding error, not a mistake."""
_MISSPELLING_RATIO = 0.87
"""Smallest similarity of a misspelt key to the right one.

For `tolerence` it is 0.89, for a correct key of a peer, `pre_actuation_time` to `pre_actuation_motions`, 0.82."""


def is_misspelling(key: str, known: Collection[str], present: Collection[str]) -> bool:
    """Returns whether an unknown key is a misspelling of an absent key, which is always an error."""
    absent = [name for name in known if name not in present]
    return bool(difflib.get_close_matches(key, absent, n=1, cutoff=_MISSPELLING_RATIO))


def rewrite_entry(
    entry: Mapping[str, Any], where: str, notices: list[str], *, origin: Origin, cost: bool
) -> dict[str, Any] | None:
    """Returns an entry in our form, or None if a cost has no counterpart; `notices` receives a line for each change.

    Values that are not understood stay, so that the strict reader refuses them.
    """
    out = {str(key): value for key, value in entry.items() if value is not None}
    for key, value in out.items():
        if key.endswith("keypoint_name") and isinstance(value, str) and value in KEYPOINT_ALIASES:
            out[key] = KEYPOINT_ALIASES[value]
            notices.append(f"{where}.{key}: {value} read as {out[key]}, another name of the same keypoint.")
    for key in ("target_axis", "plane_normal"):
        letter = out.get(key)
        if isinstance(letter, str) and letter.lstrip("+") in _LETTERS:
            index, sign = _LETTERS[letter.lstrip("+")]
            out[key] = [sign if i == index else 0.0 for i in range(3)]
            notices.append(f"{where}.{key}: '{letter}' read as the vector {out[key]}.")
    if not cost:
        _type_by_name(out, where, notices, origin)
    if not _settle_type(out, where, notices, cost=cost):
        return None
    _keep_one_target(out, where, notices)
    _settle_frame(out, where, notices, origin)
    if not cost:
        _settle_numbers(out, where, notices)
    _drop_unknown(out, where, notices, cost=cost)
    return out


def _type_by_name(out: dict[str, Any], where: str, notices: list[str], origin: Origin) -> None:
    """Sets the type by the name of the entry, which determines it in the form of the peers."""
    name, kind = str(out.get("name", "")), out.get("type")
    if name == CONTACT_NAME and kind is not None and kind != "point2point_constraint" and "keypoint_name" in out:
        notices.append(f"{where} '{name}': type {kind} read as point2point_constraint.")
        out["type"] = "point2point_constraint"
    if name not in MEANINGS:
        if name and name != CONTACT_NAME and origin is Origin.interndata:
            near = close_matches(name, [CONTACT_NAME, *MEANINGS])
            notices.append(
                f"{where} '{name}': no name that InternDataEngine knows, which refuses it.{near} Read by its type."
            )
        return
    needed, without_effect, meaning = MEANINGS[name]
    missing = [key for key in needed if key not in out]
    if missing:
        notices.append(
            f"{where} '{name}': the name means {meaning}, which lacks {', '.join(missing)}; read by its fields."
        )
        return
    dropped = [key for key in without_effect if key in out]
    for key in dropped:
        del out[key]
    if dropped and dropped != ["target_axis_frame"]:  # alone it says nothing
        notices.append(f"{where} '{name}': read as {meaning}; dropped {', '.join(dropped)} (without effect there).")
    if kind is not None and kind not in _ANGLE_TYPES:
        del out["type"]
        out["type"] = infer_type(out, cost=False)
        notices.append(f"{where} '{name}': type {kind} read as {out['type']}, which the name means.")


def _settle_type(out: dict[str, Any], where: str, notices: list[str], *, cost: bool) -> bool:
    """Infers a missing type, and that of a cost or of an entry without the fields of its type.

    An unknown type of a constraint stays, so that it is refused. Returns False if a cost must be omitted.
    """
    catalog = COSTS if cost else TERMS
    kind = out.get("type")
    known = kind in catalog.names()
    if kind is not None and not known and not cost:
        return True
    needed = fields(catalog.load(str(kind))) if known else ()
    required = [f.name for f in needed if f.default is MISSING and f.default_factory is MISSING]
    if known and all(name in out for name in required if name != "tolerance"):
        return True
    inferred = infer_type(out, cost=cost)
    if inferred is None:
        if not cost:
            return True
        what = f"type {kind}" if kind is not None else "no type"
        notices.append(f"{where}: dropped, {what} is no cost here. Costs: {', '.join(COSTS.names())}.")
        return False
    if kind is None:
        notices.append(f"{where}.type: missing, read as {inferred} from its fields.")
    elif known or not is_misspelling(str(kind), catalog.names(), ()):
        notices.append(f"{where}.type: {kind} read as {inferred} from its fields.")
    else:
        return True  # a misspelt type is refused, as everywhere
    out["type"] = inferred
    return True


def is_angle(entry: Mapping[str, Any]) -> bool:
    """Returns whether an entry of a `constraint_list` bounds an angle, by its type or else by its fields."""
    return (entry.get("type") or infer_type(entry, cost=False)) in _ANGLE_TYPES


def _keep_one_target(out: dict[str, Any], where: str, notices: list[str]) -> None:
    """Drops one of two targets; the type of the entry says which."""
    kind = out.get("type")
    others = [key for key in (*TARGET_AXIS, *TARGET_CROSS) if key in out]
    if kind not in _ANGLE_TYPES or not others or not all(key in out for key in TARGET_PAIR):
        return
    dropped = others if str(kind).startswith("keypoint_") else list(TARGET_PAIR)
    for key in dropped:
        del out[key]
    notices.append(f"{where}: dropped {', '.join(dropped)}, type {kind} takes the other target.")


def _settle_frame(out: dict[str, Any], where: str, notices: list[str], origin: Origin) -> None:
    place, frame = f"{where}.target_axis_frame", out.get("target_axis_frame")
    numbers = any(key in out and not isinstance(out[key], str) for key in ("target_axis", "plane_normal"))
    if frame == "link" and origin is not Origin.gensim2:
        out["target_axis_frame"] = "object"
        notices.append(f"{place}: link read as object (the moving part's frame).")
    elif frame in ("base", "world") and numbers and origin is Origin.interndata:
        out["target_axis_frame"] = "object"
        notices.append(f"{place}: {frame} read as object (the moving part's), which InternDataEngine always takes.")
    elif frame is not None and frame not in _FRAMES:
        if not numbers:
            del out["target_axis_frame"]
            notices.append(f"{place}: dropped, '{frame}' is no frame, and the target needs none.")
            return
        # what each peer's own solver does with a frame that it does not know
        is_link = origin is Origin.interndata
        meant, meaning = ("object", "the moving part's") if is_link else ("base", "the arm's base")
        out["target_axis_frame"] = meant
        notices.append(f"{place}: '{frame}' is no frame, read as {meant} ({meaning}), as {origin.title} does.")


def _settle_numbers(out: dict[str, Any], where: str, notices: list[str]) -> None:
    unit = "rad" if out.get("type") in _ANGLE_TYPES else "m"
    tolerance, product = out.get("tolerance"), out.get("target_inner_product")
    is_misspelt = any(is_misspelling(key, ("tolerance",), ()) for key in out if key != "tolerance")
    if tolerance is None and not is_misspelt:
        out["tolerance"] = _DEFAULT_TOLERANCE[unit]
        notices.append(f"{where}.tolerance: missing, read as {_DEFAULT_TOLERANCE[unit]:g} {unit}.")
    elif tolerance == 0 and not isinstance(tolerance, bool):
        out["tolerance"] = _TIGHTEST
        notices.append(f"{where}.tolerance: 0 read as {_TIGHTEST:g} {unit}, the tightest that is checked.")
    if isinstance(product, int | float) and 1.0 < abs(product) <= 1.0 + _ROUNDING:
        out["target_inner_product"] = math.copysign(1.0, product)
        notices.append(
            f"{where}.target_inner_product: {product} is no cosine, read as {out['target_inner_product']:g}."
        )


def _drop_unknown(out: dict[str, Any], where: str, notices: list[str], *, cost: bool) -> None:
    """Drops fields that our term of this type does not have; the other systems do not read them either."""
    catalog, kind = (COSTS if cost else TERMS), str(out.get("type"))
    if kind not in catalog.names():
        return  # the strict reader reports it
    known = [f.name for f in fields(catalog.load(kind))]
    if "weight" in known and "penalty_weight" in out and "weight" not in out:
        out["weight"] = out.pop("penalty_weight")
        notices.append(f"{where}.penalty_weight: read as weight.")
    for key in [key for key in out if key != "type" and key not in known and not is_misspelling(key, known, out)]:
        del out[key]
        notices.append(f"{where}.{key}: dropped, {kind} has no such field.")


GENSIM2_SHARE = 0.3
"""Share of the range by which a part of GenSim2 moves from half open to within 0.2 of an end."""
_ROTATE_RAD = 0.785
_WORD_WITH_NUMBER = re.compile(r"(move-[a-z]+)[ :=]+([+-]?\d*\.?\d+)")


def rewrite_setting(raw: Mapping[str, Any], where: str, notices: list[str], origin: Origin) -> dict[str, Any]:
    """Returns a block of another system in our form; `notices` receives a line for each change."""
    known = [f.name for f in fields(PlannerSettingCfg)]
    out = {str(key): value for key, value in raw.items() if value is not None or key not in known}
    for key, cost in (("constraint_list", False), ("cost_list", True)):
        if isinstance(out.get(key), list):
            out[key] = list(_rewrite_entries(out[key], f"{where}.{key}", notices, origin, cost=cost))
    if origin is Origin.gensim2:
        _settle_fingers(out, where, notices)
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


def _settle_fingers(out: dict[str, Any], where: str, notices: list[str]) -> None:
    """Keeps the fingers closed where the file pushes: a hand that grips comes with its fingertips ahead."""
    constraints, motions = out.get("constraint_list") or [], out.get("pre_actuation_motions") or [None]
    if not isinstance(constraints, list) or not isinstance(motions, list):
        return  # the strict reader reports it
    points = [entry for entry in constraints if isinstance(entry, dict) and "keypoint_name" in entry]
    comes_from_side = isinstance(motions[0], list) and motions[0][:1] in (["translate_x"], ["translate_y"])
    is_pushed = any(point["keypoint_name"] in ("tool_tail", "tool_side") for point in points)
    if "approach_width_m" in out or not (is_pushed or comes_from_side):
        return
    out["approach_width_m"] = 0.0
    notices.append(f"{where}.approach_width_m: missing, read as 0: the file pushes with closed fingers.")
    for point in points:
        if point["keypoint_name"] == "tool_side":
            point["keypoint_name"] = "tool_head"
            target = point.get("target_keypoint_name")
            notices.append(f"{where}: tool_side at {target} read as tool_head, where closed fingers are.")


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
    out["success_mode"], out["success_threshold"] = "fraction", GENSIM2_SHARE
    notices.append(
        f"{place}: missing, read as success_mode fraction, {GENSIM2_SHARE}: in GenSim2 success is an openness "
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
        out["additional_labels"] = dict(labels)
        for name, value in labels.items():
            if isinstance(value, Mapping) and set(value) == {"modify_actuation_motion"}:
                out["additional_labels"][name] = value["modify_actuation_motion"]
                notices.append(f"{where}.additional_labels.{name}: read as its modify_actuation_motion.")


def _rewrite_motion(motion: Any, where: str, notices: list[str]) -> Any:
    match = _WORD_WITH_NUMBER.fullmatch(motion) if isinstance(motion, str) else None
    if match is not None and match[1] in MOTION_WORDS:
        notices.append(f"{where}: '{motion}' read as [{match[1]}, {float(match[2]):g}].")
        return [match[1], float(match[2])]
    if isinstance(motion, list) and len(motion) == 1 and isinstance(motion[0], str) and motion[0] in MOTION_WORDS:
        notices.append(f"{where}: [{motion[0]}] read as {motion[0]}.")
        return motion[0]
    return motion


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


HEAD, TAIL = "articulated_object_head", "articulated_object_tail"
_CONTACT = "link0_contact_axis"
_TAIL_M = 0.05
_CLEAR_COSINE = 0.2
"""From this cosine on a constraint says from which side the hand comes."""


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


_PAD_M = 0.02
"""What GenSim2 holds with the tail of its fingers, the pads of ours hold: a point so far behind the head [m]. At the
tail itself the palm would be in the part: GenSim2's planner ignores collisions."""


def read_peer_tool(setting: PlannerSettingCfg, tool: Mapping[str, Array]) -> Mapping[str, Array]:
    """Returns the keypoints of a hand, (3,) each, ee frame [m], that the constraints of a setting mean.

    The pads of our fingers take the place of the tail of GenSim2's.
    """
    if setting.origin is not Origin.gensim2 or not {"tool_head", "tool_tail"} <= set(tool):
        return tool
    along = tool["tool_head"] - tool["tool_tail"]
    pads = tool["tool_head"] - along * min(1.0, _PAD_M / max(float(np.linalg.norm(along)), 1e-9))
    return {**tool, "tool_tail": pads}


_R_ROOT_MESH = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Rotation of PartNet-Mobility's meshes (x right, y up, z out of the front) in its root link (x into the front, z up).
GenSim2 states axes in the frame of the moving link, which has that of the meshes and moves with the part."""


def _read_gensim2(scene: PlanningScene) -> PlanningScene:
    keypoints, joint = dict(scene.keypoints), scene.joint
    if not joint.prismatic and HEAD in keypoints and TAIL in keypoints:
        arm = keypoints[HEAD] - joint.origin
        lever = arm - joint.axis * float(arm @ joint.axis)
        if float(np.linalg.norm(lever)) > 1e-3:
            keypoints[TAIL] = keypoints[HEAD] - lever
    R_moved, _ = joint.motion(scene.s)
    return replace(scene, keypoints=keypoints, R_base_link=R_moved @ _object_rotation(scene) @ _R_ROOT_MESH)


_FAR_ENOUGH = 0.8
"""Share of the way to their end after which the motions of a file open a part far enough: it swings on."""


def describe_short_end(scene: PlanningScene, ends: tuple[float, float], end: float) -> str:
    """Says that motions of GenSim2, whose planner knows no joint, end before a part is open; empty: they do not.

    They lead the part to the joint position `end`, and could between `ends`, the lower one first [rad or m].
    """
    sign, unit = (1.0 if scene.s_open > scene.s_closed else -1.0), scene.joint.unit
    wanted = ends[int(sign > 0.0)]
    if math.isinf(wanted) or sign * (end - scene.s) >= _FAR_ENOUGH * sign * (wanted - scene.s):
        return ""
    return f"the listed motions lead the part to {end:.3f} {unit} only, short of {wanted:.3f} {unit}"


def _object_rotation(scene: PlanningScene) -> Array:
    return scene.R_base_world if scene.R_base_object is None else scene.R_base_object


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


def read_peer_scene(setting: PlannerSettingCfg, scene: PlanningScene, *, opens: bool | None) -> PlanningScene:
    """Returns the scene that the constraints of a setting of another system mean; see `read_scene`."""
    if setting.origin is Origin.gensim2:
        return _read_gensim2(scene)
    theirs = peer_axes(scene)
    if theirs is None:
        return scene
    keypoints = {**scene.keypoints, TAIL: scene.keypoint(HEAD) + _TAIL_M * theirs.tail}
    own = {name: axis for name, axis in scene.axes.items() if axis_name(name) not in theirs.axes}
    # by the annotation, cross products point out of a door with its hinge on the left, and into one with its hinge on
    # the right; the turns say for which of the two the setting is written: opening is a negative turn on the left
    is_for_right = sum_turns(setting.listed_post_motions) * (-1.0 if opens is False else 1.0) > 0.0
    if is_for_right and _hand_side(setting) > 0.0:
        is_for_right = False  # such a hand would come through the door: the cross product points out of it here
    sign = 1.0 if is_for_right == theirs.is_mirrored else -1.0
    return replace(scene, keypoints=keypoints, axes={**own, **theirs.axes}, cross_sign=sign)
