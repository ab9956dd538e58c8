"""Replays recorded episodes and measures how far the replay deviates from the record."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from loky import cpu_count

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import RecordingError, unknown_name
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import Criteria
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.episode.criteria import Actor, PolicyRules
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.layout_search_report import LayoutSearchReport
from unlatch.workflows.episode.skill_run import SkillRun
from unlatch.workflows.runs.executors import EXECUTORS, EpisodeMaker, Outcome
from unlatch.workflows.runs.recorded_config import config_of_record
from unlatch.workflows.runs.runner import EpisodeRunner

Array = np.ndarray

_MEASURED = (".joint_efforts",)
"""Endings of state keys that cannot be written into a world: what the motors did in the last physics step."""
_SENSORS = "sensors."
"""Beginning of state keys that cannot be written either: a sensor may depend on more than one state."""


class ReplayMode(Enum):
    """How a record is replayed."""

    action = "action"
    """A fresh world is driven with the recorded reset values, actions and hold events."""
    state = "state"
    """Every recorded state is written back into the world and read again."""


@dataclass(frozen=True)
class Deviation:
    """The largest difference between two sets of arrays."""

    value: float = 0.0
    """In the unit of the array; infinite if shapes or keys differ."""
    key: str = ""
    """The array."""
    frame: int = 0
    """The first row in which it is that large."""
    arrays: int = 0
    """Number of arrays that were compared."""
    first_frame: int = 0
    """The first row in which it differs."""
    recorded: float = 0.0
    """The recorded value there that differs most."""
    replayed: float = 0.0
    """The value of the replay in its place."""

    def __str__(self) -> str:
        if self.value == 0.0:
            return f"largest deviation 0 in {self.arrays} arrays"
        return f"largest deviation {self.value:.3g} in '{self.key}', frame {self.frame}"


@dataclass(frozen=True)
class ReplayOutcome(Outcome):
    """The result of one replay; `success` if it is exact."""

    deviation: Deviation = Deviation()
    """How far the replay deviates from the record."""
    problems: tuple[str, ...] = ()
    """What else is wrong with the episode."""
    frames: int = 0
    """Number of actions replayed."""


def replay(
    record: EpisodeRecord, cfg: EpisodeCfg | None = None, *, mode: ReplayMode | str = ReplayMode.action
) -> ReplayOutcome:
    """Replays a recorded episode and compares every array with the record.

    Args:
        record: The record, with its arrays.
        cfg: Configuration of the episode; None: that of the data set that the record was read from.
        mode: `action`: a fresh world is driven with the recorded actions; `state`: every recorded state is written into
            the world and read again.

    Returns:
        The largest deviation: 0 on the machine and with the versions that made the record.

    Raises:
        ConfigError: The mode is unknown, or the configuration of the record is not known.
        RecordingError: The record does not fit the present objects or the present robot.

    Example:
        >>> unlatch.replay(data[3]).deviation.value
        0.0
    """
    if cfg is None:
        cfg = config_of_record(record)
    try:
        mode = ReplayMode(mode)
    except ValueError as exc:
        known = [known.value for known in ReplayMode]
        raise unknown_name(str(mode), "a mode of replay", where="mode", known=known) from exc
    with EpisodeRunner(cfg) as runner:
        return replay_outcome(runner, record, mode)


def run_replays(job: ReplayJob, workers: int | None) -> Generator[ReplayOutcome]:
    """Replays every episode of a job's data set in processes; None: one for each CPU core."""
    numbers = job.data_set.numbers()
    n = min(workers or cpu_count(), len(numbers))
    yield from EXECUTORS.load("process" if n > 1 else "serial")(workers=n).run(job, numbers)


