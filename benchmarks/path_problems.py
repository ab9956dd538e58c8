"""Solved share and time of goal, approach and articulated path at 25 waypoints, on problems drawn by a seed.

Usage: python benchmarks/path_problems.py [n=200] [seed=0] [clearance=false]

A problem is a Panda in front of a hinge (vertical or horizontal), a slider, a knob or a lid, drawn from ranges that
hold what such things measure; nobody picked them, so some are out of reach. With `clearance=true` the shipped tasks
are planned against their procedural objects instead: arm, hand and self against everything, along the whole motion.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robots.franka_panda import franka_panda, urdf_path
from simcore.geometry import matrix_from_axis_angle
from solver.kinematics import Kinematics
from solver.path.path_solver import PathSolver, Slip, SlipMode
from solver.planning.candidates import CandidateStage
from solver.planning.goals import GoalStage
from solver.planning.plan import KeyframePlan, PlanBudget, PlanRequest
from solver.planning.plan_log import PlanLog
from solver.planning.planner import plan_keyframes
from solver.scene import ArmModel, JointGeometry, PlanningScene
from solver.settings.reader import read_planner_setting
from solver.settings.setting import PlannerSettingCfg

Array = np.ndarray
WAYPOINTS = 24
MAX_STEP_RAD = 0.3
TASKS = ("open_microwave", "close_microwave", "open_drawer", "close_drawer")
_LIMIT_MARGIN_RAD = 0.02
_X, _Y, _Z = np.eye(3)


@dataclass(frozen=True)
class Problem:
    """One request, and what it is."""

    kind: str
    """`hinge_vertical`, `hinge_horizontal`, `slider`, `knob` or `lid`, with `open`, `close` or `turn`."""
    request: PlanRequest


def panda() -> ArmModel:
    """The shipped Panda without its scene."""
    arm = franka_panda().arms[0]
    return ArmModel(
        kinematics=Kinematics.from_urdf(urdf_path(), base_link=arm.base_link, tip_link=arm.ee_link),
        tool_keypoints={
            "tool_head": np.array([0, 0, 0.1034]),
            "tool_tail": np.array([0, 0, 0.0584]),
            "tool_side": np.array([0, 0.04, 0.1034]),
        },
        q_lower=np.array(arm.lower) + _LIMIT_MARGIN_RAD,
        q_upper=np.array(arm.upper) - _LIMIT_MARGIN_RAD,
        max_velocity=np.array(arm.max_velocity),
        max_acceleration=np.array(arm.max_acceleration),
        workspace=np.array([[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]]),
        q_home=np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    )


def problems(arm: ArmModel, *, n: int, seed: int) -> Iterator[Problem]:
    """Draws n problems, the kinds in turn.

    Args:
        arm: The arm.
        n: How many.
        seed: Of the draws; problem i depends on (seed, i) alone.
    """
    makers: tuple[Callable[[np.random.Generator], _Drawn], ...] = (
        _hinge_vertical,
        _hinge_horizontal,
        _slider,
        _knob,
        _lid,
    )
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        drawn = makers[i % len(makers)](rng)
        yield Problem(
            drawn.kind,
            PlanRequest(
                arm=arm,
                scene=drawn.placed(rng),
                setting=drawn.setting(),
                q_current=np.clip(arm.q_home + rng.normal(scale=0.1, size=arm.n_q), arm.q_lower, arm.q_upper),
                follow_to=drawn.target,
                closed_gripper=drawn.push,
                slips=drawn.slips,
                retreat_m=0.0,
                budget=PlanBudget(waypoints=WAYPOINTS),
            ),
        )


@dataclass(frozen=True)
class _Drawn:
    """A part in the frame of its object: x out of the front, y to the object's right-hand side as x turns up, z up."""

    kind: str
    head: Array
    tail: Array
    contact: Array
    axis: Array
    origin: Array
    prismatic: bool
    start: float
    target: float
    limits: tuple[float, float]
    distance: tuple[float, float]
    """Range of the distance from the arm's base to the front [m]."""
    height: tuple[float, float]
    """Range of the object's height over the arm's base [m]."""
    push: bool = False
    tolerance: float = 0.8
    """Of the direction of approach [rad]."""
    along_edge: bool = True
    """Whether the fingers must lie across the edge."""
    slips: tuple[Slip, ...] | None = None

    def placed(self, rng: np.random.Generator) -> PlanningScene:
        bearing, yaw = rng.uniform(-0.8, 0.8), rng.uniform(-0.8, 0.8)
        R = matrix_from_axis_angle(_Z, math.pi + bearing + yaw)
        reach = rng.uniform(*self.distance)
        p = np.array([reach * math.cos(bearing), reach * math.sin(bearing), rng.uniform(*self.height)])
        closed = PlanningScene(
            keypoints={
                "articulated_object_head": R @ self.head + p,
                "articulated_object_tail": R @ self.tail + p,
            },
            axes={"link0_contact_axis": R @ self.contact, "base_front_axis": R @ _X},
            R_base_link=R,
            R_base_world=np.eye(3),
            joint=JointGeometry(self.prismatic, R @ self.origin + p, R @ self.axis, 0.0, *self.limits),
            s_closed=0.0,
            s_open=self.limits[1],
            link_frame=frozenset({"articulated_object_head", "articulated_object_tail", "link0_contact_axis"}),
        )
        return closed.at(self.start)

    def setting(self) -> PlannerSettingCfg:
        between = {"axis_from_keypoint_name": "tool_head", "axis_to_keypoint_name": "tool_tail"}
        constraints: list[dict[str, Any]] = [
            {
                "type": "point2point_constraint",
                "keypoint_name": "tool_head",
                "target_keypoint_name": "articulated_object_head",
                "tolerance": 1e-3,
            },
            {
                "type": "frame_axis_parallel",
                **between,
                "cross_target_axis1_from_keypoint_name": "articulated_object_head",
                "cross_target_axis1_to_keypoint_name": "articulated_object_tail",
                "target_axis": "link0_contact_axis",
                "tolerance": self.tolerance,
            },
        ]
        if self.along_edge:
            constraints.append(
                {
                    "type": "keypoint_axis_parallel",
                    "axis_from_keypoint_name": "tool_head",
                    "axis_to_keypoint_name": "tool_side",
                    "target_axis_from_keypoint_name": "articulated_object_head",
                    "target_axis_to_keypoint_name": "articulated_object_tail",
                    "tolerance": 0.05,
                }
            )
        raw = {
            "success_threshold": 0.1,
            "constraint_list": constraints,
            "pre_actuation_motions": [["translate_z", -0.08 if self.push else -0.1]],
        }
        setting: PlannerSettingCfg = read_planner_setting(raw, where="planner_setting")[0]
        return setting


