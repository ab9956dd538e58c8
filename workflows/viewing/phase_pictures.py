"""Takes the pictures of an episode's phases, each from a camera that sees hand and part well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.skills.contract.command import Phase
from unlatch.tasks.language import fill_in
from unlatch.tasks.part_words import part_words
from unlatch.workflows.viewing.acted_part import find_acted_part
from unlatch.workflows.viewing.best_view import Subject, choose_best_view
from unlatch.workflows.viewing.phase_moments import SkillRound, failure_notes, part_openings
from unlatch.workflows.viewing.phase_sheet import OVERSAMPLED, TILE_PX, Curve, PhaseSheet, Section, Tile
from unlatch.workflows.viewing.recorded_moments import PhaseMoment, last_finite_frame, phase_of
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray

_KEY_PHASES = (Phase.grasp, Phase.follow)
"""Phases that the camera is chosen for."""
_MAX_KEY_FRAMES = 4
_SURROUNDINGS_M = 0.18
"""Half extent of the box around the contact point; the picture shows at least what of the part is in this box [m]."""
_NEAR_SURROUNDINGS_M = 0.06
"""The same for the pictures of a failure, which show hand and part from near [m]."""
_DIRECTIONS = {
    (-0.68, -1.05, 0.62): 1.0,
    (-0.68, 1.05, 0.62): 1.0,
    (-0.10, -1.20, 0.45): 0.8,
    (-0.10, 1.20, 0.45): 0.8,
    (-0.55, -0.70, 1.00): 0.8,
    (-0.55, 0.70, 1.00): 0.8,
}
"""Directions of the camera in the world frame with their weights: behind the robot's shoulders, its sides, and above.
The object is recognized best from the shoulders; other pictures use the first direction."""
_FOV_DEG = 30.0
_FAR_M = 0.25
"""A hand this far from the contact point has not reached it: the pictures of its failure show the hand alone [m]."""
_FINGERS_MOVE = (Phase.approach, Phase.grasp, Phase.release)
"""Phases in which a caption says how wide the fingers are open: the part does not move yet."""


def count_phase_pictures(rounds: Sequence[SkillRound]) -> int:
    """Returns how many pictures `take_phase_pictures` takes."""
    return sum(len(item.moments) for item in rounds) or 1


def take_phase_pictures(
    shown: RecordedWorld,
    rounds: Sequence[SkillRound],
    *,
    smooth: bool = False,
    on_picture: Callable[[], None] = lambda: None,
) -> PhaseSheet:
    """Takes a picture of every moment and collects what the sheet shows; if no arm moved, one of the last state.

    Args:
        shown: The recorded episode.
        rounds: Its moments, from `find_rounds`.
        smooth: Whether edges are smoothed; the pictures are shown at their size, not shrunk to `TILE_PX`.
        on_picture: Called after each picture.
    """
    record = shown.record
    end = last_finite_frame(record) + 1
    when = "" if record.success else f" at {record.evidence.get('time_s', 0.0):.1f} s"
    instruction = f': "{record.instruction}"' if record.instruction else ""
    views = _choose_cameras(shown, rounds)
    return PhaseSheet(
        title=f"{shown.episode.cfg.task.name}, episode {record.number}, {record.outcome}{when}{instruction}",
        success=record.success,
        notes=failure_notes(record)[1 if rounds else 0 :],  # the title above the failure has the message
        sections=[
            _make_section(shown, item, view, smooth=smooth, on_picture=on_picture)
            for item, view in zip(rounds, views, strict=True)
        ]
        or [_draw_last_state(shown, smooth=smooth)],
        times_s=record.arrays["time"][:end] - record.arrays["time"][0],
        phases=[phase_of(number) for number in record.arrays["skills.phase"][:end].tolist()],
        curves=list(_opening_curves(shown, rounds, end)),
    )


def _choose_cameras(shown: RecordedWorld, rounds: Sequence[SkillRound]) -> list[LookAtCamera]:
    """Returns the camera of each round: one for all rounds of a skill, and a nearer one for a failure."""
    found: dict[tuple[int, bool], LookAtCamera] = {}
    for skill, failed in dict.fromkeys((item.skill, item.failed_phase is not None) for item in rounds):
        moments = [
            moment
            for item in rounds
            if (item.skill, item.failed_phase is not None) == (skill, failed)
            for moment in item.moments
        ]
        found[skill, failed] = _choose_camera(shown, skill, moments, near=failed)
    return [found[item.skill, item.failed_phase is not None] for item in rounds]


def _choose_camera(shown: RecordedWorld, skill: int, moments: Sequence[PhaseMoment], *, near: bool) -> LookAtCamera:
    """Returns the camera that shows the hand at some moments, and the part around the contact point.

    `near`: less of the part, and nothing of a part that the hand is far from.
    """
    record, acted = shown.record, find_acted_part(shown, skill)
    frames = _key_frames(moments)
    middles = record.arrays[acted.point_key][frames]  # (K, 3)
    around = _NEAR_SURROUNDINGS_M if near else _SURROUNDINGS_M
    corners = []
    for frame, middle in zip(frames, middles, strict=True):
        gap = np.linalg.norm(record.arrays[f"{acted.arm_key}.tcp_position"][frame] - middle)
        if near and gap > _FAR_M:
            continue
        shown.show(frame)
        corners.append(np.clip(acted.item.body.link_aabb(acted.link), middle - around, middle + around))
    points = [
        record.arrays[f"{acted.arm_key}.tcp_position"][[moment.frame for moment in moments]],
        record.arrays[f"{acted.arm_key}.ee_position"][frames],
        *corners,
    ]
    return choose_best_view(
        shown.world,
        shown.show,
        subjects=[Subject(frame, acted.fingers, acted.label) for frame in frames],
        points_world=np.concatenate(points),
        directions=_DIRECTIONS,
        fov_deg=_FOV_DEG,
        aspect=TILE_PX[0] / TILE_PX[1],
    )


def _key_frames(moments: Sequence[PhaseMoment]) -> list[int]:
    """Returns the frames that the camera is chosen for."""
    found = [moment.frame for moment in moments if moment.phase in _KEY_PHASES or moment.failed]
    return found[:_MAX_KEY_FRAMES] or [moments[-1].frame]


def _draw_last_state(shown: RecordedWorld, *, smooth: bool) -> Section:
    """Returns a picture of the whole scene as the episode ended, before an arm moved."""
    record, frame = shown.record, last_finite_frame(shown.record)
    shown.show(frame)
    times = record.arrays["time"]
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    picture = take_picture(shown.world, shown.episode.scene.view(), width=width, height=height, smooth=smooth)
    tile = Tile(picture, record.outcome, float(times[frame] - times[0]), "", Phase.idle, failed=not record.success)
    return Section("no arm moved", [tile])


def _make_section(
    shown: RecordedWorld,
    skill_round: SkillRound,
    view: LookAtCamera,
    *,
    smooth: bool,
    on_picture: Callable[[], None],
) -> Section:
    record = shown.record
    entry = record.skills[skill_round.skill]
    times = record.arrays["time"]
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    tiles = []
    for moment in skill_round.moments:
        shown.show(moment.frame)
        tiles.append(
            Tile(
                take_picture(shown.world, view, width=width, height=height, smooth=smooth),
                moment.label,
                float(times[moment.frame] - times[0]),
                _describe_opening(shown, skill_round.skill, moment.frame, skill_round.failed_phase),
                moment.phase,
                failed=moment.failed,
            )
        )
        on_picture()
    return Section(_section_title(shown, skill_round, entry), tiles, failed=skill_round.failed_phase is not None)


def _section_title(shown: RecordedWorld, skill_round: SkillRound, entry: Mapping[str, Any]) -> str:
    record = shown.record
    if skill_round.failed_phase is not None:
        phase = "" if skill_round.failed_phase is Phase.idle else f" in phase {skill_round.failed_phase.name}"
        return f"failure{phase}: {record.message}".rstrip(".: ")
    arm = f", {entry['arm']} arm" if "arm" in entry else ""
    if entry.get("goes_home"):
        return f"{entry['name']}{arm}"
    called = part_words(shown.episode.scene.objects[entry["object"]].asset, entry["part"])
    thing = "{object}" if entry["part"] is None else "{part} of the {object}"
    (words,) = fill_in([f"{entry['name']}{arm}: {thing}"], called)
    several = f", round {skill_round.number} of {skill_round.count}" if skill_round.count > 1 else ""
    strategy = f", strategy {entry['strategy']}" if entry.get("strategy") else ""
    return f"{words}{several}{strategy}{_describe_force(entry)}"


def _describe_force(entry: Mapping[str, Any]) -> str:
    """Returns how hard the hand grips; of fingertips that drag a part, how hard they press on it."""
    for key, word in (("press_force_n", "press"), ("grip_force_n", "grip")):
        if key in entry:
            return f", {word} {entry[key]:.0f} N"
    return ""


def _describe_opening(shown: RecordedWorld, skill: int, frame: int, failed_phase: Phase | None) -> str:
    """Returns how far the part is open; of a failure while the fingers open or close, how wide they are."""
    if failed_phase in _FINGERS_MOVE:
        return f"fingers {1e3 * _finger_openings(shown, skill)[frame]:.0f} mm"
    openings, unit = _openings(shown, shown.record.skills[skill])
    return _format_opening(float(openings[frame]), unit)


def _finger_openings(shown: RecordedWorld, skill: int) -> Array:
    """Returns how wide the fingers of a skill's arm are open in every frame, (T+1,) [m]."""
    cfg = shown.episode.cfg
    arm = shown.episode.scene.robot.arm(shown.record.skills[skill].get("arm", cfg.skills[skill].arm))
    openings: Array = shown.record.arrays[f"robots.{cfg.robot.name}.{arm.name}.gripper_opening"].max(axis=1)
    return np.maximum(openings, 0.0)


