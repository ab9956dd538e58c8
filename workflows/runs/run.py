"""One run: makes the missing episodes of one configuration in one data set, until enough have succeeded."""

from __future__ import annotations

import logging
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.library import describe_folder
from unlatch.simcore.errors import count_noun
from unlatch.simcore.files import report_unwritable, user_path
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.episode import EpisodeOptions
from unlatch.workflows.runs import code_versions
from unlatch.workflows.runs.code_versions import CodeVersions
from unlatch.workflows.runs.executors import Executor, Outcome, make_executor, never_ended
from unlatch.workflows.runs.progress import Interruption, OnProgress, Progress, RunClock, RunTime, forget_code
from unlatch.workflows.runs.runner import CollectJob, RecordingJob, writer_name
from unlatch.workflows.runs.schema import CollectCfg, Retry, RunCfg
from unlatch.workflows.runs.statistics import CorruptEpisodes, RunStatistics

if TYPE_CHECKING:
    from unlatch.workflows.runs.earlier_code import Retries


class StopCondition:
    """Counts attempts, and hands out episode numbers until the run ends."""

    def __init__(self, *, successes: int | None = None, give_up_after: int | None = None) -> None:
        """Starts with no attempts.

        Args:
            successes: The run ends after this number of successes; None: it makes all episodes.
            give_up_after: The run ends if this number of first attempts all failed; None: it goes on.
        """
        self.wanted = successes
        self.give_up_after = give_up_after
        self.attempts = 0
        self.successes = 0
        self.codes: Counter[str] = Counter()
        self.first_failure: int | None = None
        """The lowest number of a failed episode."""

    def count(self, episode: Outcome | EpisodeSummary) -> None:
        """Counts an attempt."""
        self.attempts += 1
        self.successes += episode.success
        if not episode.success:
            self.codes[episode.code or "error"] += 1
            first = self.first_failure
            self.first_failure = episode.number if first is None else min(first, episode.number)

    @property
    def has_enough(self) -> bool:
        """Whether as many have succeeded as were asked for."""
        return self.wanted is not None and self.successes >= self.wanted

    @property
    def is_hopeless(self) -> bool:
        """Whether all of the first attempts failed."""
        return self.give_up_after is not None and self.successes == 0 and self.attempts >= self.give_up_after

    @property
    def is_met(self) -> bool:
        """Whether the run ends."""
        return self.has_enough or self.is_hopeless

    def until(self, numbers: Iterable[int]) -> Iterator[int]:
        """Returns the numbers until the run ends; episodes that have begun are still made."""
        return takewhile(lambda _: not self.is_met, numbers)

    def hopeless_text(self) -> str:
        """Says in one line why the run was given up."""
        codes = ", ".join(f"{code} {count}" for code, count in self.codes.most_common())
        return (
            f"given up: the first {self.attempts} attempts all failed ({codes}). Look at one with `unlatch phases DATA "
            f"episode={self.first_failure}`, or go on with give_up_after=null."
        )


logger = logging.getLogger(__name__)

PICTURE = "preview.png"
"""Name of the picture in a data set."""


@dataclass(frozen=True)
class RunResult:
    """A run that ended: by itself, by a stop condition or by Ctrl-C."""

    data_set: DataSet
    numbers: list[int]
    """Numbers of the requested episodes; for a run that ends after `successes`, of the episodes that exist."""
    made: int
    """How many of them this run made."""
    seconds: float
    """Wall time of this run, with its checks, conversion of objects and start of workers, without its picture [s]."""
    times: RunTime | None
    """When its episodes were made; None if it made none."""
    stop: StopCondition
    """Attempts and successes, and whether the run was given up."""
    interrupted: bool
    """Whether Ctrl-C was pressed; no picture was drawn then."""

    def statistics(self, corrupt: CorruptEpisodes | None = None) -> RunStatistics:
        """Counts the episodes asked for; adds those that cannot be read to `corrupt`."""
        asked = set(self.numbers)
        summaries = self.data_set.each_summary((corrupt or CorruptEpisodes()).add)
        return RunStatistics.of(item for item in summaries if item.number in asked)