def _between(rng: np.random.Generator, opened: tuple[float, float]) -> tuple[bool, float, float]:
    """Whether it is closed, and from where to where."""
    push = bool(rng.random() < 0.5)
    wide = float(rng.uniform(*opened))
    return (True, wide, -0.02 * wide) if push else (False, 0.0, wide)


def _hinge_vertical(rng: np.random.Generator) -> _Drawn:
    push, start, target = _between(rng, (0.7, 1.6))
    side, width = float(rng.choice([-1.0, 1.0])), rng.uniform(0.22, 0.5)
    stands, edge, z = (0.0 if push else rng.uniform(0.03, 0.06)), rng.uniform(0.03, 0.06), rng.uniform(0.08, 0.25)
    head = np.array([stands, -side * (width - edge), z])
    across = np.array([0.0, -side, 0.0])
    return _Drawn(
        kind=f"hinge_vertical {'close' if push else 'open'}",
        head=head,
        tail=head + 0.03 * across,
        contact=np.cross(_X, across),
        axis=side * _Z,
        origin=np.zeros(3),
        prismatic=False,
        start=start,
        target=target,
        limits=(0.0, 1.8),
        distance=(0.4, 0.85),
        height=(-0.1, 0.5),
        push=push,
        tolerance=0.6 if push else 0.8,
        along_edge=not push,
    )


