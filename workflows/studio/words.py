"""Says in words what was drawn, what is judged, and what a verdict rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.solver.settings.setting import SuccessMode
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.studio.jobs import ShownPart

Units = Mapping[tuple[str, str], str]
"""`m` or `rad` by object and part."""


def units_of(parts: Sequence[ShownPart]) -> Units:
    """Returns the units of the openings."""
    return {(part.object, part.part): part.unit for part in parts}


def words_of_layout(layout: Mapping[str, Any], units: Units) -> Iterator[str]:
    """Yields one line an object: which it is and where it stands; `layout` is that of a record."""
    for name, place in layout["objects"].items():
        instance, drawn = layout["instances"][name], place["drawn"]
        kind = {"procedural": "generated", "urdf": "URDF"}.get(instance["source"], instance["source"])
        category = "" if instance["category"] == "object" else f"{instance['category']} "  # not known
        words = f"{name}: {kind} {category}{instance['instance']}"
        if "rests_on" in instance:
            words += f", on its {instance['rests_on']}"
        if {"x_m", "y_m", "yaw_rad"} <= set(drawn):
            turn = math.degrees(drawn["yaw_rad"])
            words += f", at x {drawn['x_m']:.2f} m, y {drawn['y_m']:.2f} m, turned {turn:.0f}°"
        if drawn.get("height_m", 0.0) > 0.0:
            words += f", on a plinth of {drawn['height_m']:.2f} m"
        for key, value in drawn.items():
            part = key.removeprefix("opening.")
            if part != key:
                words += f", {part} open by {value:.2f} {units.get((name, part), '')}".rstrip()
        yield words


def words_of_goal(goal: GoalCfg, units: Units) -> str:
    """Returns a condition of the goal as a sentence without its stop."""
    what = f"{goal.part} of {goal.object}" if goal.part and goal.part != goal.object else goal.object
    unit = units.get((goal.object, goal.part or ""), "")
    value, share = f"{goal.value:g} {unit}".rstrip(), f"{100 * (goal.value or 0.0):g} %"
    place = f"{goal.region} of {goal.of}" if goal.region and goal.of and goal.region != goal.of else goal.of or "table"
    return {
        GoalKind.moved: f"{what} has moved by at least {value}",
        GoalKind.moved_fraction: f"{what} has moved by at least {share} of its range",
        GoalKind.open_fraction: f"{what} is open by at least {share} of its range",
        GoalKind.within_closed: f"{what} is closed to within {value}",
        GoalKind.inside: f"{what} is inside {place}",
        GoalKind.on: f"{what} stands on {place}",
        GoalKind.upright: f"{what} is upright",
        GoalKind.lifted: f"{what} is lifted by {value}",
    }[goal.kind]


def words_of_success(mode: SuccessMode, unit: str) -> tuple[str, str]:
    """Returns what a skill must reach: the words before the threshold, and those after it."""
    after = f" {unit}".rstrip()
    return {
        SuccessMode.abs: ("moved by at least ", after),
        SuccessMode.dis_to_init: ("moved by at least ", after),
        SuccessMode.normal: ("opened by at least ", after),
        SuccessMode.zero: ("within ", f"{after} of closed"),
        SuccessMode.fraction: ("moved by at least ", " of its range"),
    }[mode]


def words_of_evidence(record: EpisodeRecord, units: Units) -> list[str]:
    """Returns the numbers behind the verdict, one line a skill, then those of the failure."""
    lines = []
    for skill in record.skills:
        if skill["name"] == "artpreplan":  # it moves nothing
            continue
        name, part = str(skill.get("object")), str(skill.get("part"))
        what = f"{skill['name']} {part if skill.get('part') else name}"
        if skill.get("frame_start") is None:
            lines.append(f"{what}: not begun")
            continue
        words = f"{what}: {'succeeded' if skill.get('success') else 'did not succeed'}"
        unit = f" {units.get((name, part), '')}".rstrip()
        if skill.get("s_end") is not None and skill.get("s0") is not None:
            # from closed, as in the curves: the joint of a door may count down as it opens
            sign = 1.0 if skill["s_open"] >= skill["s_closed"] else -1.0
            start, end = (
                round(sign * (skill[key] - skill["s_closed"]), 3) + 0.0 for key in ("s0", "s_end")
            )  # no -0.000
            words += f". The {part} went from {start:.3f} to {end:.3f}{unit} open"
        if skill.get("success_threshold") is not None:
            before, after = words_of_success(SuccessMode(skill["success_mode"]), unit.strip())
            words += f" (wanted: {before}{skill['success_threshold']:.3g}{after})"
        if skill.get("strategy") not in (None, "given"):
            words += f". Strategy: {skill['strategy']}"
        if skill.get("press_force_n") is not None:
            words += f". The fingertips press with {skill['press_force_n']:.1f} N"
        elif skill.get("grip_force_n") is not None:
            words += f". Grip: {skill['grip_force_n']:.1f} N"
        lines.append(words)
    skipped = ("message", "traceback")
    for key, value in record.evidence.items():
        if key not in skipped and isinstance(value, bool | int | float | str | list):
            lines.append(f"{key.replace('_', ' ')}: {_format_value(value)}")
    return lines


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(_format_value, value)) if isinstance(value, list) else str(value)
