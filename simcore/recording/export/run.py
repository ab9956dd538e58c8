"""Runs an export: writes the missing episodes and puts the target into place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import report_unwritable
from unlatch.simcore.recording.data_set.location import absolute_folder
from unlatch.simcore.recording.export.draft import Draft
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.recording.export.trajectory import Trajectory
from unlatch.simcore.recording.json_values import plain


@dataclass(frozen=True)
class ExportReport:
    """Result of an export."""

    target: Path
    """The folder or file that was written."""
    taken: int
    """Episodes that this call exported."""
    there: int
    """Episodes of this data set that the target had before."""
    left_out: int
    """Episodes that were not successful, or have no states."""
    frames: int
    """Frames that this call exported."""
    seconds: float
    """Recorded duration of these frames [s]."""
    url: str | None = None
    """Address on the Hugging Face Hub; None: it was not pushed."""


def run_export(
    exporter: Exporter, out: str | Path, *, on_episode: Callable[[int, int], None] | None = None
) -> ExportReport:
    """Exports the episodes that the target does not have yet; the target is written completely or not at all.

    Args:
        exporter: The exporter with its episodes.
        out: The target to create or extend.
        on_episode: Called with the number of episodes that have been read and the total number.

    Raises:
        UnlatchError: The target is something else, or an episode cannot be exported. The target is unchanged.
    """
    target, there, base = absolute_folder(out), set[int](), None
    is_file = bool(exporter.suffix)
    if is_file and target.suffix != exporter.suffix:
        raise RecordingError(f"out={out} does not end in {exporter.suffix}, the format that is written. Rename it.")
    _check_apart(target, exporter.source.data_set.path)
    with Draft(target, key=_parts_key(exporter), is_file=is_file) as draft:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            base = target
            there = _exported_numbers(exporter, target, append=exporter.cfg.append)
        numbers = [number for number in exporter.source.numbers if number not in there]
        frames = 0

        def count_trajectories() -> Iterator[Trajectory]:
            nonlocal frames
            read = set[int]()
            for trajectory in exporter.source.trajectories(numbers):
                frames += trajectory.n_actions
                yield trajectory
                read.add(trajectory.number)
                if on_episode is not None:
                    on_episode(len(read), len(numbers))

        if numbers:
            with report_unwritable(target.parent):
                exporter.write(draft.path, count_trajectories(), parts=draft.parts, base=base)
            draft.commit()
    return ExportReport(
        target=target,
        taken=len(numbers),
        there=len(exporter.source.numbers) - len(numbers),
        left_out=exporter.source.left_out,
        frames=frames,
        seconds=frames / exporter.source.layout.fps,
    )


def _exported_numbers(exporter: Exporter, target: Path, *, append: bool) -> set[int]:
    there = exporter.taken(target)
    if there is None:
        raise RecordingError(
            f"'{target}' exists already. Expected a new target: this format cannot be extended. Choose another out=.",
            path=str(target),
        )
    if not there and not append:
        raise RecordingError(
            f"'{target}' exists already and has episodes of other data sets. Expected a new target, or append=true "
            "to add to it.",
            path=str(target),
        )
    return there


def _check_apart(target: Path, data_set: Path) -> None:
    resolved = target.resolve()
    if resolved == data_set.resolve() or resolved in data_set.resolve().parents:
        raise RecordingError(
            f"out='{target}' is the data set or contains it. Expected another target. Choose another out=.",
            path=str(target),
        )


def _parts_key(exporter: Exporter) -> str:
    """Returns a text that changes when finished parts of an export cannot be reused."""
    name = f"{type(exporter).__module__}.{type(exporter).__qualname__}"
    values = {"exporter": name, "source": exporter.source.identity, "cfg": plain(exporter.cfg)}
    return json.dumps(values, sort_keys=True)