def _hinge_horizontal(rng: np.random.Generator) -> _Drawn:
    push, start, target = _between(rng, (0.6, 1.5))
    tall = rng.uniform(0.2, 0.4)
    head = np.array([0.0 if push else rng.uniform(0.03, 0.06), rng.uniform(-0.08, 0.08), tall - 0.04])
    return _Drawn(
        kind=f"hinge_horizontal {'close' if push else 'open'}",
        head=head,
        tail=head + 0.03 * _Z,
        contact=np.cross(_X, _Z),
        axis=_Y,
        origin=np.zeros(3),
        prismatic=False,
        start=start,
        target=target,
        limits=(0.0, 1.6),
        distance=(0.45, 0.85),
        height=(-0.1, 0.5),
        push=push,
        tolerance=0.6 if push else 0.8,
        along_edge=not push,
    )


def _slider(rng: np.random.Generator) -> _Drawn:
    push, start, target = _between(rng, (0.15, 0.3))
    head = np.array([0.0 if push else rng.uniform(0.03, 0.06), rng.uniform(-0.1, 0.1), rng.uniform(0.05, 0.3)])
    return _Drawn(
        kind=f"slider {'close' if push else 'open'}",
        head=head,
        tail=head + 0.03 * _Z,
        contact=np.cross(_X, _Z),
        axis=_X,
        origin=np.zeros(3),
        prismatic=True,
        start=start,
        target=target,
        limits=(0.0, 0.32),
        distance=(0.45, 0.85),
        height=(-0.1, 0.5),
        push=push,
        tolerance=0.6 if push else 0.8,
        along_edge=not push,
    )


def _knob(rng: np.random.Generator) -> _Drawn:
    head = np.array([rng.uniform(0.02, 0.04), rng.uniform(-0.2, 0.2), rng.uniform(0.1, 0.4)])
    return _Drawn(
        kind="knob turn",
        head=head,
        tail=head + 0.02 * _Y,
        contact=np.cross(_X, _Y),
        axis=_X,
        origin=head,
        prismatic=False,
        start=0.0,
        target=float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.6)),
        limits=(-3.1, 3.1),
        distance=(0.4, 0.85),
        height=(-0.1, 0.5),
        tolerance=0.15,
        along_edge=False,
        slips=(Slip(SlipMode.fixed),),
    )


def _lid(rng: np.random.Generator) -> _Drawn:
    push, start, target = _between(rng, (0.5, 1.3))
    deep = rng.uniform(0.2, 0.4)
    head = np.array([0.0 if push else rng.uniform(0.03, 0.05), rng.uniform(-0.08, 0.08), 0.0])
    return _Drawn(
        kind=f"lid {'close' if push else 'open'}",
        head=head,
        tail=head + 0.02 * _Z,
        contact=np.cross(_X, _Z),
        axis=-_Y,
        origin=np.array([-deep, 0.0, 0.0]),
        prismatic=False,
        start=start,
        target=target,
        limits=(0.0, 1.6),
        distance=(0.3, 0.7),
        height=(0.0, 0.6),
        tolerance=0.8,
        along_edge=not push,
        slips=(Slip(SlipMode.bar), Slip(SlipMode.gimbal)),
    )


@dataclass(frozen=True)
class Outcome:
    """What came of one problem."""

    kind: str
    found: bool
    code: str
    ms: float
    """Goal, path and approach, with collision checks where there are some [ms]."""
    limits_left: int
    """Keyframes and samples outside the joint limits."""
    largest_step_rad: float


def main(arguments: list[str]) -> int:
    """Runs the problems and prints what came of them."""
    options = {"n": "200", "seed": "0", "clearance": "false"}
    given = dict(argument.partition("=")[::2] for argument in arguments)
    if set(given) - set(options):
        print(
            f"Unknown: {', '.join(sorted(set(given) - set(options)))}. Expected {', '.join(options)}.", file=sys.stderr
        )
        return 2
    options.update(given)
    n, seed = int(options["n"]), int(options["seed"])
    if options["clearance"] == "true":
        _print("with clearance, shipped tasks", list(_planned_tasks(n, seed)))
        return 0
    arm = panda()
    for problem in problems(arm, n=10, seed=seed + 1):  # programs are built on first use
        _plan(problem, rescues=0)
        _plan(problem)
    drawn = list(problems(arm, n=n, seed=seed))
    tracked = [_outcome(problem.kind, arm, _plan(problem, rescues=0)) for problem in drawn]
    outcomes = [_outcome(problem.kind, arm, _plan(problem)) for problem in drawn]
    _print("goal, path and approach", outcomes)
    _print("the whole program from the most promising goal", [_by_program(problem) for problem in drawn])
    alone = sum(o.found for o in tracked)
    print(f"step by step alone: {alone} of {n}; the whole program adds {sum(o.found for o in outcomes) - alone}")
    return 0


