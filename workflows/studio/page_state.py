"""Describes scene, plan, run and reach as plain values, which the page draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.jobs import PlanResult, RunResult, SceneResult, ShownPart, ShownPlan, ShownSkill
from unlatch.workflows.studio.reach import ReachMap, place_m, places_in
from unlatch.workflows.viewing.phase_moments import failure_notes, part_openings
from unlatch.workflows.viewing.recorded_moments import phase_of
from unlatch.workflows.viewing.viewers.read_scene import shown_forces

_LEAST_FORCE_N = 0.1
"""Contact views whose force never exceeds this have no curve [N]."""


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
        "goal": [_words_of_goal(goal) for goal in scene.cfg.task.goal],
        "parts": [
            {**asdict(part), "shown": openings.get((part.object, part.joint), part.position)} for part in result.parts
        ],
        "skills": [_describe_skill(skill) for skill in result.skills],
        "cameras": [camera.name for camera in result.cameras],
        "took_s": result.took_s,
    }


def _describe_skill(skill: ShownSkill) -> dict[str, Any]:
    return {
        "key": skill.key,
        "name": skill.name,
        "object": skill.object,
        "part": skill.part,
        "strategies": list(skill.strategies),
        "derived": skill.derived,
        "threshold": skill.threshold,
        "constraints": [asdict(constraint) for constraint in skill.constraints],
    }


def _words_of_goal(goal: Any) -> str:
    what = f"{goal.part} of {goal.object}" if goal.part else goal.object
    where = f" {goal.of} {goal.region or ''}".rstrip() if goal.of else ""
    value = "" if goal.value is None else f" {goal.value:g}"
    return f"{what}: {goal.kind.value.replace('_', ' ')}{where}{value}"


def describe_plan(result: PlanResult) -> dict[str, Any]:
    """Returns keyframes, residuals and timings, or why there is no plan."""
    failure = result.scene.failure
    return {
        "found": result.found,
        "took_s": result.took_s,
        "failure": None if failure is None else failure.message,
        "lines": list(result.scene.lines),
        "plans": [_describe_skill_plan(plan) for plan in result.plans],
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


def _describe_skill_plan(plan: ShownPlan) -> dict[str, Any]:
    contradicting = sorted({index for each in plan.contradictions for index in each["indices"] if index >= 0})
    return {
        "arm": plan.arm,
        "skill": plan.skill,
        "key": plan.key,
        "part": plan.part,
        "strategy": plan.strategy,
        "found": plan.found,
        "code": plan.code,
        "message": plan.message,
        "lines": list(plan.lines),
        "residuals": [dict(each) for each in plan.residuals],
        "contradictions": [dict(each) for each in plan.contradictions],
        "contradicting": contradicting,
        "remedies": [dict(each) for each in plan.remedies],
        "refused": [dict(each) for each in plan.refused],
        "timings_ms": dict(plan.timings_ms),
        "keyframes": [{"label": frame.label, "s": frame.s} for frame in plan.keyframes],
        "stage": plan.stage,
    }


def describe_run(result: RunResult, parts: Sequence[ShownPart] = ()) -> dict[str, Any]:
    """Returns verdict with evidence, phases, and curves over the frames; `parts` have the units of the openings."""
    units = {(part.object, part.part): part.unit for part in parts}
    record = result.record
    arrays = record.arrays
    curves = []
    if arrays:
        for skill in record.skills:
            if skill.get("object") is not None and skill.get("frame_start") is not None:
                name = f"opening of {skill['part']}" if skill.get("part") else f"height of {skill['object']}"
                unit = units.get(
                    (str(skill["object"]), str(skill.get("part"))), "m" if skill.get("part") is None else ""
                )
                curves.append(_curve(name, unit, part_openings(record, skill), 4))
        floats = {key: array for key, array in arrays.items() if array.dtype.kind == "f"}
        for force in shown_forces(result.cfg.robot, floats):
            if np.nanmax(force.values_n, initial=0.0) > _LEAST_FORCE_N:
                curves.append(_curve(force.label, "N", force.values_n, 2))
    return {
        "success": record.success,
        "outcome": record.outcome,
        "notes": failure_notes(record),
        "instruction": record.instruction,
        "evidence": _evidence_lines(record),
        "phases": _phases(record),
        "curves": curves,
        "frames": record.n_actions + 1 if arrays else 0,
        "hz": result.cfg.world.record_hz,
        "took_s": result.took_s,
    }


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


def _evidence_lines(record: EpisodeRecord) -> list[str]:
    """Returns the numbers behind the verdict, one line each."""
    lines = []
    for skill in record.skills:
        if skill.get("frame_start") is None:
            lines.append(f"{skill['name']}: not begun")
            continue
        part = f" '{skill['part']}'" if skill.get("part") else ""
        words = f"{skill['name']}{part}: {'succeeded' if skill.get('success') else 'did not succeed'}"
        if skill.get("s_end") is not None and skill.get("s0") is not None:
            words += f"; joint from {skill['s0']:.3f} to {skill['s_end']:.3f}"
        if skill.get("success_threshold") is not None:
            words += f", wanted {skill['success_mode']} {skill['success_threshold']:.3g}"
        if skill.get("strategy"):
            words += f"; strategy {skill['strategy']}"
        if skill.get("grip_force_n") is not None:
            words += f"; grip {skill['grip_force_n']:.1f} N"
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


def describe_reach(maps: Mapping[str, ReachMap], regions: Sequence[RegionCfg]) -> list[dict[str, Any]]:
    """Returns, for each region with a map, how many of its places plan, and why others do not."""
    described = []
    for region in regions:
        found = maps.get(region.object)
        if found is None:
            continue
        plan, known = found.share(region)
        inside = set(places_in(region, 1))
        codes: dict[str, int] = {}
        for place, result in found.found.items():
            if place in inside and not result.plans:
                codes[result.code] = codes.get(result.code, 0) + 1
        described.append(
            {
                "object": region.object,
                "plan": plan,
                "known": known,
                "places": len(inside),
                "codes": codes,
                "is_done": found.next_place(region) is None,
                "examples": [
                    {"at_m": list(place_m(place)), "code": result.code, "message": result.message}
                    for place, result in found.found.items()
                    if place in inside and not result.plans
                ][:3],
            }
        )
    return described
