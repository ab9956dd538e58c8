"""A data set on disk: one folder, into which many processes can write at once, and any of them can be killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.files import copy_files, report_unwritable, unwritable_error, write_durably
from unlatch.simcore.recording import episode, episode_folders, index
from unlatch.simcore.recording.json_values import plain, read_sealed
from unlatch.simcore.recording.state_file import encode_state
from unlatch.simcore.temporary_folders import clean_areas

EPISODES = "episodes"
"""Name of the folder of all shards."""
DATASET_FORMAT = "unlatch-dataset"
DAMAGED = "damaged"
"""Folder of damaged episodes that were moved aside."""


class DataSet(episode_folders.EpisodeFolders):
    """A folder of episodes: make it with `create_or_resume` or `open`, and use it as a context manager.

    Several processes may write into one data set at once, each with its own `worker` name. If two write the same
    episode, the first one stays, unless `replace_errors` or `replace_all` allowed that it is replaced. A
    `DataSet` may be sent to another process.
    """

    def __init__(self, path: Path, *, header: dict[str, Any], info: dict[str, Any], worker: str) -> None:
        """Use `create_or_resume` or `open`."""
        super().__init__(path, root=path / EPISODES)
        self.header = header
        """Values that must be equal for two runs to write into one data set."""
        self.info = info
        """Notes of the first run, such as its command and date; they may differ."""
        self.worker = worker
        """Name of this writer's index."""
        self.replaceable: frozenset[int] = frozenset()
        """Episodes that `write` and `copy_episode` replace; see `replace_errors` and `replace_all`."""
        self.replaces_outcomes = False
        """Whether they are replaced also if they did not end as `error`."""

    @classmethod
    def create_or_resume(
        cls,
        path: str | Path,
        *,
        header: Mapping[str, Any],
        info: Mapping[str, Any] | None = None,
        worker: str = "main",
    ) -> DataSet:
        """Makes a data set, or opens one that an earlier run made with the same header.

        Args:
            path: Its folder: new, empty, or a data set of ours.
            header: Values that must be equal on resume: configuration, versions, seed.
            info: Notes that are written once, when it is made: command, date, host.
            worker: Name of this writer's index: letters, digits, `_`, `.`, `-`.

        Raises:
            RecordingError: The folder is not ours, has another header, or cannot be written; nothing was written.
            FormatVersionError: It was written in a format that this version does not read.
        """
        folder = episode_folders.absolute_folder(path)
        wanted = plain(header, where="header")
        episode_folders.check_worker(worker)
        data_set = cls(folder, header=wanted, info=plain(info or {}, where="info"), worker=worker)
        if episode_folders.is_data_set(folder):
            episode_folders.check_same_header(_read_header(folder)["header"], wanted, folder)
        made = episode_folders.missing_folders(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            head = {"format": DATASET_FORMAT, "format_version": episode.FORMAT_VERSION}
            data_set.publish(episode_folders.DATASET_FILE, {**head, "header": wanted, "info": data_set.info})
            there = _read_header(folder)
            episode_folders.check_same_header(there["header"], wanted, folder)
        except OSError as exc:
            data_set.close()
            episode_folders.remove_folders(folder, made)
            raise unwritable_error(folder, exc) from exc
        except RecordingError:
            data_set.close()
            raise
        data_set.header, data_set.info = there["header"], there["info"]
        data_set.restore_replaced()
        clean_areas(folder / episode_folders.AREAS)
        return data_set

    @classmethod
    def open(cls, path: str | Path, *, worker: str = "main") -> DataSet:
        """Opens an existing data set, for reading or, as another worker of the same run, for writing.

        Raises:
            RecordingError: It does not exist, or is not ours.
            FormatVersionError: It was written in a format that this version does not read.
        """
        folder = episode_folders.absolute_folder(path)
        episode_folders.check_worker(worker)
        file = folder / episode_folders.DATASET_FILE
        if not (file.exists() or file.is_symlink()):
            below = [path.parent.name for path in sorted(folder.glob(f"*/{episode_folders.DATASET_FILE}"))]
            named = (
                f"It has data sets below it: {', '.join(below[:4])}. Name one of them." if below else "Check the path."
            )
            raise RecordingError(
                f"'{folder}' is not a data set: it has no {episode_folders.DATASET_FILE}. Expected a folder that "
                f"`unlatch collect` made. {named}",
                path=str(folder),
            )
        return cls(folder, **_read_header(folder), worker=worker)

    def damaged(self, numbers: Iterable[int]) -> dict[int, str]:
        """Returns those numbers whose episode exists and is damaged, each with what is wrong."""
        found = {}
        for number in numbers:
            folder = self.folder_of(number)
            if folder.is_dir():
                try:
                    from unlatch.simcore.recording.episode_reading import verify_episode

                    verify_episode(folder)
                except FormatVersionError:
                    raise
                except RecordingError as exc:
                    found[number] = exc.message
        return found

    def set_aside(self, number: int) -> Path:
        """Moves a damaged episode aside, so that it can be made again, and erases its line in the index.

        Returns:
            Its new folder.

        Raises:
            RecordingError: The data set cannot be written.
        """
        folder = self.folder_of(number)
        damaged = self.path / DAMAGED
        with report_unwritable(self.path):
            index.erase_lines(self.path, {number})
            damaged.mkdir(exist_ok=True)
            count = 0
            while (place := damaged / f"{folder.name}-{count}").exists():
                count += 1
            folder.rename(place)
        return place

    def replace_errors(self, numbers: Iterable[int]) -> None:
        """Lets `write` and `copy_episode` replace these episodes, as far as they ended as `error`.

        An old episode stays until the new one is complete. Its line in the index is erased now, so that it cannot
        contradict the new episode: until then, summaries come from its folder.

        Raises:
            RecordingError: The data set cannot be written.
        """
        self.replaceable = frozenset(numbers)
        with report_unwritable(self.path):
            index.erase_lines(self.path, self.replaceable)

    def replace_all(self, numbers: Iterable[int]) -> None:
        """As `replace_errors`, for episodes that ended in any way.

        Raises:
            RecordingError: The data set cannot be written.
        """
        self.replaces_outcomes = True
        self.replace_errors(numbers)

    def write(self, record: episode.EpisodeRecord) -> bool:
        """Writes an episode in one step; stores the time that this takes in `record.timings_ms["write"]`.

        Args:
            record: The attempt. The value of `timings_ms["write"]` in its file is the time of encoding only.

        Returns:
            Whether it was written; False if the episode existed already, which then stays as it is.

        Raises:
            RecordingError: A value cannot be stored, or the disk cannot be written.
        """
        started = time.perf_counter()
        state = encode_state(record.arrays)
        record.timings_ms["write"] = _ms_since(started)
        content = episode.encode_episode(record, state)
        if self._keeps(record.number):
            return False

        def write_files(draft: Path) -> None:
            write_durably(draft / episode.STATE_FILE, state)
            write_durably(draft / episode.EPISODE_FILE, content)

        try:
            written = self._write_or_replace(record.number, write_files)
        except OSError as exc:
            raise RecordingError(
                f"Episode {record.number} cannot be written into '{self.path}': {exc.strerror or exc}. Expected "
                "a folder that this user can write to. Free some space or change its permissions, and run the same "
                "command again.",
                path=str(self.path),
                number=record.number,
            ) from exc
        record.timings_ms["write"] = _ms_since(started)
        if written:
            summary = index.EpisodeSummary.of(record, state)
            record.state_sha256 = summary.state_sha256
            index.append_line(self.path, self.worker, summary)
        return written

    def _keeps(self, number: int) -> bool:
        """Whether an episode exists and must not be replaced, so that no other one needs to be prepared."""
        return number in self and not (number in self.replaceable and self._may_replace(self.folder_of(number)))

    def _may_replace(self, folder: Path) -> bool:
        """Whether an episode may be replaced: every one, or one that can be read and ended as `error`."""
        from unlatch.simcore.recording.episode_reading import read_episode

        try:
            return self.replaces_outcomes or read_episode(folder, arrays=False).code == "error"
        except RecordingError:
            return False

    def _write_or_replace(self, number: int, fill: Callable[[Path], None]) -> bool:
        if number in self.replaceable and number in self:
            return self.replace_folder(number, fill, may_replace=self._may_replace)
        return self.write_folder(number, fill)

    def copy_episode(self, source: Path, summary: index.EpisodeSummary, *, link: bool = False) -> bool:
        """Copies an episode of another data set, byte by byte, in one step.

        Args:
            source: Its folder.
            summary: Its summary.
            link: Whether its files are linked where the file system allows it; they then take no space again.

        Returns:
            Whether it was written; False if the episode existed already, which then stays as it is.

        Raises:
            RecordingError: The source cannot be read, or the disk cannot be written.
        """
        if self._keeps(summary.number):
            return False
        with report_unwritable(self.path):
            written = self._write_or_replace(
                summary.number,
                lambda draft: copy_files(source, draft, (episode.STATE_FILE, episode.EPISODE_FILE), link=link),
            )
        if written:
            index.append_line(self.path, self.worker, summary)
        return written

    def read(self, number: int, *, arrays: bool = True) -> episode.EpisodeRecord:
        """Reads and verifies an episode, without its arrays if `arrays` is false.

        Raises:
            RecordingError: It does not exist, is damaged or not ours.
            FormatVersionError: It was written in a format that this version does not read.
        """
        folder = self.folder_of(number)
        if not folder.is_dir():
            raise RecordingError(
                f"Episode {number} is not in '{self.path}'. It has {len(self)} episodes. Name one of them.",
                number=number,
                path=str(self.path),
            )
        from unlatch.simcore.recording.episode_reading import read_episode

        record = read_episode(folder, arrays=arrays)
        if record.number != number:
            raise RecordingError(
                f"Folder '{folder}' holds episode {record.number}, expected {number}. It was copied or renamed. "
                "Remove it.",
                path=str(folder),
                number=record.number,
            )
        self._check_robot(record, folder)
        record.data_set = self.path
        return record

    def _check_robot(self, record: episode.EpisodeRecord, folder: Path) -> None:
        """Refuses a record of another robot than that of the data set, which readers could not use.

        Raises:
            RecordingError: It is of another robot.
        """
        config = self.header.get("config")
        robot = config.get("robot") if isinstance(config, dict) else None
        expected = robot.get("name") if isinstance(robot, dict) else None
        found = {key.split(".")[1] for key in record.arrays if key.startswith("robots.")}
        if expected is not None and found - {expected}:
            raise RecordingError(
                f"The record is of robot {', '.join(sorted(found))}, the data set of robot {expected}. Remove "
                f"'{folder}': the command that made the data set makes the episode again.",
                path=str(folder),
                number=record.number,
            )

    def summaries(self) -> list[index.EpisodeSummary]:
        """Returns the summary of every episode, sorted by number.

        Raises:
            RecordingError: An episode without a line in the index cannot be read.
        """
        return sorted(self.each_summary(), key=lambda summary: summary.number)

    def each_summary(self, on_damaged: index.OnDamaged | None = None) -> Iterator[index.EpisodeSummary]:
        """Yields the summary of every episode, in any order; see `each_summary_of`."""
        return index.each_summary_of(self, self.read, on_damaged)

    def rebuild_index(self) -> int:
        """Rebuilds the index from the folders, and returns the number of episodes in it.

        Raises:
            RecordingError: An episode cannot be read, or the data set cannot be written.
        """
        numbers = self.numbers()
        summaries = (index.summary_from_folder(self, self.read(number)) for number in numbers)
        with report_unwritable(self.path):
            index.write_index(self.path, summaries, scratch=self.new_draft("index"))
        return len(numbers)

    def __getitem__(self, number: int) -> episode.EpisodeRecord:
        """Reads an episode; see `read`."""
        return self.read(number)

    def __iter__(self) -> Iterator[episode.EpisodeRecord]:
        """Reads the episodes one by one, by number."""
        return (self.read(number) for number in self.numbers())

    def __repr__(self) -> str:
        return f"DataSet({str(self.path)!r}, worker={self.worker!r})"


def open_dataset(path: str | Path) -> DataSet:
    """Opens a data set: `data[3]` reads an episode, iterating reads all of them, `len(data)` counts them.

    Args:
        path: Folder of the data set.

    Returns:
        The data set. `data.summaries()` has the values of every episode that reports need, without arrays.

    Raises:
        RecordingError: The folder is not a data set, or was written in another format.

    Example:
        >>> record = unlatch.open_dataset("data/demo")[3]
        >>> record.success, record.language[0]
        (True, 'open the microwave')
        >>> record.arrays["robots.franka_panda.left.joint_positions"].shape  # (T+1, 7) [rad]
        (128, 7)
    """
    return DataSet.open(path)


def _read_header(folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the `header` and the `info` of `dataset.json`.

    Raises:
        RecordingError: It is damaged or not ours.
        FormatVersionError: It was written in a format that this version does not read.
    """
    path = folder / episode_folders.DATASET_FILE
    content = read_sealed(path, expected=DATASET_FORMAT, versions=episode.READ_VERSIONS, limit=16 << 20)
    found: dict[str, Any] = {key: content.get(key) for key in ("header", "info")}
    if not all(isinstance(value, dict) for value in found.values()):
        raise RecordingError(
            f"File '{path}' has no 'header' or no 'info' map. It is damaged. Restore it from a copy.",
            path=str(path),
        )
    return found


def _ms_since(started: float) -> float:
    return round(1000.0 * (time.perf_counter() - started), 3)
