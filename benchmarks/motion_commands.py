"""How smooth and how direct the commands of an episode are: idle frames, detours, and the maker's limits at 1 kHz."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pybullet as p
from rich.box import MARKDOWN
from rich.table import Table
from scipy.interpolate import BSpline

import unlatch
from unlatch.configs.schema import EpisodeCfg
from unlatch.robots.description import ArmCfg
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.solver import planner as planning
from unlatch.solver.motion import MotionResult
from unlatch.solver.motion_search import _rrt_connect, _shortcut_path
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.plan_completer import PlanCandidate
from unlatch.solver.scene import CheckedSpace
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.runner import EpisodeRunner

Array = np.ndarray

IDLE_SHARE = 0.01
"""A joint that is slower than this share of its limit does not move."""
IDLE_GRIPPER_M_S = 0.001
"""Fingers whose opening changes more slowly do not move [m/s]."""
COMMAND_HZ = 1000
"""Rate at which commands are compared with the limits of the maker [Hz]: that of Franka's controllers."""
MAX_JERK = {
    "franka_panda": (7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0),
    "dual_panda": (7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0),
    "fr3": (5000.0,) * 7,
}
"""Largest jerk of each joint by robot [rad/s^3]: libfranka, rate_limiting.h, for the Panda and for the Research 3."""
MAX_TORQUE_RATE = {"franka_panda": 1000.0, "dual_panda": 1000.0, "fr3": 1000.0}
"""Largest rate of the torque of each joint by robot [N m/s]: the same file."""
SEARCHES = 6
"""Number of searches, each with its own seed, whose shortest way counts."""
SEARCH_QUERIES = 12000
SHORTCUT_ROUNDS = 6


@dataclass
class CommandFigures:
    """What the commands of one episode were like."""

    task: str
    success: bool
    frames: int
    idle: int
    """Number of frames in which no arm and no gripper moves."""
    duration_s: float
    use: dict[str, float] = field(default_factory=dict)
    """Largest velocity, acceleration, jerk and torque rate, each as a share of the limit; of a limit that is unknown
    there is none."""
    detours: list[float] = field(default_factory=list)
    """Length of each transit over that of the shortest way of the slow search."""
    force_n: float = math.nan
    """Largest force that a finger bore [N]."""


def sample_commands(targets: Array, frame_s: float) -> Array:
    """Returns (K, n) positions at 1 kHz of the spline through the targets (T, n) of successive record frames.

    `write_command` in `simcore/sim/native/core.c` computes the same spline: a cubic one whose control points are the
    targets.
    """
    points = np.concatenate([np.repeat(targets[:1], 3, axis=0), targets, np.repeat(targets[-1:], 3, axis=0)])
    t = np.arange(3.0, len(points) - 1, 1.0 / (COMMAND_HZ * frame_s))
    return np.asarray(BSpline(np.arange(-2.0, len(points) + 2), points, 3)(t - 1.0))


def limit_use(q: Array, arm: ArmCfg, robot: str) -> dict[str, float]:
    """Returns the largest velocity, acceleration and jerk of positions (K, n) at 1 kHz, as shares of the limits.

    They are differences of successive samples, as in libfranka's check of a command.
    """
    limits = {"velocity": arm.max_velocity, "acceleration": arm.max_acceleration, "jerk": MAX_JERK.get(robot)}
    found, rates = {}, q
    for name, limit in limits.items():
        rates = np.diff(rates, axis=0) * COMMAND_HZ
        if limit is not None and rates.size:
            found[name] = float((np.abs(rates) / np.array(limit)).max())
    return found


