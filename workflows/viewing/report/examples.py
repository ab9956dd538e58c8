"""Examples of every outcome: how the part moved and what pressed on it, and pictures of what happened."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from PIL import Image

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import RecordingError, SimCoreError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.visuals.pictures import take_picture
from unlatch.workflows.viewing.phase_moments import last_finite_frame, turns_of
from unlatch.workflows.viewing.phase_pictures import photograph
from unlatch.workflows.viewing.phase_sheet import OVERSAMPLED, TILE_PX, Tile
from unlatch.workflows.viewing.report.tally import Tally
from unlatch.workflows.viewing.scene_picture import open_record, open_scene

Array = np.ndarray

SUCCESSES_IN_CURVES = 6
FAILURES_IN_CURVES = 2
"""Curves of each failure code, at most."""
_PICTURE_PX = (320, 250)
_JPEG_QUALITY = 78


@dataclass(frozen=True)
class Series:
    """What was measured in one episode."""

    number: int
    code: str | None
    """Why it failed; None: it did not."""
    times_s: Array
    """(T+1,) since the episode began [s]."""
    openings: Array
    """(T+1,) from closed, towards open [rad or m]."""
    held_n: Array
    """(T,) largest force of the fingers on the moving part [N]."""
    forbidden_n: Array
    """(T,) largest force where nothing may touch: arm on object, robot on its surroundings [N]."""


@dataclass(frozen=True)
class Moment:
    """One picture of a strip."""

    jpeg: bytes
    label: str
    time_s: float | None
    """Since the episode began [s]; None: before it."""
    failed: bool = False
    """Whether it is the moment of the failure."""


@dataclass(frozen=True)
class Strip:
    """What happened in one episode, in pictures."""

    data_set: str
    number: int
    code: str | None
    words: str
    """The instruction, as this episode's draw had it."""
    message: str
    """What is said of the failure; empty for a success."""
    moments: tuple[Moment, ...]


def chosen(tally: Tally, *, successes: int, failures: int) -> list[int]:
    """Numbers of the first episodes of each outcome, successes first, then the most frequent codes.

    Args:
        tally: The counts.
        successes: How many of the successes, at most.
        failures: How many of each failure code, at most.
    """
    codes = [code for code, _ in tally.total.codes.most_common()]
    numbers = tally.examples.get(None, [])[:successes]
    return [*numbers, *(number for code in codes for number in tally.examples[code][:failures])]


def series_of(tally: Tally) -> list[Series]:
    """The curves of a few examples; attempts that never moved have none.

    Raises:
        RecordingError: An episode cannot be read.
    """
    numbers = chosen(tally, successes=SUCCESSES_IN_CURVES, failures=FAILURES_IN_CURVES)
    found = []
    for number in numbers:
        with suppress(RecordingError):  # a damaged one has no curve; the strips say so
            found.append(_series(tally.data_set.read(number)))
    return [item for item in found if item is not None]


def _series(record: EpisodeRecord) -> Series | None:
    entry = next(
        (skill for skill in record.skills if skill.get("object") and skill.get("frame_start") is not None), None
    )
    if entry is None or record.n_actions == 0:
        return None
    end = last_finite_frame(record) + 1
    positions = record.arrays[f"objects.{entry['object']}.joint_positions"][:end, entry["joint_index"]]
    sign = 1.0 if entry["s_open"] >= entry["s_closed"] else -1.0
    times = record.arrays["time"][:end]
    held = _largest(record, (".fingers_link.force_max_n",), end - 1)
    forbidden = _largest(record, (".forbid_collision.force_max_n", ".environment.force_max_n"), end - 1)
    return Series(record.number, record.code, times - times[0], sign * (positions - entry["s_closed"]), held, forbidden)


def _largest(record: EpisodeRecord, endings: tuple[str, ...], rows: int) -> Array:
    found = [array[:rows] for key, array in record.arrays.items() if key.endswith(endings)]
    return np.max(found, axis=0) if found else np.zeros(rows)


def strips_of(tally: Tally, cfg: EpisodeCfg, numbers: Iterable[int]) -> Iterator[Strip | str]:
    """A strip of each episode, or in words why there is none.

    Args:
        tally: The data set.
        cfg: Its configuration.
        numbers: The episodes.
    """
    for number in numbers:
        try:
            record = tally.data_set.read(number)
            moments = tuple(_moments(cfg, record))
        except (
            SimCoreError
        ) as exc:  # damaged, or with an object that is not on this machine, as of a set from elsewhere
            yield f"no pictures of episode {number} of {tally.name}: {exc.message}"
            continue
        words = record.language[0] if record.language else ""
        message = "" if record.success else str(record.evidence.get("message", ""))
        yield Strip(tally.name, number, record.code, words, message, moments)


def _moments(cfg: EpisodeCfg, record: EpisodeRecord) -> Iterator[Moment]:
    if not record.arrays:
        with open_scene(cfg, record.number) as scene:
            width, height = (OVERSAMPLED * side for side in TILE_PX)
            yield Moment(_jpeg(take_picture(scene.world, scene.view, width=width, height=height)), "the layout", None)
        return
    turns = turns_of(record)
    with open_record(cfg, record) as shown:
        if not turns:
            shown.show(0)
            width, height = (OVERSAMPLED * side for side in TILE_PX)
            view = shown.episode.scene.view()
            yield Moment(_jpeg(take_picture(shown.world, view, width=width, height=height)), "the start", 0.0)
            return
        tiles: Sequence[Tile] = [tile for section in photograph(shown, turns).sections for tile in section.tiles]
    for tile in tiles:
        yield Moment(_jpeg(tile.picture), f"{tile.label}, {tile.opening}", tile.time_s, failed=tile.failed)


def _jpeg(picture: Array) -> bytes:
    image = Image.fromarray(picture).resize(_PICTURE_PX, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=_JPEG_QUALITY, optimize=True)
    return buffer.getvalue()
