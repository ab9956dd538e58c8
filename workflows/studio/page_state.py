"""Describes the state of the studio as plain values and in words, which the page draws."""

from __future__ import annotations

import base64
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.solver.setting import SuccessMode
from unlatch.tasks.task import GoalCfg, GoalKind, RegionCfg
from unlatch.workflows.studio.document import find_line, parse_key, read_tree
from unlatch.workflows.studio.jobs import PLAN, RUN, JobProblem, PlanResult, RunAnswer, SceneResult, ShownPart
from unlatch.workflows.studio.state import ReachMap, StudioState, next_place, place_m, places_in
from unlatch.workflows.viewing.annotation_editor import annotatable
from unlatch.workflows.viewing.phase_moments import failure_notes, part_openings, phase_of
from unlatch.workflows.viewing.recorded_scene import shown_forces

Units = Mapping[tuple[str, str], str]
"""`m` or `rad` by object and part."""


def units_of(parts: Sequence[ShownPart]) -> Units:
    """Returns the units of the openings."""
    return {(part["object"], part["part"]): part["unit"] for part in parts}


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
        GoalKind.at_fraction: f"{what} is open by {share} of its range",
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


def describe_state(state: StudioState) -> dict[str, Any]:
    """Returns everything that the page shows."""
    with state.changed:
        document, text = state.document, state.document.text
        objects = {} if state.scene is None else state.scene.scene.cfg.all_objects()
        plans = () if state.plan is None or state.is_old(PLAN) else state.plan.plans
        # the mistake is a contradiction between constraints that the plan explains with its remedies
        is_in_list = state.problem is not None and state.problem.key.endswith("constraint_list")
        tells_problem = is_in_list and any(each.contradictions for each in plans)
        return {
            "revision": state.revision,
            "document": {
                **{key: getattr(document, key) for key in ("text", "name", "is_saved", "can_undo", "can_redo")},
                "path": str(document.path),
                "message": state.message,
            },
            "problem": _describe_problem(text, state.problem),
            "plan_tells_problem": tells_problem,
            "episode": state.episode,
            "show": asdict(state.show),
            "drawn": asdict(state.drawn()),
            "clock": {**asdict(state.clock), "length": state.length_of(state.clock.of)},
            "busy": {kind: time.monotonic() - since for kind, since in state.since.items()},
            "auto_plan": state.plans_after_edits,
            "scene": None if state.scene is None else describe_scene(state.scene, state.openings),
            "plan": None if state.plan is None else describe_plan(state.plan),
            "plan_problem": _describe_problem(text, state.plan_problem),
            "scene_is_old": state.scene_is_old(),
            "plan_is_old": state.is_old(PLAN),
            "run": None if state.run is None else describe_run(state.run, state.parts()),
            "run_problem": _describe_problem(text, state.run_problem),
            "run_is_old": state.is_old(RUN),
            "views": {
                name: f"data:image/webp;base64,{base64.b64encode(image).decode()}"
                for name, image in ({} if state.views is None else state.views.images).items()
            },
            "views_moment": state.views_moment,
            "views_problem": _describe_problem(text, state.views_problem),
            "annotation": None if state.annotation is None else state.annotation.to_dict(),
            "annotatable": annotatable(objects),
            "reach": describe_reach(state.reach, state.regions()),
        }


def _describe_problem(text: str, problem: JobProblem | None) -> dict[str, Any] | None:
    return None if problem is None else {"message": problem.message, "line": problem_line(text, problem)}


def problem_line(text: str, problem: JobProblem) -> int | None:
    """Returns the line of a mistake in the text, from 1; None if it is not in this text."""
    try:
        read_tree(text)
    except ConfigError as exc:
        return exc.values.get("line")
    line = find_line(text, parse_key(problem.key)) if problem.key else None
    if line is None and problem.key:  # the name of a file of a group
        group = problem.key.partition(".")[0]
        for number, words in enumerate(text.splitlines(), start=1):
            if f"override /{group}:" in words:
                return number
    return line


