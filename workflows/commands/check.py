"""Commands that verify, measure and serve: `check`, `replay`, `evaluate`, `exam`, `serve` and `bench`."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from unlatch.configs.user_files import peer_of, read_robot_file, read_setting_file, read_yaml_tree
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.checks import limit_problems, model_problems
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import describe_hand_frame
from unlatch.simcore.errors import ConfigError, RecordingError, UnlatchError, count_noun, unknown_entry
from unlatch.simcore.files import path_word, user_path
from unlatch.simcore.ranges import Range, Ranged, check_ranges
from unlatch.simcore.recording.check import MISFITS, Problem, not_compared
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_fields import SKILL_FIELDS
from unlatch.simcore.recording.episode_folders import DATASET_FILE
from unlatch.simcore.recording.renders import RenderSet, render_names
from unlatch.simcore.recording.verdict import POSSIBLE, RECORDED, Criteria
from unlatch.workflows.assets.new_robot import try_robot
from unlatch.workflows.checks.criteria_source import CriteriaSource, check_data_set
from unlatch.workflows.cli.arguments import read_pairs, split_own, split_paths, split_words
from unlatch.workflows.cli.terminal import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    OK,
    CommandLine,
    command,
    parse_command_line,
    print_first,
    print_line,
    print_note,
    print_wrapped,
    relative_path,
    result_console,
    run_command,
)
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.criteria import PolicyRules
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.policies.catalog import POLICY_PORT
from unlatch.workflows.runs.data_sets import data_sets_below
from unlatch.workflows.runs.earlier_code import describe_machine, describe_mixed_code, differing_versions
from unlatch.workflows.runs.executors import EpisodeMaker, Outcome
from unlatch.workflows.runs.progress import Progress
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.replay import (
    ReplayJob,
    ReplayMode,
    ReplayOutcome,
    deviations,
    replay_judged,
    replay_outcome,
    run_replays,
)
from unlatch.workflows.runs.run import RunRequest
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import LOCAL_HOST, MAX_PORT, MAX_WORKERS, CollectCfg, EvaluateCfg
from unlatch.workflows.runs.step_progress import StepProgress

_YAML = (".yaml", ".yml")
_CHOICES = ("task=", "object=", "experiment=")
"""Beginnings of arguments that choose a configuration to check."""
_MOST_NAMED = 8


@dataclass
class CheckCfg:
    """Options of `unlatch check`."""

    replay: bool = False
    """Whether the actions of every episode are simulated again, and all arrays compared."""
    robot: str = "franka_panda"
    """Robot of the catalog with whose hand the motions of planner settings are compared."""
    workers: Annotated[int, Range(1, MAX_WORKERS)] | None = None
    """Processes for the replays; null: one for each CPU core."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.workers is not None and not self.replay:
            raise ConfigError(f"workers={self.workers} has no effect without replay=true. Set replay.", key="workers")


@command
def check_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    if any(argument.startswith(_CHOICES) for argument in arguments):
        return _check_task(arguments)
    line = CommandLine(list(arguments))
    if any(argument.startswith("-") for argument in arguments):
        line = parse_command_line(arguments, command="check")
        arguments = line.overrides
    paths, pairs = split_paths("check", arguments, least=0)
    cfg = read_pairs(CheckCfg, pairs)
    if not paths:
        print_note("unlatch: check expects the folder of a data set, or YAML files. Example: unlatch check data/demo")
        return BAD_INPUT
    files = [path for path in paths if path.endswith(_YAML)]
    folders = [path for path in paths if path not in files]
    exams = [path for path in folders if (user_path(path) / "exam.json").exists()]
    folders = [path for path in folders if path not in exams]
    if line.config_dirs and not exams:
        raise ConfigError(
            f"--config-dir {line.config_dirs[0]} has no effect: neither task= nor the folder of an exam is given. "
            "Remove it.",
            flag="--config-dir",
        )
    for folder in folders:
        _refuse_parent(Path(folder))
    sets = {path: DataSet.open(path) for path in folders}  # a folder that is not a data set is bad input
    bad = sum(_check_yaml(path, cfg.robot) for path in files) + sum(
        _check_exam(path, line.config_dirs) for path in exams
    )
    for path, data_set in sets.items():
        with StepProgress("episodes") as progress:
            found = check_data_set(data_set, on_episode=progress.update)
        problems = [*found, *_robot_problems(data_set), *_render_problems(data_set)]
        if cfg.replay:
            problems += _replay_problems(data_set, cfg.workers)
        for problem in problems:
            print_line(f"{path}: {problem}")
        bad += len(problems)
        mixed = describe_mixed_code(data_set.path)
        if mixed:
            print_note(f"note: {path}: its episodes were made with different code of {mixed}.")
        machine = describe_machine(data_set)
        if problems and machine:
            print_note(f"note:{machine} Derived values and replays may differ.")
        if found:
            wrong = {problem.number for problem in found}.intersection(data_set.numbers())
            print_line(
                f"{path}: {len(data_set) - len(wrong)} of {count_noun(len(data_set), 'episode')} have no problem"
            )
        if not problems:
            replayed = ", every replay is exact" if cfg.replay else ""
            print_line(f"{path}: {count_noun(len(data_set), 'episode')}, all whole, every verdict agrees{replayed}")
    for reason, places in not_compared(replay=cfg.replay).items() if sets else ():
        print_wrapped(f"not compared ({reason}): {', '.join(places)}")
    return FAILED if bad else OK