def _opening_curves(shown: RecordedWorld, rounds: Sequence[SkillRound], end: int) -> Iterator[Curve]:
    """Yields the openings of the parts that were acted on, each once, and of fingers that failed to grasp."""
    entries = [shown.record.skills[item.skill] for item in rounds]
    for entry in {(entry["object"], entry["part"]): entry for entry in entries}.values():
        openings, unit = _openings(shown, entry)
        most = _format_opening(float(np.max(openings[:end])), unit)
        words = part_words(shown.episode.scene.objects[entry["object"]].asset, entry["part"])
        what = f"height of the {words.object}" if entry["part"] is None else words.part
        yield Curve(f"{what}, up to {most}", openings[:end])
    for item in rounds:
        if item.failed_phase in _FINGERS_MOVE:
            fingers = _finger_openings(shown, item.skill)[:end]
            yield Curve(f"fingers, up to {1e3 * fingers.max():.0f} mm", fingers)


def _openings(shown: RecordedWorld, entry: Mapping[str, Any]) -> tuple[Array, str]:
    """Returns how far the part of a skill is open in every frame, (T+1,), and the unit."""
    body, openings = shown.episode.scene.objects[entry["object"]].body, part_openings(shown.record, entry)
    if entry["joint"] is None:
        return openings, "m"
    return openings, "m" if body.joint(entry["joint"]).prismatic else "rad"


def _format_opening(opening: float, unit: str) -> str:
    digits = 3 if unit == "m" else 2
    return f"{round(opening, digits) + 0.0:.{digits}f} {unit}"
