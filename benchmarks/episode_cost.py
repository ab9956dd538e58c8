"""Measures the CPU time of an episode by part, and compares it with the physics steps alone.

    python benchmarks/episode_cost.py                      # the four base tasks
    python benchmarks/episode_cost.py tasks=open_drawer episodes=12
    python benchmarks/episode_cost.py library=true         # opening every category that `unlatch list objects` has

The ratio is the CPU time of the whole episode, from its reset to its file, divided by that of Bullet's own steps within
it. Every episode is made twice in one process: with the time of the whole, and with the time of each part. The parts
are scaled to add up to the whole, because reading the clock takes time. Times within the physics loop come from the
loop itself.

All times are CPU times of this process, so that other programs affect them little.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

from unlatch.configs.group_files import option_names
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.sim.contacts import ContactMonitor
from unlatch.simcore.sim.core import Core
from unlatch.simcore.sim.scene import Scene
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine, run_guarded
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.frame_loop import FrameLoop
from unlatch.workflows.episode.judge import Judge
from unlatch.workflows.episode.scene import EpisodeScene
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

PARTS = ("physics", "motor targets", "contacts", "state", "judge", "record", "planning", "reset", "writing", "rest")
"""Parts of an episode, in the order of the table; `rest` is all that no other part contains, such as skills."""
_WHOLE = frozenset({"planning", "reset", "writing"})
"""Parts that include the physics, states and so on within them."""
_PLACES: tuple[tuple[str, Any, Sequence[str]], ...] = (
    ("core", Core, ("run",)),  # divided by `Core.times`
    ("motor targets", Robot, ("apply", "simulate_frame")),
    ("motor targets", EpisodeScene, ("apply",)),
    ("contacts", ContactMonitor, ("sample", "end_frame")),
    ("state", EpisodeScene, ("advance_frame",)),  # less the parts within it
    ("state", Scene, ("update_state",)),
    ("judge", Judge, ("observe",)),
    ("record", FrameLoop, ("record_state",)),
    ("record", EpisodeScene, ("action_values", "label_values", "interval_values")),
    ("record", Episode, ("record",)),
    ("planning", Attempt, ("_begin_skills",)),
    ("planning", Episode, ("_search_layout",)),
    ("reset", Episode, ("reset",)),
    ("writing", DataSet, ("write",)),
)
"""Functions of each part; the time of a function of another part within one counts for the other part."""
P = ParamSpec("P")
R = TypeVar("R")
Times = Mapping[str, float]
"""CPU times of one episode by part [s]."""


@dataclass
class EpisodeCostCfg:
    """The keys of the benchmark."""

    tasks: str = "open_microwave,close_microwave,open_drawer,close_drawer"
    """Shipped tasks, separated by commas."""
    episodes: int = 6
    """Episodes of each task or category, after one that is not counted."""
    seed: int = 0
    library: bool = False
    """Whether to open every category of the object library in place of the tasks."""


class PartTimer:
    """CPU time of each part; the innermost part that runs gets the time."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        """By part [s]."""
        self._running = ["rest"]
        self._since = time.process_time()

    def _note(self) -> None:
        now = time.process_time()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Measures while the block runs."""
        with _replaced([(owner, name, self._timed(part)) for part, owner, names in _PLACES for name in names]):
            self._since = time.process_time()
            yield
            self._note()

    def _timed(self, part: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
        def wrap(function: Callable[P, R]) -> Callable[P, R]:
            def timed(*args: P.args, **kwargs: P.kwargs) -> R:
                if self._running[-1] in _WHOLE and part not in _WHOLE:
                    return function(*args, **kwargs)
                self._note()
                self._running.append(part)
                try:
                    return function(*args, **kwargs)
                finally:
                    self._note()
                    self._running.pop()

            return timed

        return wrap


@contextmanager
def _replaced(places: Sequence[tuple[Any, str, Callable[[Any], Any]]]) -> Iterator[None]:
    """Replaces functions of classes by what a function makes of each, until the block ends."""
    with ExitStack() as stack:
        for owner, name, wrap in places:
            stack.enter_context(patch.object(owner, name, wrap(getattr(owner, name))))
        yield


def _load_cfg(words: Sequence[str], cfg: EpisodeCostCfg) -> CollectCfg:
    overrides = [*words, f"seed={cfg.seed}", f"episodes={cfg.episodes + 1}"]
    (job,) = load_configs("collect", CollectCfg, CommandLine(overrides=overrides))
    found: CollectCfg = job.cfg
    return found


def _measure(words: Sequence[str], cfg: EpisodeCostCfg) -> tuple[list[Times], int]:
    """Returns times by part and time of the bare loop of every episode [s], and the number of successes."""
    run, times, successes = _load_cfg(words, cfg), list[Times](), 0
    with (
        tempfile.TemporaryDirectory() as folder,
        DataSet.create_or_resume(Path(folder) / "set", header=header_of(run)) as data_set,
        DataSet.create_or_resume(Path(folder) / "again", header=header_of(run)) as again,
        EpisodeRunner(run) as runner,
    ):
        runner.warm_up()
        for number in run.numbers():
            start = time.process_time()
            data_set.write(runner.run(number))
            whole, timer = time.process_time() - start, PartTimer()
            core = runner.episode(number)._world.core
            core.measure_time()
            with timer.measure():
                record = runner.run(number)
                again.write(record)
            if "core" not in timer.seconds:
                continue  # refused: nothing was executed
            seconds = Counter(core.times)
            timer.seconds["rest"] += timer.seconds.pop("core") - seconds.total()
            seconds.update(timer.seconds)
            if number > 0:
                times.append({part: whole / seconds.total() * spent for part, spent in seconds.items()})
                successes += record.success
    return times, successes


def _print_row(label: str, times: Sequence[Times], successes: int) -> float:
    """Prints the mean times of a task; returns the ratio."""
    n = len(times)
    means = {part: 1e3 * sum(entry.get(part, 0.0) for entry in times) / n for part in PARTS}
    whole = sum(means.values())
    ratio = whole / means["physics"]
    columns = " ".join(f"{means[part]:>{max(7, len(part))}.1f}" for part in PARTS)
    print(f"{label:<22} {columns} {whole:>7.0f} {ratio:>6.2f} {successes:>4}/{n}", flush=True)
    return ratio


def main() -> int:
    """Prints CPU times by part [ms an episode] and the ratio of each task or category."""
    cfg = read_pairs(EpisodeCostCfg, sys.argv[1:])
    if cfg.library:
        rows = {name: [f"object={name}", "skill=open"] for name in option_names("object")}
    else:
        rows = {name: [f"task={name}"] for name in cfg.tasks.split(",")}
    titles = " ".join(f"{part:>7}" for part in PARTS)
    print(f"{'CPU ms an episode':<22} {titles} {'whole':>7} {'ratio':>6} success")
    ratios = []
    for name, words in rows.items():
        try:
            times, successes = _measure(words, cfg)
        except UnlatchError as exc:
            if not cfg.library:
                raise
            print(f"{name:<22} left out: {str(exc).splitlines()[0][:90]}", flush=True)
            continue
        if times:
            ratios.append(_print_row(name, times, successes))
        else:
            print(f"{name:<22} left out: no episode was executed", flush=True)
    print(f"median ratio of {len(ratios)}: {statistics.median(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