@dataclass(frozen=True)
class RunRequest:
    """What is to be made."""

    cfg: RunCfg
    make_job: Callable[[DataSet], RecordingJob]
    """Makes the job that is sent to the workers, from the data set."""
    policy: Any = None
    """The policy, if it is an object; None: that of the configuration, if there is one."""
    prefix: str = ""
    """Beginning of the default folder's name."""
    identity: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the header, beside the configuration of the episodes."""
    command: Sequence[str] = ()
    """The `unlatch` command that makes the run, for its report; empty: it is not known."""


@dataclass(frozen=True)
class RunDisplay:
    """How a run shows what it does, and how it is stopped."""

    progress: OnProgress = None
    """True: a live display on stderr; a function: called after each episode."""
    interruption: Interruption | None = None
    """Ends the run softly on the first Ctrl-C; None: Ctrl-C raises KeyboardInterrupt."""
    notify: Callable[[str], None] = logger.info
    """Called with one line for each damaged episode that is made again, one for all others that are made again, one for
    each folder that objects are drawn from, one if earlier episodes were made with other code, and one if files that
    show old episodes were removed."""
    on_bug: Callable[[Exception], None] | None = None
    """See `EpisodeOptions.on_bug`; of a serial run only."""


@dataclass
class _RunPlan:
    """Which episodes a run makes."""

    numbers: list[int]
    """The episodes that were asked for."""
    existing: set[int]
    """Those that earlier runs made."""
    missing: list[int]
    retries: Retries | None
    """Episodes of earlier runs that are made again; None: there are none to choose from."""
    stop: StopCondition
    """Has counted the episodes of earlier runs that stay."""
    replaces_set: bool = False
    """Whether every episode of the data set is made again."""

    @property
    def again(self) -> list[int]:
        """Numbers of the episodes that are made again."""
        return [] if self.retries is None else self.retries.numbers

    @property
    def to_make(self) -> list[int]:
        """The episodes that the run makes, in their order."""
        return sorted([*self.missing, *self.again])


def run_episodes(request: RunRequest, display: RunDisplay | None = None) -> RunResult:
    """Makes the missing episodes of a run, and those of earlier runs again that `cfg.retry` chooses.

    Raises:
        UnlatchError: The input is wrong.
        KeyboardInterrupt: Ctrl-C without `interruption`; finished episodes are kept.
    """
    started = time.perf_counter()
    cfg, display = request.cfg, display or RunDisplay()
    numbers = cfg.numbers()
    check_assets(cfg, number=numbers[0])
    executor = make_executor(cfg.executor.name, workers=cfg.workers, limits=cfg.executor)
    header = {**code_versions.header_of(cfg), **request.identity}
    policy = getattr(cfg, "policy", None) if request.policy is None else request.policy
    if policy is not None:
        from unlatch.workflows.policies import catalog  # only here: most runs have no policy

        asked: Any = cfg  # a run with a policy has these keys
        catalog.check_server_keys(policy, asked.action, asked.observation)
        catalog.check_one_worker(policy, 1 if cfg.executor.name == "serial" else cfg.workers)
        policy = catalog.policy_module(policy)
    code = CodeVersions.of(header["config"], policy=policy)
    with DataSet.create_or_resume(
        output_folder(cfg, prefix=request.prefix),
        header=header,
        info=_make_info(cfg, request.command),
        worker=writer_name("main"),
    ) as data_set:
        plan = _plan_run(cfg, numbers, data_set, code, display)
        clock = RunClock(data_set.path, writer_name("run"), code.packages)
        stopped, left_again = _make_episodes(request, plan, data_set, code, clock, executor, display)
        seconds = time.perf_counter() - started
        made = len(plan.to_make) - len(data_set.missing(plan.missing)) - len(left_again)
        _remove_traces(plan, left_again, data_set, clock, display)
        if plan.stop.wanted is not None:
            numbers = [number for number in numbers if number in data_set]
        stopped |= display.interruption is not None and display.interruption.asked
        path = data_set.path / PICTURE
        if not stopped and has_picture(cfg) and (made or not path.exists()):
            from unlatch.workflows.viewing.scene_picture import contact_sheet

            contact_sheet(cfg, data_set, numbers, path=path, rows=cfg.pictures)
    return RunResult(data_set, numbers, made, seconds, clock.times, plan.stop, stopped)


def _plan_run(cfg: RunCfg, numbers: list[int], data_set: DataSet, code: CodeVersions, display: RunDisplay) -> _RunPlan:
    """Claims the episodes of a run, and chooses which of them it makes."""
    with report_unwritable(data_set.path):
        data_set.claim(numbers, advice="or give each run its own share with shard=1/2, or its own folder with out=.")
    for number, problem in data_set.damaged(numbers).items():
        aside = data_set.set_aside(number)
        display.notify(f"episode {number} is damaged and is made again; kept as {aside}: {problem}")
    limits = {"successes": cfg.successes, "give_up_after": cfg.give_up_after} if isinstance(cfg, CollectCfg) else {}
    stop = StopCondition(**limits)
    missing = data_set.missing(numbers)
    existing = set(numbers).difference(missing)
    repeatable = sorted(existing) if cfg.retry is Retry.all else _count_existing(data_set, existing, stop)
    retries = None
    if repeatable and cfg.retry is not Retry.never:
        from unlatch.workflows.runs.earlier_code import choose_retries

        retries = choose_retries(data_set, repeatable, cfg.retry, code)
    plan = _RunPlan(numbers, existing, missing, retries, stop)
    for number in set(repeatable).difference(plan.again):
        stop.count(Outcome(number, False, "error"))
    if cfg.retry is Retry.error and existing and not plan.again:
        display.notify("retry=error: no episode that is there ended as `error`, so none is made again")
    plan.replaces_set = cfg.retry is Retry.all and set(data_set.numbers()) <= set(plan.again)
    for line in filter(None, map(describe_folder, cfg.all_objects().values() if plan.to_make else ())):
        display.notify(line)
    return plan


def _make_episodes(
    request: RunRequest,
    plan: _RunPlan,
    data_set: DataSet,
    code: CodeVersions,
    clock: RunClock,
    executor: Executor,
    display: RunDisplay,
) -> tuple[bool, set[int]]:
    """Makes the episodes of a plan, until they are made, a stop condition is met or Ctrl-C is pressed.

    Returns:
        Whether Ctrl-C ended it at once, and the episodes that were to be made again and were not.
    """
    to_make, stop, left_again = plan.to_make, plan.stop, set(plan.again)
    if not to_make or stop.is_met:
        _notify_other_code(data_set, plan.existing, code, display.notify)
        return False, left_again
    _allow_replacing(plan, data_set, code, display)
    publisher = None
    if request.cfg.live:
        from unlatch.workflows.runs.live_state import StatePublisher

        publisher = StatePublisher(data_set.path, clock.run)
    options = EpisodeOptions(on_bug=display.on_bug, on_state=publisher)
    interruption = display.interruption
    outcomes = executor.run(
        replace(request.make_job(data_set), code=code, options=options),
        stop.until(to_make),
        max_episodes=len(to_make),
        is_ended=never_ended if interruption is None else interruption.is_asked,
    )
    counts = Progress(
        total=stop.wanted or len(plan.numbers),
        done=stop.successes if stop.wanted is not None else len(plan.numbers) - len(to_make),
        successes_only=stop.wanted is not None,
        clock=clock,
        report=display.progress,
        interruption=interruption,
    )
    with nullcontext() if publisher is None else publisher, interruption or nullcontext(), counts:
        try:
            for made in outcomes:
                stop.count(made)
                clock.count(made)
                left_again.discard(made.number)
                counts.update(made)
        except KeyboardInterrupt:
            outcomes.close()
            if interruption is None:
                raise
            return True, left_again
    return False, left_again


def _allow_replacing(plan: _RunPlan, data_set: DataSet, code: CodeVersions, display: RunDisplay) -> None:
    """Lets workers replace the episodes that are made again; says if the others were made with other code."""
    if plan.retries is not None and plan.again:
        display.notify(plan.retries.text())
        replace_old = data_set.replace_errors if plan.retries.are_errors else data_set.replace_all
        replace_old(plan.again)
    if plan.replaces_set or not len(data_set):
        return
    from unlatch.workflows.runs.earlier_code import describe_mixed_code

    mixed = describe_mixed_code(data_set.path, code.packages)
    if mixed:
        display.notify(
            f"earlier episodes of this data set were made with other code of {mixed}, so equal settings may give other "
            "motions; for episodes of one code, choose a new folder with out=FOLDER, or retry=all"
        )


def _remove_traces(
    plan: _RunPlan, left_again: set[int], data_set: DataSet, clock: RunClock, display: RunDisplay
) -> None:
    """Removes what is left of episodes that were made again."""
    if not plan.again:
        return
    data_set.remove_empty_replaced()
    from unlatch.workflows.viewing.episode_files import remove_outdated

    outdated = remove_outdated(data_set.path, set(plan.again) - left_again)
    if outdated:
        display.notify(f"removed, since they show episodes that were made again: {', '.join(outdated)}")
    if plan.replaces_set and not left_again:
        forget_code(data_set.path, except_run=clock.run)


def _notify_other_code(
    data_set: DataSet, existing: set[int], code: CodeVersions, notify: Callable[[str], None]
) -> None:
    """Says that episodes of an earlier run are kept, though the code has changed since."""
    from unlatch.workflows.runs.earlier_code import count_other_code

    count, names = count_other_code(data_set.path, code.packages)
    if existing and count:
        kept = count_noun(min(count, len(data_set)), "episode")
        notify(
            f"{kept} of this data set: kept, although the code of {names} has changed since; retry=all makes them "
            "again, out=FOLDER starts a new data set"
        )


def _count_existing(data_set: DataSet, numbers: set[int], stop: StopCondition) -> list[int]:
    """Counts the episodes that earlier runs made, except those that ended as `error`, whose numbers it returns."""
    errors = []
    for summary in data_set.each_summary(CorruptEpisodes().add) if numbers else ():
        if summary.number in numbers:
            if summary.code == "error":
                errors.append(summary.number)
            else:
                stop.count(summary)
    return sorted(errors)


def has_picture(cfg: RunCfg) -> bool:
    """Returns whether a run draws a picture of its data set."""
    return cfg.pictures > 0 and cfg.shard is None


def output_folder(cfg: RunCfg, *, prefix: str = "") -> Path:
    """Returns the folder of a run's data set, absolute; the default name begins with `prefix`."""
    name = cfg.out if cfg.out is not None else f"data/{prefix}{cfg.task.name}-{cfg.robot.name}-s{cfg.seed}"
    return user_path(name).absolute()


