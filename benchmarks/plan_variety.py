"""Measures how much plans of one scene differ, and how much a plan changes when the object moves a little.

Usage: python benchmarks/plan_variety.py [tasks=open_microwave,open_drawer] [variety=null,0,1] [scenes=10] [repeats=10]
       [move_m=0.01] [seed=0]

A scene is the layout of one episode. For each scene, the first skill is planned `repeats` times with different random
streams of the planner, and nothing else changes. Then the object is moved by `move_m` along +x, -x, +y and -y, and the
skill is planned once in each place with the stream of the scene. The columns compare two plans:

- grasp: distance of the point between the fingers from the part's head keypoint [mm], and angle of the approach axis
  [rad], at the goal;
- pre, goal, end: largest difference of a joint at this keyframe [rad];
- transit: largest difference of a joint between the transits, at the same share of their lengths [rad];
- frames: difference of the numbers of frames.

For `same scene`, each value is the largest over the pairs of plans of a scene; the table shows median and maximum over
the scenes. For `moved`, it shows median, 90th percentile and the number of moves after which a joint at the goal
differs by more than 0.25 rad. `postures` counts the scenes by the posture of the arm at the goal, the most frequent one
first: two scenes have the same posture if no joint differs by more than 1.2 rad.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.rng import stream
from unlatch.skills.articulation import ArticulationSkill
from unlatch.solver.plan import KeyframePlan
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine, run_guarded
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

Array = np.ndarray

_DEFAULTS = {
    "tasks": "open_microwave,open_drawer",
    "variety": "null,0,1",
    "scenes": "10",
    "repeats": "10",
    "move_m": "0.01",
    "seed": "0",
}
_JUMP_RAD = 0.25
_POSTURE_RAD = 1.2
_TRANSIT_POINTS = 101


class Difference(NamedTuple):
    """How far two plans are apart."""

    grasp_mm: float
    grasp_rad: float
    pre_rad: float
    goal_rad: float
    end_rad: float
    transit_rad: float
    frames: float


@dataclass(frozen=True)
class ScenePlan:
    """A plan, and where the part was."""

    plan: KeyframePlan
    grasp: Array
    """(3,) point between the fingers at the goal, from the head keypoint of the part, arm's base frame [m]."""
    approach: Array
    """(3,) approach axis of the hand at the goal, arm's base frame."""
    seconds: float
    """Processor time of planning [s]."""


def main(arguments: list[str]) -> int:
    """Plans every scene and prints the table."""
    given = dict(argument.partition("=")[::2] for argument in arguments)
    if set(given) - set(_DEFAULTS):
        unknown = ", ".join(sorted(set(given) - set(_DEFAULTS)))
        print(f"Unknown: {unknown}. Expected {', '.join(_DEFAULTS)}.", file=sys.stderr)
        return 2
    options = {**_DEFAULTS, **given}
    for task in options["tasks"].split(","):
        for variety in options["variety"].split(","):
            _measure_task(task, variety, options)
    return 0


def _measure_task(task: str, variety: str, options: dict[str, str]) -> None:
    overrides = [f"task={task}", f"seed={options['seed']}", f"variety={variety}"]
    (loaded,) = load_configs("collect", CollectCfg, CommandLine(overrides=overrides))
    same: list[Difference] = []
    moved: list[Difference] = []
    seconds: list[float] = []
    postures: list[list[Array]] = []
    lost = 0
    with EpisodeRunner(loaded.cfg) as runner:
        runner.warm_up()
        for number in range(int(options["scenes"])):
            episode = runner.episode(number)
            episode.reset()
            if episode.failure is not None:
                continue
            record = _record_of(episode)
            plans = [_plan_first_skill(episode, repeat) for repeat in range(int(options["repeats"]))]
            found = [each for each in plans if each is not None]
            if not found:
                continue
            _count_posture(postures, _goal_joints(found[0].plan))
            seconds += [each.seconds for each in found]
            pairs = [_difference(a, b) for a, b in combinations(found, 2)]
            if pairs:
                same.append(Difference(*np.max(np.array(pairs), axis=0).tolist()))
            for moved_record in _moved_records(record, loaded.cfg.object.name, float(options["move_m"])):
                near = runner.episode(number)
                near.reset(moved_record)
                other = _plan_first_skill(near, 0) if near.failure is None else None
                if other is None:
                    lost += 1
                else:
                    moved.append(_difference(found[0], other))
    _print_table(task, variety, sorted(map(len, postures), reverse=True), lost, seconds, same, moved)