def describe_scene(result: SceneResult, openings: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """Returns what was drawn, and what can be edited: regions, parts, skills.

    `openings` are the joint positions of the sliders by object and joint [rad or m].
    """
    scene = result.scene
    return {
        "episode": scene.episode,
        "run_seed": scene.cfg.seed,
        "seed": str(scene.seed),  # JavaScript rounds it
        "robot": scene.cfg.robot.name,
        "lines": list(scene.lines),
        "notices": list(result.notices),
        "failure": None if scene.failure is None else scene.failure.message,
        "regions": [asdict(region) for region in scene.cfg.task.regions],
        "openness": [asdict(entry) for entry in scene.cfg.task.openness],
        "goal": [words_of_goal(goal, units_of(result.parts)) for goal in scene.cfg.task.goal],
        "parts": [
            {**part, "shown": openings.get((part["object"], part["joint"]), part["position"])} for part in result.parts
        ],
        "skills": [{key: value for key, value in skill.items() if key != "settings"} for skill in result.skills],
        "cameras": [camera.name for camera in result.cameras],
        "took_s": result.took_s,
    }


def describe_plan(result: PlanResult) -> dict[str, Any]:
    """Returns keyframes, residuals and timings, or why there is no plan."""
    failure = result.scene.failure
    left_out = ("joint", "compromise", "segments", "carried")
    return {
        "found": result.found,
        "took_s": result.took_s,
        "failure": None if failure is None else failure.message,
        "search": result.scene.search,
        "plans": [
            {
                **{key: value for key, value in vars(plan).items() if key not in left_out},
                "contradicting": sorted(
                    {index for each in plan.contradictions for index in each["indices"] if index >= 0}
                ),
                "keyframes": [{"label": frame.label, "s": frame.s} for frame in plan.keyframes],
            }
            for plan in result.plans
        ],
        "frames": result.frames,
        "spans": _plan_spans(result),
    }


def _plan_spans(result: PlanResult) -> list[dict[str, Any]]:
    """Returns the parts of the planned motion, one after the other, with the frames of the whole chain.

    Where several arms move at once, they are those of the arm that moves longest.
    """
    spans, first = [], 0
    for stage, length in enumerate(result.stage_frames()):
        plan = max((plan for plan in result.plans if plan.stage == stage), key=lambda each: each.frames)
        start = first
        for segment in plan.segments:
            last = start + len(segment.q) - 1
            spans.append({"kind": segment.kind, "skill": plan.skill, "stage": stage, "first": start, "last": last})
            start = last + 1
        first += length
    return spans


def describe_run(result: RunAnswer, parts: Sequence[ShownPart] = ()) -> dict[str, Any]:
    """Returns verdict with evidence, phases, and curves over the frames; `parts` have the units of the openings."""
    units = units_of(parts)
    record = result.record
    arrays = record.arrays
    curves = _curves(result, units) if arrays else []
    return {
        "success": record.success,
        "outcome": record.outcome,
        "notes": failure_notes(record),
        "instruction": record.instruction,
        "evidence": words_of_evidence(record, units),
        "phases": _phases(record),
        "curves": curves,
        "frames": record.n_actions + 1 if arrays else 0,
        "hz": result.cfg.world.record_hz,
        "took_s": result.took_s,
    }


def _curves(result: RunAnswer, units: Units) -> list[dict[str, Any]]:
    """Returns the openings of the parts and the heights of the objects that skills act on, then the forces."""
    record, curves = result.record, {}
    for entry in result.moved:
        name = f"opening of {entry['part']}" if entry.get("part") else f"height of {entry['object']}"
        unit = units.get((str(entry["object"]), str(entry.get("part"))), "" if entry.get("part") else "m")
        curves[name] = _curve(name, unit, part_openings(record, entry), 4)
    floats = {key: array for key, array in record.arrays.items() if array.dtype.kind == "f"}
    every = shown_forces(result.cfg.robot, floats)
    # contact views whose force never exceeds this have no curve [N]
    forces = [force for force in every if np.nanmax(force.values_n, initial=0.0) > 0.1]
    labels = [force.label for force in forces]
    for force in forces:
        _, *owner, _ = ["", *force.name.split(".")]  # robot, arm and object, as far as there are several
        arm = f" ({owner[1]} arm)" if len(owner) > 1 and len(result.cfg.robot.arms) > 1 else ""
        what = f": {owner[2]}" if len(owner) > 2 else ""
        name = f"{force.label}{what}{arm}" if labels.count(force.label) > 1 else force.label
        curves[f"force {force.name}"] = _curve(name, "N", force.values_n, 2)
    return list(curves.values())


def _curve(label: str, unit: str, values: np.ndarray, digits: int) -> dict[str, Any]:
    plain = [round(float(value), digits) if math.isfinite(value) else 0.0 for value in values]
    return {"label": label, "unit": unit, "values": plain}


def _phases(record: EpisodeRecord) -> list[dict[str, Any]]:
    """Returns the runs of equal phases of the first arm."""
    tracks = sorted(key for key in record.arrays if key.startswith("skills.") and key.endswith(".phase"))
    key = "skills.phase" if "skills.phase" in record.arrays else tracks[0] if tracks else None
    spans, first = [], 0
    for number, members in groupby(record.arrays[key].tolist() if key else ()):
        length = len(list(members))
        spans.append({"phase": phase_of(number).name, "first": first, "last": first + length - 1})
        first += length
    return spans


def describe_reach(maps: Mapping[str, ReachMap], regions: Sequence[RegionCfg]) -> list[dict[str, Any]]:
    """Returns, for each region with a map, how many of its places plan, and why others do not."""
    described = []
    for region in regions:
        if (found := maps.get(region.object)) is None:
            continue
        inside = set(places_in(region, 1))
        known = {at: result for at, result in found.items() if at in inside}
        failed = [(at, result) for at, result in known.items() if not result.plans]
        described.append(
            {
                "object": region.object,
                "plan": len(known) - len(failed),
                "known": len(known),
                "places": len(inside),
                "codes": Counter(result.code for _, result in failed),
                "is_done": next_place(found, region) is None,
                "examples": [
                    {"at_m": place_m(at), "code": result.code, "message": result.message} for at, result in failed[:3]
                ],
            }
        )
    return described
