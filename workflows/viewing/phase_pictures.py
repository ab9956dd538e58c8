"""Takes the pictures of an episode's phases: every recorded state exactly, seen from where it shows most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.skills.contract.command import Phase
from unlatch.tasks.language import fill_in
from unlatch.tasks.part_words import part_words
from unlatch.workflows.viewing.close_up import Subject, close_up
from unlatch.workflows.viewing.phase_moments import Moment, Turn, last_finite_frame
from unlatch.workflows.viewing.phase_sheet import OVERSAMPLED, TILE_PX, Curve, PhaseSheet, Section, Tile
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray

_TELLING = (Phase.grasp, Phase.follow)
"""Phases that decide from where the camera looks."""
_TELLING_FRAMES = 4
_SURROUNDINGS_M = 0.18
"""So much of the part is in the picture, to all sides of the point that is acted on."""
_HELD_AT, _PUSHED_AT = "articulated_object_head", "link_contact_point"


def photograph(shown: RecordedWorld, turns: Sequence[Turn]) -> PhaseSheet:
    """Takes a picture of every moment.

    Args:
        shown: The recorded episode in a world of its own.
        turns: The moments.
    """
    record = shown.record
    end = last_finite_frame(record) + 1
    known = {phase.value: phase for phase in Phase}
    outcome = "success" if record.success else f"{record.code} at {record.evidence.get('time_s', 0.0):.1f} s"
    said = f': "{record.language[0]}"' if record.language else ""
    views = {skill: _view(shown, skill, turns) for skill in dict.fromkeys(turn.skill for turn in turns)}
    return PhaseSheet(
        title=f"{shown.episode.cfg.task.name}, episode {record.number}, {outcome}{said}",
        success=record.success,
        notes=[] if record.success else [str(record.evidence.get("message", ""))],
        sections=[_section(shown, turn, views[turn.skill]) for turn in turns],
        times_s=record.arrays["time"][:end] - record.arrays["time"][0],
        phases=[known.get(value, Phase.idle) for value in record.arrays["skills.phase"][:end].tolist()],
        curves=list(_curves(shown, turns, end)),
    )


def _view(shown: RecordedWorld, skill: int, turns: Sequence[Turn]) -> LookAtCamera:
    """One camera for all turns of a skill."""
    record, cfg, scene = shown.record, shown.episode.cfg, shown.episode.scene
    entry = record.skills[skill]
    arm = scene.robot.arm(entry.get("arm", cfg.skills[skill].arm))
    item = scene.objects[entry["object"]]
    link = item.asset.articulation.part(entry["part"]).link
    moments = [moment for turn in turns if turn.skill == skill for moment in turn.moments]
    near = _telling(moments)
    hand = f"robots.{cfg.robot.name}.{arm.name}"
    point = _HELD_AT if entry.get("finger_contact_required", True) else _PUSHED_AT
    acted_on = record.arrays[f"keypoints.{entry['object']}.{entry['part']}.{point}"][near]  # (K, 3)
    corners = []
    for frame, middle in zip(near, acted_on, strict=True):
        shown.show(frame)
        corners.append(np.clip(item.body.link_aabb(link), middle - _SURROUNDINGS_M, middle + _SURROUNDINGS_M))
    subject = Subject(
        frames=near,
        points_world=np.concatenate(
            [
                record.arrays[f"{hand}.tcp_position"][[moment.frame for moment in moments]],
                record.arrays[f"{hand}.ee_position"][near],
                *corners,
            ]
        ),
        fingers=frozenset(f"{cfg.robot.name}/{name}" for name in arm.cfg.gripper.finger_links),
        part=f"{item.body.name}/{link}",
    )
    return close_up(shown.world, shown.show, subject, aspect=TILE_PX[0] / TILE_PX[1])


def _telling(moments: Sequence[Moment]) -> list[int]:
    """Frames that decide from where the camera looks."""
    found = [moment.frame for moment in moments if moment.phase in _TELLING or moment.failed]
    return found[:_TELLING_FRAMES] or [moments[-1].frame]


def _section(shown: RecordedWorld, turn: Turn, view: LookAtCamera) -> Section:
    record = shown.record
    entry = record.skills[turn.skill]
    times = record.arrays["time"]
    openings, unit = _openings(shown, entry)
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    tiles = []
    for moment in turn.moments:
        shown.show(moment.frame)
        tiles.append(
            Tile(
                take_picture(shown.world, view, width=width, height=height),
                moment.label,
                float(times[moment.frame] - times[0]),
                _written(float(openings[moment.frame]), unit),
                moment.phase,
                failed=moment.failed,
            )
        )
    called = part_words(shown.episode.scene.objects[entry["object"]].asset, entry["part"])
    arm = f", {entry['arm']} arm" if "arm" in entry else ""
    (words,) = fill_in([f"{entry['name']}{arm}: {{part}} of the {{object}}"], called)
    return Section(words if turn.count == 1 else f"{words}, turn {turn.number} of {turn.count}", tiles)


def _curves(shown: RecordedWorld, turns: Sequence[Turn], end: int) -> Iterator[Curve]:
    """The openings of the parts that were acted on, each once."""
    entries = [shown.record.skills[turn.skill] for turn in turns]
    for entry in {(entry["object"], entry["part"]): entry for entry in entries}.values():
        openings, unit = _openings(shown, entry)
        most = _written(float(np.max(openings[:end])), unit)
        words = part_words(shown.episode.scene.objects[entry["object"]].asset, entry["part"])
        yield Curve(f"{words.part}, up to {most}", openings[:end])


def _openings(shown: RecordedWorld, entry: Mapping[str, Any]) -> tuple[Array, str]:
    """How far a skill's part is open in every frame, (T+1,), and the unit."""
    item = shown.episode.scene.objects[entry["object"]]
    positions = shown.record.arrays[f"objects.{entry['object']}.joint_positions"][:, entry["joint_index"]]
    sign = 1.0 if entry["s_open"] >= entry["s_closed"] else -1.0
    return sign * (positions - entry["s_closed"]), "m" if item.body.joint(entry["joint"]).prismatic else "rad"


def _written(opening: float, unit: str) -> str:
    digits = 3 if unit == "m" else 2
    return f"{round(opening, digits) + 0.0:.{digits}f} {unit}"
