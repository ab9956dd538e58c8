"""Curves, pictures and clips of example episodes of every outcome."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from PIL import Image

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import RecordingError, UnlatchError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.simcore.sim.world import World
from unlatch.workflows.viewing.clips.page_clip import PageClip, count_clip_frames, take_clip
from unlatch.workflows.viewing.phase_moments import failure_notes, find_rounds, part_openings
from unlatch.workflows.viewing.phase_pictures import count_phase_pictures, take_phase_pictures
from unlatch.workflows.viewing.phase_sheet import OVERSAMPLED, TILE_PX
from unlatch.workflows.viewing.recorded_moments import last_finite_frame
from unlatch.workflows.viewing.report.reproduction import view_command
from unlatch.workflows.viewing.report.tally import Tally
from unlatch.workflows.viewing.scene_picture import add_laid_out_state, open_record, open_scene

Array = np.ndarray

SUCCESSES_IN_CURVES = 6
FAILURES_IN_CURVES = 2
"""Largest number of curves for each failure code."""
MOST_STRIPS = 24
"""Largest number of episodes with pictures on one page."""
_PICTURE_PX = (480, 375)
_JPEG_QUALITY = 78
_FINGER_FORCE = ".fingers.force_sustained_n"
"""Ending of the keys of the force that decides about `overload`."""


@dataclass(frozen=True)
class EpisodeCurves:
    """Curves of one episode over time."""

    number: int
    code: str | None
    """Failure code; None: it succeeded."""
    times_s: Array
    """(T+1,) since the episode began [s]."""
    openings: Array
    """(T+1,) from closed, towards open [rad or m]."""
    finger_n: Array
    """(T,) largest force that a finger bears for longer than 20 ms [N]."""
    finger_limit_n: float | None
    """Largest allowed one, of the hand that may bear least [N]; None: the record states none."""
    forbidden_n: Array
    """(T,) largest force where nothing may touch: arm on object, robot on its surroundings [N]."""

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for JSON."""
        return {
            "episode": self.number,
            "code": self.code,
            "time_s": self.times_s.round(4).tolist(),
            "opening": self.openings.round(5).tolist(),
            "finger_force_n": self.finger_n.round(3).tolist(),
            "finger_force_limit_n": self.finger_limit_n,
            "forbidden_n": self.forbidden_n.round(3).tolist(),
        }


@dataclass(frozen=True)
class StripPicture:
    """One picture of a strip."""

    jpeg_base64: str
    """The picture as text for a page."""
    label: str
    time_s: float | None
    """Since the episode began [s]; None: before it."""
    failed: bool = False
    """Whether it shows the moment of the failure."""


@dataclass(frozen=True)
class StripSection:
    """The pictures of one round of a skill, or those around a failure."""

    title: str
    """What the skill does, or the phase that failed and why."""
    failed: bool
    """Whether it shows the failure."""
    pictures: tuple[StripPicture, ...]