def _check_task(arguments: list[str]) -> int:
    """Composes a configuration, loads its objects and checks that they fit together; plans nothing."""
    from unlatch.workflows.runs.loading import load_config  # it imports Hydra

    line = parse_command_line(arguments, command="check")
    loaded = load_config("collect", CollectCfg, line.overrides, config_dirs=line.config_dirs)
    check_assets(loaded.cfg)
    for notice in loaded.notices:
        print_line(f"note: {notice}")
    cfg = loaded.cfg
    chain = ", ".join(" ".join(filter(None, (entry.arm, entry.name, entry.part))) for entry in cfg.skills)
    print_line(f"{cfg.task.name}: {' and '.join(cfg.all_objects())}, {cfg.robot.name}: {chain}")
    print_line(f"{cfg.task.name}: the configuration is complete and fits its objects; `unlatch plan` plans an episode")
    return OK


def _check_exam(path: str, config_dirs: Sequence[str]) -> int:
    """Prints what is wrong with a finished exam; returns how much."""
    from unlatch.workflows.policies.exam import check_exam  # the extra `gym`

    with StepProgress("evaluations") as progress:
        problems = list(check_exam(user_path(path), config_dirs=config_dirs, on_cell=progress.update))
    for problem in problems:
        print_line(f"{path}: {problem}")
    if not problems:
        print_line(f"{path}: every verdict agrees, and the result is what the data sets give")
    return len(problems)


def _refuse_parent(folder: Path) -> None:
    """Raises an error for a folder that is not a data set but has some below it; the error names them."""
    below: list[str] = []
    if folder.is_dir() and not (folder / DATASET_FILE).exists():
        with suppress(ConfigError):  # there is no data set below it
            below = [str(path) for path in data_sets_below(folder)]
    if below:
        more = f" and {len(below) - _MOST_NAMED} more" if len(below) > _MOST_NAMED else ""
        raise ConfigError(
            f"'{folder}' is not a data set, but has {len(below)} below it. Expected data sets. Name them: "
            f"{', '.join(below[:_MOST_NAMED])}{more}."
        )


def _check_yaml(path: str, robot_name: str) -> int:
    """Prints how the YAML file of a robot, or the planner settings of one, are read; returns how much is wrong."""
    robot = read_robot_file(path)
    if robot is None:
        return _check_settings(path, robot_name)
    problems = [*model_problems(robot), *limit_problems(robot, object_friction=OBJECT_FRICTION)]
    for arm in robot.arms:
        print_line(f"{path}: arm {arm.name}: {arm.base_link} to {arm.ee_link}, joints {', '.join(arm.joints)}")
        print_line(f"{path}: arm {arm.name}: {describe_hand_frame(arm)}")
    for problem in problems:
        print_line(f"{path}: {problem.message}")
    if problems:
        return len(problems)
    print_line(f"{path}: the robot fits its model, and no limit goes beyond it")
    results = try_robot(robot)
    for result in results:
        print_line(f"{path}: {result.line}")
    return sum(not result.passed for result in results)


