"""`unlatch replay`: replays recorded episodes and measures the deviation."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from unlatch.simcore.errors import ConfigError, count_noun
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_paths
from unlatch.workflows.cli.console import FAILED, INTERRUPTED, OK, print_line, print_note
from unlatch.workflows.runs.progress import Progress
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.replay import ReplayMode, ReplayOutcome, replay_all, replay_outcome
from unlatch.workflows.runs.retries.code_versions import differing_versions
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import MAX_WORKERS

MAX_SHOWN = 20
"""Most deviating episodes that are named one by one."""


@dataclass
class ReplayCfg:
    """Options of `unlatch replay`."""

    episode: int | None = None
    """Episode number."""
    all: bool = False
    """Whether every episode is replayed."""
    mode: ReplayMode = ReplayMode.action
    """Whether the recorded actions are simulated again, or each recorded state is set."""
    check: bool = False
    """Whether files and verdicts are verified too, and a deviation is a failure."""
    workers: Annotated[int, Range(1, MAX_WORKERS)] | None = None
    """Processes for `all`; null: one for each CPU core."""

    def __post_init__(self) -> None:
        if (self.episode is None) != self.all:
            raise ConfigError(
                "replay expects either episode=N or all=true. Example: unlatch replay data/demo episode=3",
                key="episode",
            )
        check_ranges(self)


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("replay", arguments, count=1)
    cfg = read_pairs(ReplayCfg, pairs)
    data_set = DataSet.open(path)
    config_of(data_set)  # raises for a data set that cannot be replayed, before any note on versions
    for name, (then, now) in differing_versions(data_set).items():
        print_note(f"note: the data set was made with {name} {then}, here is {now}; replays may deviate")
    return _replay_all(data_set, cfg) if cfg.all else _replay_one(data_set, int(cfg.episode or 0), cfg)


def _replay_one(data_set: DataSet, number: int, cfg: ReplayCfg) -> int:
    record = data_set.read(number)
    with EpisodeRunner(config_of(data_set)) as runner:
        derive = CriteriaSource.of(data_set).derive if cfg.check else None
        outcome = replay_outcome(runner, record, cfg.mode, derive=derive)
    if not record.arrays:
        print_line(
            f"episode {number} ({record.outcome}): it ended before its first frame, so there is nothing to replay"
        )
        return OK
    frames = f"{cfg.mode.value} replay of {count_noun(outcome.frames, 'frame')}"
    print_line(f"episode {number} ({record.outcome}), {frames}: {outcome.deviation}")
    for problem in outcome.problems:
        print_line(f"episode {number}: {problem}")
    return FAILED if cfg.check and not outcome.success else OK


def _replay_all(data_set: DataSet, cfg: ReplayCfg) -> int:
    started = time.perf_counter()
    outcomes = replay_all(data_set, mode=cfg.mode, check=cfg.check, workers=cfg.workers)
    found: list[ReplayOutcome] = []
    with Progress(total=len(data_set), success_word="exact") as progress:
        try:
            for outcome in outcomes:
                progress.update(outcome)
                found.append(outcome)
        except KeyboardInterrupt:
            outcomes.close()
            print_note("unlatch: interrupted")
            return INTERRUPTED
    bad = sorted((item for item in found if not item.success), key=lambda item: item.number)
    for item in bad[:MAX_SHOWN]:
        for text in item.problems or (str(item.deviation),):
            print_line(f"episode {item.number}: {text}")
    if len(bad) > MAX_SHOWN:
        print_line(f"... and {len(bad) - MAX_SHOWN} more")
    largest = max((item.deviation for item in found), key=lambda deviation: deviation.value)
    frames = sum(item.frames for item in found)
    print_line(
        f"{count_noun(len(found), 'episode')}, {count_noun(frames, 'frame')}, {cfg.mode.value} replay in "
        f"{time.perf_counter() - started:.1f} s: "
        f"{len(found) - len(bad)} exact; {largest}"
    )
    return FAILED if cfg.check and bad else OK