@dataclass(frozen=True)
class PictureStrip:
    """Pictures of one episode, and its clip."""

    data_set: str
    number: int
    code: str | None
    instruction: str
    message: str
    """Message of the failure; empty for a success, and if a section has it as its title."""
    forces: str
    """Grip force and largest force on a finger in words; empty if the record does not state them."""
    command: str
    """The command that writes the episode as a page to look at."""
    sections: tuple[StripSection, ...]
    clip: PageClip | None
    """None: a page has a limited number of clips, or no arm moved."""

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for JSON, without pictures."""
        named = {"data_set": self.data_set, "episode": self.number, "code": self.code, "command": self.command}
        return {**named, "clip_frames": self.clip.frames if self.clip else 0}


def choose_strips(tallies: Sequence[Tally], *, pictures: int) -> list[tuple[Tally, int]]:
    """Returns the episodes to draw, `pictures` of each outcome of each data set, at most `MOST_STRIPS`.

    They come from all data sets in turn: of one or two, the successes first; of a sweep, the failures.
    """
    queues = []
    for item in tallies:
        numbers = choose_examples(item, successes=pictures, failures=pictures)
        good = [number for number in numbers if number in item.examples.get(None, [])]
        bad = [number for number in numbers if number not in good]
        queues.append([(item, number) for number in ([*bad, *good] if len(tallies) > 2 else [*good, *bad])])
    return [pair for row in zip_longest(*queues) for pair in row if pair is not None][:MOST_STRIPS]


def choose_examples(tally: Tally, *, successes: int, failures: int) -> list[int]:
    """Returns the first successes, then the first failures of each code, the most frequent code first."""
    codes = [code for code, _ in tally.total.codes.most_common()]
    numbers = tally.examples.get(None, [])[:successes]
    return [*numbers, *(number for code in codes for number in tally.examples[code][:failures])]


def read_curves(tally: Tally) -> list[EpisodeCurves]:
    """Reads the curves of a few examples; attempts that never moved have none.

    Raises:
        RecordingError: An episode cannot be read.
    """
    numbers = choose_examples(tally, successes=SUCCESSES_IN_CURVES, failures=FAILURES_IN_CURVES)
    found = []
    for number in numbers:
        with suppress(RecordingError):  # a damaged episode has no curve; the strips report it
            found.append(_read_episode(tally.data_set.read(number)))
    return [item for item in found if item is not None]


def _read_episode(record: EpisodeRecord) -> EpisodeCurves | None:
    entry = next(
        (skill for skill in record.skills if skill.get("object") and skill.get("frame_start") is not None), None
    )
    if entry is None or record.n_actions == 0:
        return None
    end = last_finite_frame(record) + 1
    times = record.arrays["time"][:end]
    finger = _largest_force(record, (_FINGER_FORCE,), end - 1)
    forbidden = _largest_force(record, (".forbid_collision.force_max_n", ".environment.force_max_n"), end - 1)
    openings = part_openings(record, entry)[:end]
    return EpisodeCurves(
        record.number, record.code, times - times[0], openings, finger, _find_finger_limit(record), forbidden
    )


def _find_finger_limit(record: EpisodeRecord) -> float | None:
    return min((float(s["finger_force_limit_n"]) for s in record.skills if "finger_force_limit_n" in s), default=None)


def describe_forces(record: EpisodeRecord) -> str:
    """Returns how hard hands grip, fingertips press, and the largest force on a finger; empty: the record has none."""
    gripping = [skill for skill in record.skills if "press_force_n" not in skill]
    words = [
        f"{name} " + " and ".join(f"{force} N" for force in forces)
        for name, key, skills in (
            ("grip force", "grip_force_n", gripping),
            ("force of the fingertips on a dragged part", "press_force_n", record.skills),
        )
        if (forces := sorted({round(float(skill[key])) for skill in skills if key in skill}))
    ]
    limit_n = _find_finger_limit(record)
    stated = record.code == "overload"  # in the message of the failure
    if limit_n is not None and not stated and any(key.endswith(_FINGER_FORCE) for key in record.arrays):
        most_n = float(np.max(_largest_force(record, (_FINGER_FORCE,), last_finite_frame(record)), initial=0.0))
        words.append(f"largest force on a finger for longer than 20 ms: {most_n:.0f} N (allowed {limit_n:.0f} N)")
    return "; ".join(words)


def _largest_force(record: EpisodeRecord, endings: tuple[str, ...], rows: int) -> Array:
    found = [array[:rows] for key, array in record.arrays.items() if key.endswith(endings)]
    return np.max(found, axis=0) if found else np.zeros(rows)


def count_strip_pictures(tally: Tally, number: int, *, with_clip: bool) -> int:
    """Returns how many pictures are taken for the strip of an episode; 0 if it cannot be read."""
    try:
        record = tally.data_set.read(number)
    except RecordingError:
        return 0
    rounds = find_rounds(record) if record.arrays else []
    return count_phase_pictures(rounds) + (count_clip_frames(record) if with_clip and rounds else 0)


def take_strips(
    tally: Tally,
    cfg: EpisodeCfg,
    numbers: Iterable[int],
    *,
    with_clip: Collection[int],
    on_picture: Callable[[], None] = lambda: None,
) -> Iterator[PictureStrip | str]:
    """Yields a strip for each episode, or a line with the reason why there is none; some episodes have a clip.

    `on_picture` is called after each picture.
    """
    for number in numbers:
        try:
            record = add_laid_out_state(cfg, tally.data_set.read(number))
            sections, clip = _take_sections(cfg, record, with_clip=number in with_clip, on_picture=on_picture)
        except UnlatchError as exc:  # damaged, or with an object that is not on this machine
            yield f"no pictures of episode {number} of {tally.name}: {exc.message}"
            continue
        is_told = any(section.failed for section in sections)
        yield PictureStrip(
            tally.name,
            number,
            record.code,
            record.instruction,
            "" if is_told and record.code != "error" else " ".join(failure_notes(record)),
            describe_forces(record),
            view_command(tally.data_set, number),
            sections,
            clip,
        )


def _take_sections(
    cfg: EpisodeCfg, record: EpisodeRecord, *, with_clip: bool, on_picture: Callable[[], None]
) -> tuple[tuple[StripSection, ...], PageClip | None]:
    if not record.arrays:
        with open_scene(cfg, record.number) as scene:
            return _single_picture(scene.world, scene.view, "the layout", None, on_picture), None
    rounds = find_rounds(record)
    with open_record(cfg, record) as shown:
        if not rounds:
            shown.show(0)
            return _single_picture(shown.world, shown.episode.scene.view(), "the start", 0.0, on_picture), None
        sheet = take_phase_pictures(shown, rounds, smooth=True, on_picture=on_picture)
        clip = take_clip(shown, on_picture=on_picture) if with_clip else None
    sections = tuple(
        StripSection(
            section.title,
            section.failed,
            tuple(
                StripPicture(_encode_jpeg(tile.picture), f"{tile.label}, {tile.opening}", tile.time_s, tile.failed)
                for tile in section.tiles
            ),
        )
        for section in sheet.sections
    )
    return sections, clip


def _single_picture(
    world: World, view: LookAtCamera, label: str, time_s: float | None, on_picture: Callable[[], None]
) -> tuple[StripSection, ...]:
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    picture = _encode_jpeg(take_picture(world, view, width=width, height=height))
    on_picture()
    return (StripSection("no arm moved", False, (StripPicture(picture, label, time_s),)),)


def _encode_jpeg(picture: Array) -> str:
    """Returns a picture as a JPEG file in base64."""
    image = Image.fromarray(picture).resize(_PICTURE_PX, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=_JPEG_QUALITY, optimize=True)
    return b64encode(buffer.getvalue()).decode()