def _check_settings(path: str, robot: str) -> int:
    """Prints how the planner settings of a YAML file are read; returns how many cannot be read, or not be run."""
    peer = peer_of(read_yaml_tree(path))
    if peer is not None:
        print_note(f"note: {path} is a whole task of {peer}. To turn it into a task: unlatch import {path_word(path)}")
    described: RobotCfg = ROBOTS.load(robot)()
    reads = read_setting_file(path, tool=described.arms[0].keypoints)
    for read in reads:
        if read.setting is not None:
            origin, hand = read.setting.origin, read.setting.hand
            print_line(f"{path}: {read.where}: origin {origin.value}" + (f", hand {hand}" if hand else ""))
        for line in read.notices if read.error is None else [read.error.message]:
            print_line(f"{path}: {line}")
        for line in read.obstacles:
            print_line(f"{path}: no articulation skill can run this: {line}")
        for line in read.warnings:
            print_line(f"{path}: warning: {line}")
    bad = sum(read.error is not None for read in reads)
    stuck = sum(bool(read.obstacles) for read in reads)
    lines = sum(len(read.notices) for read in reads)
    runnable = f", {stuck} of them cannot be run" if stuck else ""
    print_line(
        f"{path}: {len(reads) - bad} of {len(reads)} planner settings can be read{runnable}, "
        f"{lines} lines rewritten or dropped"
    )
    return bad + stuck


def _render_problems(data_set: DataSet) -> list[str]:
    """Returns files of render sets whose checksums are wrong."""
    found = []
    for name in render_names(data_set.path):
        try:
            render_set = RenderSet.open(data_set.path, name)
            for number in render_set.numbers():
                found += [f"renders/{name}: {problem}" for problem in render_set.episode(number).problems()]
        except RecordingError as exc:
            found.append(f"renders/{name}: {exc.message}")
    return found


def _replay_problems(data_set: DataSet, workers: int | None) -> list[Problem]:
    """Returns what replays of the episodes do not reproduce; none if the configuration cannot be read."""
    found: list[Problem] = []
    with suppress(RecordingError), Progress(total=len(data_set), success_word="exact") as progress:
        for outcome in replay_arrays(data_set, workers=workers):
            progress.update(outcome)
            found += [Problem(outcome.number, text) for text in outcome.problems]
    return sorted(found, key=lambda problem: problem.number or 0)


def _robot_problems(data_set: DataSet) -> list[str]:
    """Returns limits of the robot that the configuration of a data set exceeds; none if it cannot be read."""
    with suppress(UnlatchError):  # `check_data_set` reports it
        found = limit_problems(config_of(data_set).robot, object_friction=OBJECT_FRICTION)
        return [f"dataset.json: config.{problem.message}" for problem in found]
    return []


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
def replay_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("replay", arguments, exactly=1)
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
    if not data_set.numbers():
        raise ConfigError(f"Data set '{data_set.path}' has no episodes yet. Collect some first.")
    outcomes = run_replays(ReplayJob(config_of(data_set), data_set, cfg.mode, cfg.check), cfg.workers)
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
    problems = [[f"episode {item.number}: {text}" for text in item.problems or (item.deviation,)] for item in bad]
    print_first(["\n".join(texts) for texts in problems])
    largest = max((item.deviation for item in found), key=lambda deviation: deviation.value)
    frames = sum(item.frames for item in found)
    print_line(
        f"{count_noun(len(found), 'episode')}, {count_noun(frames, 'frame')}, {cfg.mode.value} replay in "
        f"{time.perf_counter() - started:.1f} s: "
        f"{len(found) - len(bad)} exact; {largest}"
    )
    return FAILED if cfg.check and bad else OK