@dataclass(frozen=True)
class ReplayJob:
    """Replays episodes of one data set; see `Job`."""

    cfg: EpisodeCfg
    data_set: DataSet
    mode: ReplayMode
    check: bool
    """Whether files and verdicts are verified too."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        derive = CriteriaSource.of(self.data_set).derive if self.check else None
        with EpisodeRunner(self.cfg) as runner:

            def replay_episode(number: int) -> Outcome:
                try:
                    return replay_outcome(runner, self.data_set.read(number), self.mode, derive=derive)
                except RecordingError as exc:
                    return ReplayOutcome(number, False, "damaged", problems=(exc.message,))

            yield replay_episode

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        del code
        return ReplayOutcome(number, False, "lost", problems=(f"its replay was lost: {reason}",))


def replay_outcome(
    runner: EpisodeRunner,
    record: EpisodeRecord,
    mode: ReplayMode,
    *,
    derive: Callable[[EpisodeRecord], Criteria] | None = None,
) -> ReplayOutcome:
    """Replays a record and compares it; with `derive`, verifies its content and its verdict too (`check_record`).

    Raises:
        RecordingError: The record does not fit the present objects or the present robot.
    """
    problems = () if derive is None else tuple(check_record(record, derive))
    deviation = replay_deviation(runner, record, mode)
    code = "damaged" if problems else "deviates" if deviation.value else None
    return ReplayOutcome(
        record.number, code is None, code, deviation=deviation, problems=problems, frames=record.n_actions
    )


def replay_deviation(runner: EpisodeRunner, record: EpisodeRecord, mode: ReplayMode) -> Deviation:
    """Replays a record and returns the largest deviation; a record without arrays has none.

    Raises:
        RecordingError: The record does not fit the present objects or the present robot.
    """
    if not record.arrays:
        return Deviation()
    if mode is ReplayMode.action:
        return largest_deviation(replay_record(runner, record), record.arrays)
    read = write_states(runner, record)
    writable = {key: array for key, array in read.items() if not (key.endswith(_MEASURED) or key.startswith(_SENSORS))}
    return largest_deviation(writable, record.arrays)


PLANNER_KEYS = ("skills.", "validity.", "labels.")
"""Beginnings of the record keys that a planner and the judge write, not the world."""


def _repeat(runner: EpisodeRunner, record: EpisodeRecord, policy: PolicyRules | None = None) -> Episode:
    """Returns the episode of a record, which has not begun; `policy` says how it is judged."""
    return runner.episode(record.number, replace(runner.options, actor=Actor.record, policy=policy))


def replay_record(runner: EpisodeRunner, record: EpisodeRecord) -> dict[str, Array]:
    """Drives a fresh world with the recorded reset values, actions and hold events, and records it anew.

    Returns:
        The arrays of the replay by record key, except those that a planner writes.

    Raises:
        RecordingError: Its objects have changed since the recording, or its actions do not fit the robot.
    """
    episode = _repeat(runner, record)
    episode.reset(record)
    episode.frames.record_state()
    scene, stage = episode.scene, None
    for index in range(record.n_actions):
        for skill in record.skills:
            if skill["frame_start"] == index:
                alone = stage is None or skill.get("stage") != stage
                stage = skill.get("stage")
                arm = skill.get("arm", next(iter(scene.robot.arms)))
                scene.act_on(skill["object"], skill["part"], arm=arm, alone=alone, link=skill.get("link"))
        episode.frames.advance_action(scene.action_at(record.arrays, index))
        episode.frames.record_state()
    arrays = episode.frames.recorder.arrays()
    return {key: value for key, value in arrays.items() if not key.startswith(PLANNER_KEYS)}


def replay_judged(runner: EpisodeRunner, record: EpisodeRecord, policy: PolicyRules | None = None) -> Episode:
    """As `replay_record`, but layout and randomization are drawn again from the configuration, and a judge follows.

    The judge begins and ends each skill at the frames of the record, and sees the same contacts as at the time.

    Args:
        runner: Makes episodes of the configuration.
        record: The record.
        policy: How it was judged if a policy moved the arms; None: it is a demonstration.

    Returns:
        The episode in its last state, with its judge and its arrays.

    Raises:
        RecordingError: See `replay_record`.
    """
    episode = _repeat(runner, record, policy)
    episode.reset(record, redraws=True)
    episode.planner.layout_search = LayoutSearchReport.from_dict(record.layout.get("preplan"))
    episode.frames.record_state()
    runs: dict[int, SkillRun] = {}
    for index in range(record.n_actions + 1):  # a skill without a plan may begin at the last state
        for number, entry in enumerate(record.skills):
            if number in runs and runs[number].is_open and entry["frame_end"] == index:
                episode.judge.end_skill(runs[number], broken_off=entry.get("broken_off", False))
        for number, entry in enumerate(record.skills):
            if entry["frame_start"] == index:
                runs[number] = episode.begin_recorded_skill(entry.get("entry", number), entry)
        if index < record.n_actions:
            episode.frames.advance_action(episode.scene.action_at(record.arrays, index))
            episode.frames.record_state()
    return episode


def write_states(runner: EpisodeRunner, record: EpisodeRecord) -> dict[str, Array]:
    """Writes every recorded state into the world and reads the world again.

    Returns:
        Arrays of shape (T+1, ...) that were read, by record key.

    Raises:
        RecordingError: Its objects have changed since the recording.
    """
    episode = _repeat(runner, record)
    episode.reset(record)
    scene = episode.scene.state_tree
    rows: list[dict[str, Array]] = []
    for frame in range(record.n_actions + 1):
        scene.load_state_dict(record.state_at(frame))
        scene.write_replay_data()
        scene.update_state()
        rows.append(scene.state_dict(exclude_tags=NOT_RECORDED))
    return {key: np.stack([row[key] for row in rows]) for key in rows[0]}


def replay_actions(runner: EpisodeRunner, record: EpisodeRecord) -> tuple[float, dict[str, Array]]:
    """Drives a fresh world with recorded actions, with all sensors off; reads the state at the end.

    Returns:
        Wall time of the physics alone [s], and the state at the end by record key.
    """
    episode = _repeat(runner, record)
    episode.reset(record)
    scene = episode.scene
    actions = [scene.action_at(record.arrays, index) for index in range(record.n_actions)]
    start = time.perf_counter()
    for action in actions:
        scene.apply(action)
        scene.robot.simulate_frame(None if episode.randomization is None else episode.randomization.step)
    seconds = time.perf_counter() - start
    scene.state_tree.update_state()
    return seconds, scene.state_tree.state_dict(exclude_tags=NOT_RECORDED)


def largest_deviation(found: Mapping[str, Array], wanted: Mapping[str, Array]) -> Deviation:
    """Returns the largest difference of arrays by key; see `deviations`."""
    return max(deviations(found, wanted), key=lambda item: item.value, default=Deviation(arrays=len(found)))


def deviations(found: Mapping[str, Array], wanted: Mapping[str, Array]) -> list[Deviation]:
    """Returns one deviation for each array that differs, sorted by key.

    Where the record has single precision, the doubles of the replay are rounded to it first.

    Args:
        found: The arrays of the replay.
        wanted: The recorded arrays; keys that are not in `found` are left out.
    """
    differing = []
    for key, array in sorted(found.items()):
        other = wanted.get(key)
        if other is None or other.shape != array.shape:
            differing.append(Deviation(float("inf"), key, 0, len(found)))
            continue
        if other.dtype == np.float32:
            array = array.astype(np.float32)
        if array.tobytes() == other.tobytes() or not array.size:
            continue
        a: Array = array.astype(float).reshape(len(array), -1)
        b: Array = other.astype(float).reshape(len(array), -1)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        difference = np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))
        rows = difference.max(axis=1)
        if rows.max() > 0.0:
            row = int(np.flatnonzero(rows)[0])
            place = row, int(np.argmax(difference[row]))
            values = {"recorded": float(b[place]), "replayed": float(a[place])}
            differing.append(
                Deviation(float(rows.max()), key, int(np.argmax(rows)), len(found), first_frame=row, **values)
            )
    return differing
