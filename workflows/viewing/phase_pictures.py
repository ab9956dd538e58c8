"""Takes the pictures of an episode's phases, each from a camera that sees hand and part well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.skills.contract.command import Phase
from unlatch.tasks.language import fill_in
from unlatch.tasks.part_words import part_words
from unlatch.workflows.viewing.close_up import choose_close_up
from unlatch.workflows.viewing.phase_moments import (
    PhaseMoment,
    SkillRound,
    failure_notes,
    last_finite_frame,
    part_openings,
    phase_of,
)
from unlatch.workflows.viewing.phase_sheet import OVERSAMPLED, TILE_PX, Curve, PhaseSheet, Section, Tile
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray

_KEY_PHASES = (Phase.grasp, Phase.follow)
"""Phases that the camera is chosen for."""
_MAX_KEY_FRAMES = 4
_SURROUNDINGS_M = 0.18
"""Half extent of the box around the contact point; the picture shows at least what of the part is in this box [m]."""
_HELD_AT, _PUSHED_AT = "articulated_object_head", "link_contact_point"


def take_phase_pictures(shown: RecordedWorld, rounds: Sequence[SkillRound]) -> PhaseSheet:
    """Takes a picture of every moment and collects what the sheet shows; if no arm moved, one of the last state."""
    record = shown.record
    end = last_finite_frame(record) + 1
    when = "" if record.success else f" at {record.evidence.get('time_s', 0.0):.1f} s"
    instruction = f': "{record.instruction}"' if record.instruction else ""
    views = {skill: _choose_camera(shown, skill, rounds) for skill in dict.fromkeys(item.skill for item in rounds)}
    return PhaseSheet(
        title=f"{shown.episode.cfg.task.name}, episode {record.number}, {record.outcome}{when}{instruction}",
        success=record.success,
        notes=failure_notes(record),
        sections=[_make_section(shown, item, views[item.skill]) for item in rounds] or [_draw_last_state(shown)],
        times_s=record.arrays["time"][:end] - record.arrays["time"][0],
        phases=[phase_of(number) for number in record.arrays["skills.phase"][:end].tolist()],
        curves=list(_opening_curves(shown, rounds, end)),
    )


def _choose_camera(shown: RecordedWorld, skill: int, rounds: Sequence[SkillRound]) -> LookAtCamera:
    """Returns one camera for all rounds of a skill."""
    record, cfg, scene = shown.record, shown.episode.cfg, shown.episode.scene
    entry = record.skills[skill]
    arm = scene.robot.arm(entry.get("arm", cfg.skills[skill].arm))
    item = scene.objects[entry["object"]]
    part = entry["part"]
    link = item.asset.model.root if part is None else item.asset.articulation.part(part).link
    moments = [moment for item in rounds if item.skill == skill for moment in item.moments]
    near = _key_frames(moments)
    hand = f"robots.{cfg.robot.name}.{arm.name}"
    point = _HELD_AT if entry.get("finger_contact_required", True) else _PUSHED_AT
    key = f"objects.{entry['object']}.root_position"
    if part is not None:
        key = f"keypoints.{entry['object']}.{part}.{point}"
    acted_on = record.arrays[key][near]  # (K, 3)
    corners = []
    for frame, middle in zip(near, acted_on, strict=True):
        shown.show(frame)
        corners.append(np.clip(item.body.link_aabb(link), middle - _SURROUNDINGS_M, middle + _SURROUNDINGS_M))
    points = [
        record.arrays[f"{hand}.tcp_position"][[moment.frame for moment in moments]],
        record.arrays[f"{hand}.ee_position"][near],
        *corners,
    ]
    return choose_close_up(
        shown.world,
        shown.show,
        frames=near,
        points_world=np.concatenate(points),
        fingers={f"{cfg.robot.name}/{name}" for name in arm.cfg.gripper.finger_links},
        part=item.body.label(item.body.link_index(link)),
        aspect=TILE_PX[0] / TILE_PX[1],
    )


def _key_frames(moments: Sequence[PhaseMoment]) -> list[int]:
    """Returns the frames that the camera is chosen for."""
    found = [moment.frame for moment in moments if moment.phase in _KEY_PHASES or moment.failed]
    return found[:_MAX_KEY_FRAMES] or [moments[-1].frame]


def _draw_last_state(shown: RecordedWorld) -> Section:
    """Returns a picture of the whole scene as the episode ended, before an arm moved."""
    record, frame = shown.record, last_finite_frame(shown.record)
    shown.show(frame)
    times = record.arrays["time"]
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    picture = take_picture(shown.world, shown.episode.scene.view(), width=width, height=height)
    tile = Tile(picture, record.outcome, float(times[frame] - times[0]), "", Phase.idle, failed=not record.success)
    return Section("no arm moved", [tile])


def _make_section(shown: RecordedWorld, skill_round: SkillRound, view: LookAtCamera) -> Section:
    record = shown.record
    entry = record.skills[skill_round.skill]
    times = record.arrays["time"]
    openings, unit = _openings(shown, entry)
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    tiles = []
    for moment in skill_round.moments:
        shown.show(moment.frame)
        tiles.append(
            Tile(
                take_picture(shown.world, view, width=width, height=height),
                moment.label,
                float(times[moment.frame] - times[0]),
                _format_opening(float(openings[moment.frame]), unit),
                moment.phase,
                failed=moment.failed,
            )
        )
    called = part_words(shown.episode.scene.objects[entry["object"]].asset, entry["part"])
    arm = f", {entry['arm']} arm" if "arm" in entry else ""
    thing = "{object}" if entry["part"] is None else "{part} of the {object}"
    (words,) = fill_in([f"{entry['name']}{arm}: {thing}"], called)
    several = f", round {skill_round.number} of {skill_round.count}" if skill_round.count > 1 else ""
    grip = f", grip {entry['grip_force_n']:.0f} N" if "grip_force_n" in entry else ""
    return Section(f"{words}{several}{grip}", tiles)


def _opening_curves(shown: RecordedWorld, rounds: Sequence[SkillRound], end: int) -> Iterator[Curve]:
    """Yields the openings of the parts that were acted on, each once."""
    entries = [shown.record.skills[item.skill] for item in rounds]
    for entry in {(entry["object"], entry["part"]): entry for entry in entries}.values():
        openings, unit = _openings(shown, entry)
        most = _format_opening(float(np.max(openings[:end])), unit)
        words = part_words(shown.episode.scene.objects[entry["object"]].asset, entry["part"])
        what = f"height of the {words.object}" if entry["part"] is None else words.part
        yield Curve(f"{what}, up to {most}", openings[:end])


def _openings(shown: RecordedWorld, entry: Mapping[str, Any]) -> tuple[Array, str]:
    """Returns how far the part of a skill is open in every frame, (T+1,), and the unit."""
    body, openings = shown.episode.scene.objects[entry["object"]].body, part_openings(shown.record, entry)
    if entry["joint"] is None:
        return openings, "m"
    return openings, "m" if body.joint(entry["joint"]).prismatic else "rad"


def _format_opening(opening: float, unit: str) -> str:
    digits = 3 if unit == "m" else 2
    return f"{round(opening, digits) + 0.0:.{digits}f} {unit}"