def torque_rate_use(q: Array, arm: ArmCfg, episode: Episode) -> float | None:
    """Returns the largest rate of the torques that move the arm without contact through (K, n) at 1 kHz, as a share of
    the limit; None if that is unknown. The torques are those of inverse dynamics, with the inertias of the motors.
    """
    limit = MAX_TORQUE_RATE.get(episode.cfg.robot.name)
    if limit is None or len(q) < 4:
        return None
    body = episode.scene.robot.body
    rows = body.rows_of(arm.joints)
    still = body.joint_states()[0]
    dq = np.gradient(q, 1.0 / COMMAND_HZ, axis=0)
    ddq = np.diff(q, 2, axis=0, prepend=q[:1], append=q[-1:]) * COMMAND_HZ**2
    moves = np.flatnonzero((np.abs(np.diff(ddq, axis=0)) > 1e-6).any(axis=1))
    most, last = 0.0, (-2, np.zeros(0))
    armature = np.array(arm.armature)
    for k in moves:
        torques = []
        for at in (k, k + 1):
            if last[0] != at:
                full, rates, gains = still.copy(), np.zeros(len(still)), np.zeros(len(still))
                full[rows], rates[rows], gains[rows] = q[at], dq[at], ddq[at]
                found = p.calculateInverseDynamics(
                    body.body_id,
                    full.tolist(),
                    rates.tolist(),
                    gains.tolist(),
                    physicsClientId=episode.scene.world.client,
                )
                last = (at, np.array(found)[rows] + armature * ddq[at])
            torques.append(last[1])
        most = max(most, float(np.abs(torques[1] - torques[0]).max()) * COMMAND_HZ)
    return most / limit


def path_length(q: Array) -> float:
    """Returns the length of joints (W, n) [rad]."""
    return float(np.linalg.norm(np.diff(q, axis=0), axis=1).sum())


def shortest_length(planner: planning._Planner, start: Array, goal: Array) -> float:
    """Returns the length of the shortest free way that slow searches find between joints (n,) [rad]; infinite: none."""
    best = math.inf
    space = CheckedSpace(planner.checker, planner.s0, planner.grip, SEARCH_QUERIES)
    if space.check_edge(start, goal) is None:
        return float(np.linalg.norm(goal - start))
    for seed in range(SEARCHES):
        space.queries, rng = 0, np.random.default_rng(seed)
        corners = _rrt_connect(start, goal, space, planner.arm, seed=seed + 1)
        if corners is None:
            continue
        space.queries = 0
        for _ in range(SHORTCUT_ROUNDS):
            corners = _shortcut_path(corners, space, rng)
        best = min(best, path_length(np.array(corners)))
    return best