def _plan_first_skill(episode: Episode, repeat: int) -> ScenePlan | None:
    """Returns the plan of the first strategy that plans, with a random stream of the planner for each repeat."""
    for entry in episode.planner.strategies(0):
        skill = episode.planner.make_skill(entry)
        if not isinstance(skill, ArticulationSkill):
            raise SystemExit(f"The first skill, {entry.name}, moves no part. Name another task.")
        began = time.process_time()
        if skill.plan(stream(repeat, f"plan_variety.{entry.strategy}")) and skill.keyframe_plan is not None:
            seconds = time.process_time() - began
            arm, plan = skill.context.arm_model, skill.keyframe_plan
            T_goal = next(frame.T_base_ee for frame in plan.keyframes if frame.label == "goal")
            head = skill.snapshot().keypoint("articulated_object_head")
            return ScenePlan(
                plan, T_goal @ arm.tool_keypoints["tool_head"] - head, T_goal.R @ arm.approach_axis(), seconds
            )
    return None


def _record_of(episode: Episode) -> EpisodeRecord:
    """Returns a record from which the same scene is built."""
    objects = episode.scene.objects
    return EpisodeRecord(
        number=episode.number,
        seed=episode.seed,
        success=True,
        layout=deepcopy(episode.layout()),
        assets={name: item.asset.content_hash for name, item in objects.items()},
    )


def _moved_records(record: EpisodeRecord, name: str, move_m: float) -> Iterator[EpisodeRecord]:
    """Yields records of the scene in which one object stands `move_m` further along +x, -x, +y and -y [m]."""
    for axis, sign in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        layout = deepcopy(record.layout)
        item = layout["objects"][name]
        for key in ("position", "plinth_position"):
            if item[key] is not None:
                item[key][axis] += sign * move_m
        yield replace(record, layout=layout)


def _difference(first: ScenePlan, second: ScenePlan) -> Difference:
    a, b = first.plan, second.plan
    apart = float(np.linalg.norm(first.grasp - second.grasp))
    angle = float(np.arccos(np.clip(first.approach @ second.approach, -1.0, 1.0)))
    joints = [float(np.abs(a.keyframes[i].q - b.keyframes[i].q).max()) for i in (1, a.contact_pose_index, -1)]
    transits = [_resample(next(s.q for s in plan.segments if s.kind == "transit")) for plan in (a, b)]
    return Difference(
        1e3 * apart,
        angle,
        *joints,
        float(np.abs(transits[0] - transits[1]).max()),
        float(abs(sum(map(len, a.segments)) - sum(map(len, b.segments)))),
    )


def _goal_joints(plan: KeyframePlan) -> Array:
    return next(frame.q for frame in plan.keyframes if frame.label == "goal")


def _count_posture(postures: list[list[Array]], q: Array) -> None:
    """Adds joints (n,) [rad] to the first posture that they have, or to a new one."""
    for members in postures:
        if float(np.abs(members[0] - q).max()) < _POSTURE_RAD:
            members.append(q)
            return
    postures.append([q])


def _resample(path: Array) -> Array:
    """Returns (101, n) joints at even shares of the length of a path (W, n) [rad]."""
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    at = np.linspace(0.0, lengths[-1], _TRANSIT_POINTS)
    return np.column_stack([np.interp(at, lengths, column) for column in path.T])


def _print_table(
    task: str,
    variety: str,
    postures: Sequence[int],
    lost: int,
    seconds: list[float],
    same: Sequence[Difference],
    moved: Sequence[Difference],
) -> None:
    ms = 1e3 * np.percentile(seconds, [50, 95]) if seconds else np.zeros(2)
    print(f"{task} variety={variety}: {sum(postures)} scenes planned, {lost} moves without a plan, ", end="")
    print(f"planning {ms[0]:.0f} ms median, {ms[1]:.0f} ms p95")
    print(f"  {'':22}" + "".join(f"{name:>12}" for name in Difference._fields))
    rows = [("same scene, median", same, 50), ("same scene, maximum", same, 100)]
    rows += [("moved, median", moved, 50), ("moved, 90th percentile", moved, 90)]
    for name, found, share in rows:
        if found:
            values = np.percentile(np.array(found), share, axis=0)
            print(f"  {name:22}" + "".join(f"{value:12.3f}" for value in values))
    print(f"  postures: {' + '.join(map(str, postures))}")
    if moved:
        jumps = np.array([each.goal_rad > _JUMP_RAD for each in moved])
        print(f"  moved, goal differs by more than {_JUMP_RAD} rad: {jumps.sum()} of {len(jumps)}", flush=True)


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
