"""Rewrites one entry of `constraint_list` or `cost_list` from the form of GenSim2 or InternDataEngine into ours."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any

from unlatch.simcore.errors import close_matches
from unlatch.solver.settings.origin import CONTACT_NAME, MEANINGS, TARGET_AXIS, TARGET_CROSS, TARGET_PAIR, Origin
from unlatch.solver.terms.catalog import COSTS, TERMS, infer_type
from unlatch.solver.terms.term import Term

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
    _read_names(out, where, notices)
    _read_letters(out, where, notices)
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


def _read_names(out: dict[str, Any], where: str, notices: list[str]) -> None:
    for key, value in out.items():
        if key.endswith("keypoint_name") and isinstance(value, str) and value in KEYPOINT_ALIASES:
            out[key] = KEYPOINT_ALIASES[value]
            notices.append(f"{where}.{key}: {value} read as {out[key]}, another name of the same keypoint.")


def _read_letters(out: dict[str, Any], where: str, notices: list[str]) -> None:
    for key in ("target_axis", "plane_normal"):
        letter = out.get(key)
        if isinstance(letter, str) and letter.lstrip("+") in _LETTERS:
            index, sign = _LETTERS[letter.lstrip("+")]
            out[key] = [sign if i == index else 0.0 for i in range(3)]
            notices.append(f"{where}.{key}: '{letter}' read as the vector {out[key]}.")


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
    if known and not _lacks_fields(out, catalog.load(str(kind))):
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


def _lacks_fields(out: Mapping[str, Any], cls: type[Term]) -> bool:
    required = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
    return any(name not in out for name in required if name != "tolerance")


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