@run_command
def evaluate_command(arguments: list[str], debug: bool) -> int:
    """Runs the command; returns its exit code."""
    from unlatch.workflows.cli.run_report import run_and_report, run_jobs
    from unlatch.workflows.runs.evaluate import PREFIX, EvaluateJob, identity_of, serve_policy  # the extra `gym`

    line = parse_command_line(arguments, command="evaluate")
    words = ("unlatch", "evaluate", *arguments)

    def run(cfg: EvaluateCfg) -> int:
        with serve_policy(cfg) as served:
            job = partial(EvaluateJob, cfg, policy=None if served is None else served.address)
            request = RunRequest(cfg, job, prefix=PREFIX, identity=identity_of(cfg), command=words)
            code = run_and_report(request, debug=debug, pdb=line.pdb)
        if served is not None and served.statistics is not None and served.statistics.batches:
            print_line(f"policy: {served.statistics}")
        return code

    return run_jobs("evaluate", EvaluateCfg, line, run, prefix=PREFIX)


@command
def exam_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    from unlatch.workflows.policies.exam import PAGE, RESULT, ExamCfg, run_exam  # the extra `gym`

    own, rest = split_own(ExamCfg, arguments)
    line = parse_command_line(rest, command="exam")
    rest = line.overrides
    policies = [word for word in rest if word.startswith("policy=")]
    if len(policies) != 1:
        raise ConfigError("exam expects one policy. Example: unlatch exam policy=planner exam=smoke", key="policy")
    rest.remove(policies[0])
    cfg = read_pairs(ExamCfg, own)
    missing = run_exam(
        cfg,
        policies[0].removeprefix("policy="),
        rest,
        config_dirs=line.config_dirs,
        on_cell=lambda cell, text: print_line(f"{cell.name}: {text}"),
    )
    if missing:
        print_line(
            f"other shards have not completed {count_noun(missing, 'evaluation')}; the last one writes the result"
        )
    else:
        out = user_path(cfg.out)
        print_line(f"result: {relative_path(out / RESULT)}, {relative_path(out / PAGE)}")
    return OK


@dataclass
class ServeCfg(Ranged):
    """Options of `unlatch serve` beside those of an evaluation."""

    host: str = LOCAL_HOST
    """Address at which it listens; `0.0.0.0`: other computers can connect, too."""
    port: Annotated[int, Range(0, MAX_PORT)] = POLICY_PORT
    """Its port; 0: a free one."""


@command
def serve_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    from unlatch.workflows.cli.run_report import load_configs
    from unlatch.workflows.policies.serve import PolicyServer  # the extras `gym` and `openpi`

    words, rest = split_words(arguments)
    if len(words) != 1:
        raise ConfigError(
            f"serve got {len(words)} policies ({' '.join(words) or 'none'}), expected one. Example: unlatch serve "
            "planner task=open_microwave",
            key="policy",
        )
    own, rest = split_own(ServeCfg, rest)
    cfg = read_pairs(ServeCfg, own)
    line = parse_command_line([f"policy={words[0]}", *rest], command="serve")
    run = load_configs("evaluate", EvaluateCfg, line)[0].cfg
    with closing(PolicyServer(run, host=cfg.host, port=cfg.port)) as server:
        print_line(f"serving {words[0]} at {server.address}; Ctrl-C ends it")
        sys.stdout.flush()  # it is read through a pipe, too
        server.serve_forever()
    return OK


BENCHES = ("success",)
"""The benchmarks."""


@command
def bench_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    from unlatch.workflows.commands.collect import collect_and_report
    from unlatch.workflows.runs.success_bench import SuccessBenchCfg, bench_runs, cost_table, measure, success_table

    name = arguments[0] if arguments else ""
    if name not in BENCHES:
        said, advice = f"bench '{name}' is unknown.", "Name one of them."
        raise unknown_entry(said, name, BENCHES, error=ConfigError, advice=advice)
    results = []
    for name, cfg in bench_runs(read_pairs(SuccessBenchCfg, arguments[1:])):
        print_line(f"== {name}")
        code = collect_and_report(cfg)
        if code != OK:
            return code
        results.append(measure(name, cfg))
    for table in (success_table(results), cost_table(results)):
        result_console().print(table)
    return OK


_OF_PLANNER = ("skills.", "labels.")
"""Beginnings of the keys of arrays that the planner or the policy writes."""
_OF_JUDGE = ("first_violation", "zero_force_contacts")
"""Keys of an entry of `skills` that the judge writes."""
_JUDGED_CODES = ("collision", "overload", "moved_object", "overspeed", "timeout")
"""Failure codes that the judge alone finds, in the forces, speeds and times of frames."""
_IN_WORDS = ("message", "phase")
"""Keys of evidence that depend on what the planner does."""