class PlanWatch:
    """Notes for each plan with a transit how much longer that is than the way of a slow search."""

    def __init__(self) -> None:
        self.detours: dict[int, float] = {}
        self._plans: list[KeyframePlan] = []  # so that no identity is used twice
        self._known: dict[bytes, float] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watches every plan that is made in this context."""
        build, watch = planning._Planner._build_plan, self

        def build_and_note(
            planner: planning._Planner, candidate: PlanCandidate, motion: MotionResult | None
        ) -> KeyframePlan:
            plan = build(planner, candidate, motion)
            if motion is not None:
                watch._note(planner, plan, motion)
            return plan

        planning._Planner._build_plan = build_and_note
        try:
            yield
        finally:
            planning._Planner._build_plan = build

    def _note(self, planner: planning._Planner, plan: KeyframePlan, motion: MotionResult) -> None:
        start, goal, length = motion.q[0], motion.q[-1], path_length(motion.q)
        straight = float(np.linalg.norm(goal - start))
        key = motion.q.tobytes()
        if straight > 0.0 and length > 1.02 * straight and key not in self._known:
            self._known[key] = min(shortest_length(planner, start, goal), length)
        shortest = self._known.get(key, length)
        self._plans.append(plan)
        self.detours[id(plan)] = length / shortest if shortest > 0.0 else 1.0


class WatchedRunner(EpisodeRunner):
    """Makes episodes and measures their commands."""

    def __init__(self, cfg: EpisodeCfg, task: str) -> None:
        super().__init__(cfg)
        self._task = task
        self._last: Episode | None = None

    def episode(self, number: int) -> Episode:
        """See `EpisodeRunner.episode`."""
        self._last = super().episode(number)
        return self._last

    def measure(self, number: int, *, detours: bool = True) -> CommandFigures:
        """Makes and measures an episode."""
        watch = PlanWatch()
        if detours:
            with watch.watching():
                record = self.run(number)
        else:
            record = self.run(number)
        found = CommandFigures(self._task, record.success, 0, 0, math.nan)
        episode = self._last
        if episode is None or not record.arrays or not record.skills:
            return found
        idle = idle_frames(record, self.cfg)
        found.frames, found.idle, found.duration_s = len(idle), int(idle.sum()), float(record.arrays["time"][-1])
        plans = [run.skill.keyframe_plan for run in episode.judge.runs]
        found.detours = [watch.detours[id(plan)] for plan in plans if id(plan) in watch.detours]
        found.force_n = max((float(a.max()) for k, a in record.arrays.items() if "force_sustained" in k), default=0.0)
        for arm in self.cfg.robot.arms:
            targets = record.arrays[f"actions.{self.cfg.robot.name}.{arm.name}.joint_targets"]
            q = sample_commands(np.asarray(targets, dtype=float), 1.0 / self.cfg.world.record_hz)
            use = limit_use(q, arm, self.cfg.robot.name)
            rate = torque_rate_use(q, arm, episode)
            for name, value in {**use, **({} if rate is None else {"torque rate": rate})}.items():
                found.use[name] = max(found.use.get(name, 0.0), value)
        return found


def idle_frames(record: EpisodeRecord, cfg: EpisodeCfg) -> Array:
    """Returns (T,) whether no arm and no gripper moves in each record frame."""
    idle = np.ones(len(record.arrays["time"]), dtype=bool)
    for arm in cfg.robot.arms:
        prefix = f"robots.{cfg.robot.name}.{arm.name}"
        speeds = np.abs(record.arrays[f"{prefix}.joint_velocities"]) / np.array(arm.max_velocity)
        opening = record.arrays[f"{prefix}.gripper_opening"].ravel()
        closing = np.abs(np.diff(opening, prepend=opening[:1])) * cfg.world.record_hz
        idle &= (speeds.max(axis=1) < IDLE_SHARE) & (closing < IDLE_GRIPPER_M_S)
    return idle


def measure_task(task: str, n: int, seed: int, detours: bool) -> list[CommandFigures]:
    """Makes and measures n episodes of a task."""
    with WatchedRunner(unlatch.load(f"task={task}", seed=seed), task) as runner:
        return [runner.measure(number, detours=detours) for number in range(n)]


USES = ("velocity", "acceleration", "jerk", "torque rate")


def command_table(figures: Sequence[CommandFigures]) -> Table:
    """Returns the table of the commands, a row for each task and one for all."""
    table = Table(box=MARKDOWN)
    columns = ("task", "success", "duration", "longest", "idle", "most idle", "detour", "longest", "force N", *USES)
    for column in columns:
        table.add_column(column, no_wrap=True, justify="left" if column == "task" else "right")
    names = list(dict.fromkeys(each.task for each in figures))
    for name in [*names, "all tasks"]:
        own = [each for each in figures if name in (each.task, "all tasks")]
        table.add_row(name, *_cells(own))
    return table


def _cells(own: Sequence[CommandFigures]) -> Iterator[str]:
    made = [each for each in own if each.success]
    yield f"{len(made)}/{len(own)}"
    if not made:
        yield from ["-"] * (8 + len(USES) - 1)
        return
    durations = [each.duration_s for each in made]
    yield f"{np.mean(durations):.1f} s"
    yield f"{max(durations):.1f} s"
    yield f"{100.0 * sum(each.idle for each in made) / sum(each.frames for each in made):.1f} %"
    yield f"{100.0 * max(each.idle / each.frames for each in made):.1f} %"
    detours = [ratio for each in made for ratio in each.detours]
    yield f"{np.mean(detours):.2f}" if detours else "-"
    yield f"{max(detours):.2f}" if detours else "-"
    yield f"{np.median([each.force_n for each in made]):.0f}"
    for name in USES:
        values = [each.use[name] for each in made if name in each.use]
        above = sum(value > 1.0 for value in values)
        yield f"{max(values):.2f} ({above}/{len(values)})" if values else "-"
