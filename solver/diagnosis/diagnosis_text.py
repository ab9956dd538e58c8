"""Formats a diagnosis as lines for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_WIDTH = 110
MESSAGE_LENGTH = 400
"""A message takes no more evidence beyond this number of characters; the lines of `unlatch plan` have all of it."""
_LARGEST_TOLERANCE = {"m": 0.02, "rad": 1.3}
"""With a larger tolerance the hand does not grasp what it should, so it is no remedy [m, rad]."""
_MOST = 4
"""Largest number of remedies, and of places where candidates ended, that are printed."""


def diagnosis_lines(code: str, message: str, evidence: Mapping[str, Any]) -> list[str]:
    """Returns the reason, then the evidence, as lines of at most 110 characters."""
    single, together = evidence.get("relaxations", []), evidence.get("relaxed_together", [])
    lines = textwrap.wrap(f"{code}: {message}", _WIDTH, subsequent_indent="  ")
    reasons = [item["message"] for key in ("out_of_reach", "contradictions") for item in evidence.get(key, [])]
    lines += _format_list("more:", [reason for reason in reasons if not _is_told(reason, message)])
    lines += _format_table(evidence.get("constraints", {}), evidence.get("workspace_out_by", {}))
    lines += _format_list("held back by:", evidence.get("active_bounds", []))
    useful = [item["words"] for item in single if keeps_grasp(item)]
    if useful:
        others = [words for words in useful[:_MOST] if words not in message]
        also = "" if len(others) == len(useful[:_MOST]) else ", too"
        lines += _format_list(f"any one of these would be enough{also}:", others)
    elif together:
        lines += _format_list(
            "no single change is enough; these together would be:", [item["words"] for item in together]
        )
    elif "relaxations" in evidence:
        lines += ["no change of one or two constraints was found that is enough and keeps the hand at the part"]
    ended = evidence.get("ended_at", {})
    counts = sorted(ended.items(), key=lambda item: (-item[1], item[0]))
    lines += _format_list("where the candidates ended:", [f"{count:4d} x {where}" for where, count in counts[:_MOST]])
    return lines


def keeps_grasp(relaxation: Mapping[str, Any]) -> bool:
    """Returns whether a changed tolerance, as `Relaxation.to_dict` has it, still keeps the hand at its place."""
    largest = _LARGEST_TOLERANCE[relaxation["unit"]]
    return relaxation["kind"] != "constraint" or relaxation["needed"] <= largest


def compose_message(what: str, advice: str, evidence: Iterable[str]) -> str:
    """Returns what could not be done, the one thing to do, then the evidence, the shortest sentence first.

    All are sentences. Evidence beyond `MESSAGE_LENGTH` is left out.
    """
    message = f"{what} {advice}"
    for sentence in sorted(evidence, key=len):
        if len(message) + 1 + len(sentence) > MESSAGE_LENGTH:
            break
        message = f"{message} {sentence}"
    return message


def _is_told(reason: str, message: str) -> bool:
    """Returns whether a message has a reason, or what follows the colon of the reason."""
    return reason.rpartition(": ")[2].lower() in message.lower()


def format_amount(value: float, unit: str, *, digits: int = 4, degree_digits: int = 1) -> str:
    """Returns a number with its unit; an angle in degrees too."""
    degrees = f" ({math.degrees(value):.{degree_digits}f} degrees)" if unit == "rad" else ""
    return f"{value:.{digits}g} {unit}{degrees}"


def format_point(p: Sequence[float] | np.ndarray) -> str:
    """Returns a point (3,) [m] with three decimals."""
    return "[" + ", ".join(f"{v:.3f}" for v in p) + "]"


def _format_list(heading: str, items: Sequence[str]) -> list[str]:
    if not items:
        return []
    wrapped = [textwrap.wrap(item, _WIDTH - 4, subsequent_indent="    ") for item in items]
    return [heading, *(f"  {line}" for lines in wrapped for line in lines)]


def _format_table(constraints: Mapping[str, Any], faces: Mapping[str, float]) -> list[str]:
    if not constraints:
        return []
    rows = [
        (name, f"{c['value']:.4f}", f"{c.get('tolerance', 0.0):.4g} {c['unit']}", _format_state(c["out_by"], c["unit"]))
        for name, c in constraints.items()
    ]
    rows += [(f"workspace {face}", f"{out:.4f}", "0 m", _format_state(out, "m")) for face, out in faces.items()]
    wide = [max(len(row[i]) for row in rows) for i in range(3)]
    return [
        "best compromise (value of tolerance):",
        *(f"  {n:<{wide[0]}}  {v:>{wide[1]}} of {t:<{wide[2]}}  {state}" for n, v, t, state in rows),
    ]


def _format_state(out: float, unit: str) -> str:
    return "holds" if out <= 1e-6 else f"OUT by {format_amount(out, unit, degree_digits=2)}"
