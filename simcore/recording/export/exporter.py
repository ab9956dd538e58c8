"""The interface of exporters, and the run of an export: it writes the missing episodes and puts the target into place.

To add one: a file here with a class derived from `Exporter`, a line in `simcore/catalogs.py` (or an entry point of the
group `unlatch.exporters` in your own distribution), and a test. Methods are called in this order: the constructor,
`taken` if the target exists, `write` once.
"""

from __future__ import annotations

import json
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from filelock import FileLock, Timeout

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.files import report_unwritable, sync_path, unwritable_error
from unlatch.simcore.recording.episode_folders import absolute_folder, missing_folders
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.trajectory import ExportSource, Trajectory
from unlatch.simcore.recording.json_values import plain


class Exporter(ABC):
    """Base class of exporters, one per format."""

    cfg_type: ClassVar[type[ExportCfg]] = ExportCfg
    """Dataclass of its options; the fields are keys of `unlatch export`."""
    suffix: ClassVar[str] = ""
    """Suffix of the file that it writes; empty if it writes a folder."""

    def __init__(self, source: ExportSource, cfg: Any) -> None:
        """Stores the episodes and options; writes nothing yet.

        Args:
            source: The episodes.
            cfg: A `cfg_type`.

        Raises:
            UnlatchError: The options do not fit these episodes, or an extra is missing.
        """
        self.source = source
        self.cfg = cfg

    def taken(self, target: Path) -> set[int] | None:
        """Returns the episodes of this data set that an existing target has; None if the target cannot be extended.

        Args:
            target: The existing target.

        Raises:
            UnlatchError: The target has this format but other columns or conventions.
        """
        return None

    def has_others(self, target: Path) -> bool:
        """Returns whether an existing export has episodes of other data sets, which replacing it would lose."""
        return False

    def is_export(self, target: Path) -> bool:
        """Returns whether an existing target has this format, so that it may be replaced."""
        return bool(self.suffix) and target.is_file()

    @abstractmethod
    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """Writes all trajectories.

        Args:
            draft: A new empty folder, or the path of a file that does not exist yet.
            trajectories: The episodes; each is read when the iterator reaches it.
            parts: A folder that survives a killed run; finished files in it need not be made again.
            base: The target to extend, which the draft replaces afterwards; None for a new export.

        Raises:
            UnlatchError: An episode cannot be written.
        """


_KEY_FILE = "export.json"