def _make_info(cfg: RunCfg, command: Sequence[str]) -> dict[str, Any]:
    """Returns what is noted in a new data set and may differ when it is resumed."""
    roots = {name: str(user_path(item.root).absolute()) for name, item in cfg.all_objects().items() if item.root}
    return {
        **({"command": list(command)} if command else {}),
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": platform.node(),
        "object_roots": roots,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": code_versions.versions_of(code_versions.NOTED_DISTRIBUTIONS),
    }


def collect(
    cfg: EpisodeCfg,
    *,
    episodes: int | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: OnProgress = None,
) -> DataSet:
    """Makes demonstrations and writes every attempt into a data set, with the reason for each failure.

    Images are drawn of each success if the configuration asks for them (`images=policy`). Episodes that exist already
    are not made again, so the same call resumes a run. The calling script needs no
    `if __name__ == "__main__"`: workers do not import it.

    Args:
        cfg: The configuration, see `load`.
        episodes: Episodes 0 to `episodes - 1` are made; None: as configured, 20 by default.
        out: Folder of the data set; None: as configured, `data/<task>-<robot>-s<seed>` by default.
        workers: Worker processes; None: as configured, one for each CPU core by default.
        progress: True: a live display on stderr. A function: called after each episode with a `Progress`. None:
            nothing is shown.

    Returns:
        The data set: `data[3]` is a record, `data.summaries()` one line an episode.

    Raises:
        ConfigError: A value is wrong. Nothing is written.
        RecordingError: The folder holds a data set of another configuration, or cannot be written.
        KeyboardInterrupt: Ctrl-C; finished episodes are kept.

    Example:
        >>> cfg = unlatch.load("open_microwave", seed=7)
        >>> data = unlatch.collect(cfg, episodes=20, out="data/demo", progress=True)
        >>> sum(summary.success for summary in data.summaries())
        19
    """
    from unlatch.workflows.runs.loading import config_as  # it imports Hydra

    run = config_as(CollectCfg, cfg, episodes=episodes, out=None if out is None else str(out), workers=workers)
    return run_episodes(RunRequest(run, partial(make_collect_job, run)), RunDisplay(progress)).data_set


def make_collect_job(cfg: CollectCfg, data_set: DataSet, config_dirs: Sequence[str] = ()) -> CollectJob:
    """Makes the job of a run, which draws images of its successes if the configuration asks for them.

    Raises:
        UnlatchError: The images cannot be drawn here, or do not fit those that exist. No episode is made.
    """
    if not cfg.render:
        return CollectJob(cfg, data_set)
    from unlatch.configs.composition import Request  # it imports Hydra
    from unlatch.workflows.images.render import make_render_job

    request = Request(config_dirs=list(config_dirs))
    return CollectJob(cfg, data_set, follow_up=make_render_job(data_set, cfg.images, request))