def replay_arrays(data_set: DataSet, *, workers: int | None = None) -> Generator[ReplayOutcome]:
    """Replays every episode from its configuration and its actions; yields an outcome with every difference.

    Layout and randomization are drawn again. Of the record, the replay takes the actions, the number of the layout that
    a search chose, and when which arm acts on which part.

    Args:
        data_set: The data set.
        workers: Processes; None: one for each CPU core.

    Raises:
        RecordingError: Its configuration cannot be read.
    """
    if data_set.numbers():
        job = ReplayArraysJob(config_of(data_set), data_set, ReplayMode.action, True, describe_machine(data_set))
        yield from run_replays(job, workers)


@dataclass(frozen=True)
class ReplayArraysJob(ReplayJob):
    """Replays episodes of one data set and compares every array; see `Job`."""

    machine: str = ""
    """What differs from the machine that made the data set; empty: nothing is known to differ."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        evaluation = self.data_set.header.get("evaluate")
        policy = PolicyRules.of(evaluation) if isinstance(evaluation, Mapping) else None
        with EpisodeRunner(self.cfg) as runner:

            def replay_episode(number: int) -> Outcome:
                try:
                    record = self.data_set.read(number)
                except UnlatchError:  # `check_data_set` reports it
                    return ReplayOutcome(number, False, "damaged")
                try:
                    problems = list(replay_problems(runner, record, policy))
                except MISFITS as exc:
                    problems = [f"it cannot be replayed: {type(exc).__name__}: {exc}"]
                if problems:
                    problems[0] += self.machine
                return ReplayOutcome(number, not problems, "deviates" if problems else None, problems=tuple(problems))

            yield replay_episode


def replay_problems(runner: EpisodeRunner, record: EpisodeRecord, policy: PolicyRules | None = None) -> Iterator[str]:
    """Yields each array, and each value that the randomization or the judge wrote, that a replay does not reproduce.

    Args:
        runner: An open runner with the configuration of the record.
        record: The record.
        policy: How it was judged if a policy moved the arms; None: it is a demonstration.

    Raises:
        UnlatchError: The record does not fit the present objects or the present robot.
    """
    if not record.arrays:
        return
    episode = replay_judged(runner, record, policy)
    yield from Criteria(_replayed_statements(episode, record)).differences(record, by="a replay of its actions")
    arrays = episode.frames.recorder.arrays()
    compared = {key: array for key, array in arrays.items() if not key.startswith(_OF_PLANNER)}
    for key in sorted(record.arrays.keys() - arrays.keys()):
        if not key.startswith(_OF_PLANNER):
            yield f"'{key}' is in the record, expected no such array by a replay of its actions."
    for item in sorted(deviations(compared, record.arrays), key=lambda item: (item.first_frame, item.key)):
        other = record.arrays.get(item.key)
        if other is None or other.shape != arrays[item.key].shape:
            shape = "missing" if other is None else f"of shape {list(other.shape)}"
            yield f"'{item.key}' is {shape}, expected shape {list(arrays[item.key].shape)} by a replay of its actions."
            continue
        yield (
            f"'{item.key}' is {item.recorded:.9g} at frame {item.first_frame}, expected {item.replayed:.9g} by a "
            "replay of its actions."
        )


def _replayed_statements(episode: Episode, record: EpisodeRecord) -> dict[str, Any]:
    """Returns what the record must state of what its simulation decided."""
    skills = [
        {**dict.fromkeys(SKILL_FIELDS, POSSIBLE), **{key: entry[key] for key in _OF_JUDGE}}
        for entry in (run.to_entry(last_frame=record.n_actions, draw=0.0) for run in episode.judge.runs)
    ]
    applied = {} if episode.randomization is None else episode.randomization.applied()
    statements: dict[str, Any] = {"applied": applied, "skills": skills}
    failure = episode.judge.failure
    if failure is not None and failure.code == record.code and record.code in _JUDGED_CODES:
        evidence = failure.to_evidence(episode.cfg.world, last_frame=record.n_actions)
        statements["evidence"] = {key: RECORDED if key in _IN_WORDS else value for key, value in evidence.items()}
    return statements