class Draft:
    """The temporary folder of one command, `.<name>.export` beside the target; a context manager.

    It contains the draft of the target, and `parts/`, which survives a killed process and is reused by an export with
    the same key. Only one process at a time can use it.
    """

    def __init__(self, target: Path, *, key: str, is_file: bool) -> None:
        """Creates or reopens the folder and locks it; parts with another `key` are removed.

        Raises:
            RecordingError: It cannot be written, or another process uses it.
        """
        self._target = target
        self._root = target.with_name(f".{target.name}.export")
        self._old = self._root / "old"
        self._made = missing_folders(target.parent)
        self._lock = FileLock(self._root / "lock", timeout=0.5)  # longer than an export takes to remove its folder
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._restore()
            _remove(self.path)
            key_file = self._root / _KEY_FILE
            if not key_file.is_file() or key_file.read_bytes() != key.encode():
                _remove(self.parts)
                key_file.write_text(key, encoding="utf-8")
            self.parts.mkdir(exist_ok=True)
            if not is_file:
                self.path.mkdir()
        except Timeout as exc:
            raise RecordingError(
                f"Another command is writing '{target}'. Expected one at a time. Wait for it, or choose another out=.",
                path=str(target),
            ) from exc
        except OSError as exc:
            self._lock.release()
            raise unwritable_error(target.parent, exc) from exc

    @property
    def path(self) -> Path:
        """The draft of the target."""
        return self._root / "draft"

    @property
    def parts(self) -> Path:
        """Folder that survives a killed process."""
        return self._root / "parts"

    def commit(self) -> None:
        """Replaces the target with the draft.

        Raises:
            RecordingError: It cannot be replaced.
        """
        with report_unwritable(self._target.parent):
            for file in [self.path] if self.path.is_file() else filter(Path.is_file, self.path.rglob("*")):
                sync_path(file)
            if self._target.exists():
                self._target.rename(self._old)
            self.path.rename(self._target)
            sync_path(self._target.parent)
            _remove(self._old)
            _remove(self.parts)

    def _restore(self) -> None:
        """Undoes a replacement that was interrupted between its two renames."""
        if self._old.exists():
            if self._target.exists():
                _remove(self._old)
            else:
                self._old.rename(self._target)

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _remove(self.path)
        with suppress(OSError):
            self._restore()
        # after Ctrl-C the parts are kept for the next call, as after a kill; after an error or success they are removed
        if not self._old.exists() and (kind is None or not issubclass(kind, KeyboardInterrupt)):
            with suppress(OSError):
                shutil.rmtree(self._root)
                for folder in self._made:  # removes created parent folders up to the first that is not empty
                    folder.rmdir()
        self._lock.release()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


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
    data_set = exporter.source.data_set.path.resolve()
    if target.resolve() in (data_set, *data_set.parents):
        raise RecordingError(
            f"out='{target}' is the data set or contains it. Expected another target. Choose another out=.",
            path=str(target),
        )
    name = f"{type(exporter).__module__}.{type(exporter).__qualname__}"
    made_of = {"exporter": name, "source": exporter.source.identity, "cfg": plain(exporter.cfg)}
    with Draft(target, key=json.dumps(made_of, sort_keys=True), is_file=is_file) as draft:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            if not exporter.cfg.force:
                base = target
                there = _exported_numbers(exporter, target, append=exporter.cfg.append)
            elif not exporter.is_export(target):
                raise RecordingError(
                    f"'{target}' is no export of this format. Expected one, which force=true replaces. Choose another "
                    "out=.",
                    path=str(target),
                )
            elif exporter.has_others(target):
                raise RecordingError(
                    f"'{target}' has episodes of other data sets, which force=true would remove. Expected those of "
                    f"'{data_set}' alone. Choose another out=, or remove it first.",
                    path=str(target),
                )
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
        replaced = ", or force=true to replace it" if exporter.is_export(target) else ""
        raise RecordingError(
            f"'{target}' exists already. Expected a new target: this format cannot be extended. Choose another "
            f"out={replaced}.",
            path=str(target),
        )
    if not there and not append:
        raise RecordingError(
            f"'{target}' exists already and has episodes of other data sets. Expected a new target, or append=true "
            "to add to it.",
            path=str(target),
        )
    return there


_HUB_NAME = re.compile(r"[^/\s]+/[^/\s]+")


_HUB_LICENSE = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass
class HubCfg:
    """Which data set of the Hub an export is uploaded to, and how."""

    push: str | None = None
    """Name of the data set on the Hub, `user/name`; null: nothing is uploaded."""
    private: bool = False
    """Whether a new data set on the Hub is private."""
    license: str | None = None
    """Licence on the data set's page, as the Hub spells it; null: `apache-2.0` if Unlatch generated all objects, else
    `unknown`."""
    clip: bool = True
    """Whether the data set's page shows a clip of the first episode."""

    def __post_init__(self) -> None:
        if self.push is None:
            for key, given in (("private", self.private), ("license", self.license), ("clip", not self.clip)):
                if given:
                    raise ConfigError(
                        f"{key} has no effect: push=null. Name the data set on the Hub, such as push=USER/NAME, or "
                        f"remove {key}.",
                        key=key,
                    )
        elif not _HUB_NAME.fullmatch(self.push):
            raise ConfigError(
                f"push='{self.push}' is not the name of a data set on the Hub. Expected USER/NAME, such as "
                "push=ann/microwaves. Change it.",
                key="push",
            )
        if self.license is not None and not _HUB_LICENSE.fullmatch(self.license):
            raise ConfigError(
                f"license='{self.license}' is not the name of a licence. Expected a name of "
                "https://huggingface.co/docs/hub/repositories-licenses, such as cc-by-4.0. Change it.",
                key="license",
            )