def _plan(problem: Problem, *, rescues: int | None = None) -> KeyframePlan:
    request = problem.request
    if rescues is not None:
        request = replace(request, budget=replace(request.budget, rescues=rescues))
    return plan_keyframes(request, None, np.random.default_rng(0))


def _by_program(problem: Problem) -> Outcome:
    """Goal, approach and path as one program from one goal, that whose coarse path is best."""
    request, log = problem.request, PlanLog()
    paths = PathSolver(request.arm)
    goals = GoalStage(request, paths, np.random.default_rng(0), log)
    stage = CandidateStage(request, goals, paths, log)
    reached = goals.moved(goals.wave(0))
    ranked = stage.ranked(reached, stage.slips()[0])
    if ranked:
        stage.lose(ranked[0])
    began = time.perf_counter()
    found = stage.rescued(1)
    ms = 1e3 * (time.perf_counter() - began)
    if not found or found[0].path is None:
        return Outcome(problem.kind, False, "path" if reached else "goal", ms, 0, 0.0)
    q = found[0].path.q
    left = int(np.any((q < request.arm.q_lower) | (q > request.arm.q_upper), axis=1).sum())
    return Outcome(problem.kind, True, "", ms, left, float(np.abs(np.diff(q, axis=0)).max()))


def _outcome(kind: str, arm: ArmModel, plan: KeyframePlan) -> Outcome:
    ms = sum(plan.timings_ms[stage] for stage in ("goal", "path", "collision"))
    code = "" if plan.diagnosis is None else plan.diagnosis.code
    if not plan.found:
        return Outcome(kind, False, code, ms, 0, 0.0)
    rows = [keyframe.q for keyframe in plan.keyframes] + [q for segment in plan.segments for q in segment.q]
    left = sum(bool(np.any(q < arm.q_lower) or np.any(q > arm.q_upper)) for q in rows)
    follow = [s.q for s in plan.segments if s.kind == "follow"]
    step = max((float(np.abs(np.diff(q, axis=0)).max()) for q in follow), default=0.0)
    return Outcome(kind, True, code, ms, left, step)


def _planned_tasks(n: int, seed: int) -> Iterator[Outcome]:
    """Plans of the shipped tasks, in turn, against their objects."""
    from workflows.commandline import CommandLine, load_configs
    from workflows.runner import EpisodeRunner
    from workflows.schema import CollectCfg

    for task in TASKS:
        (loaded,) = load_configs("collect", CollectCfg, CommandLine(overrides=[f"task={task}", f"seed={seed}"]))
        with EpisodeRunner(loaded.cfg) as runner:
            runner.warm_up()
            for number in range(n // len(TASKS)):
                skill = runner.plan(number)
                plan = skill.keyframe_plan
                if plan is not None:
                    yield _outcome(task, skill.context.arm_model, plan)


def _print(title: str, outcomes: list[Outcome]) -> None:
    found = [o for o in outcomes if o.found]
    print(f"{title}: {len(found)} of {len(outcomes)} solved")
    for name, group in (("all", outcomes), ("solved", found), ("not solved", [o for o in outcomes if not o.found])):
        if group:
            ms = np.array([o.ms for o in group])
            median, p95 = np.percentile(ms, [50, 95])
            print(f"  {name:10} n={len(group):4}  median {median:6.1f} ms  p95 {p95:6.1f}  max {ms.max():7.1f}")
    print(f"  joint limits left: {sum(o.limits_left for o in found)} rows")
    print(f"  largest step of a joint: {max((o.largest_step_rad for o in found), default=0.0):.3f} rad")
    for kind in sorted({o.kind for o in outcomes}):
        group = [o for o in outcomes if o.kind == kind]
        codes = Counter(o.code for o in group if not o.found)
        lost = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
        print(f"  {kind:24} {sum(o.found for o in group):4} of {len(group):4}   {lost}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
