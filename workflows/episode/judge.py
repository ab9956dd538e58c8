"""Decides whether an episode succeeds, frame by frame, by the same rule for skills, policies and replays.

`unlatch.simcore.recording.success_rules` states the rule of success and its limits; this module applies it. A
`SkillRun` is one skill from its beginning to its end. Where several arms act side by side there is one run for
each, judged by the contact views of its own arm and those that belong to no arm. Forces count against a run until
the next run of its arm begins, or the next stage of the chain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, pairwise
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import PartKind
from unlatch.objects.carrying_conditions import ObjectPoses
from unlatch.objects.scene_object import SceneObject
from unlatch.robots.arm_control import Action
from unlatch.simcore.geometry import Array
from unlatch.simcore.recording.success_rules import (
    AT_SHARE,
    BYSTANDER_VIEW,
    MAX_JOINT_SPEED,
    MAX_OBJECT_MOVED_M,
    MAX_OBJECT_TURNED_RAD,
    MIN_CONTACT_SHARE,
    MOVING_STEP,
)
from unlatch.simcore.sim.contacts import SUSTAINED_S, ContactView, ObjectView
from unlatch.skills.commands import Phase
from unlatch.skills.config import stages_of
from unlatch.skills.context import Failure, FrameSpeeds, earliest
from unlatch.skills.skill import Skill
from unlatch.workflows.episode.criteria import (
    PolicyRules,
    goal_conditions,
    goal_rules,
    settle_frames,
    settle_limit,
    settle_limits,
)
from unlatch.workflows.episode.scene import EpisodeScene
from unlatch.workflows.episode.skill_run import MovedJoint, SkillRun

Joint = tuple[str, int]
"""(object, index of the joint in its arrays)."""


class GoalJudge:
    """Follows the joints of all objects, and the free objects, from frame to frame and judges the goal of the task."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        objects: Mapping[str, SceneObject],
        read_poses: Callable[[], ObjectPoses] = lambda: ObjectPoses({}, {}),
    ) -> None:
        """Stores the joint positions and poses at episode start; the state of the objects must have been read.

        `read_poses` returns where free objects and regions are now.
        """
        self._assets = {name: item.asset for name, item in objects.items()}
        self.conditions = goal_conditions(cfg.task, self._assets)
        """The conditions, as the record has them."""
        self._hz = cfg.world.record_hz
        self._read_poses = read_poses
        self._objects = objects
        self._limits: dict[tuple[str, int | None], float] = {}
        """How far what was acted on may move while the scene settles; see `settle_limits`."""
        for item in self.conditions:
            self._must_rest(item["object"], item.get("joint_index"))
        self._positions: list[dict[Joint, float]] = [self._read_positions()]
        self._poses: list[ObjectPoses] = [read_poses()]

    @property
    def positions(self) -> dict[Joint, float]:
        """Joint positions of all objects in the last frame [rad or m]."""
        return self._positions[-1]

    @property
    def poses(self) -> ObjectPoses:
        """Where the free objects and regions are in the last frame."""
        return self._poses[-1]

    def last_step(self, name: str) -> float:
        """Returns how far a free object moved in the last frame [m]."""
        before, now = (poses.objects[name].p for poses in self._poses[-2:])
        return float(np.linalg.norm(now - before))

    def observe(self) -> None:
        """Reads joints and poses after a record frame."""
        self._positions.append(self._read_positions())
        self._poses.append(self._read_poses())

    def carry(self, name: str) -> None:
        """Adds a free object that must stay where it is while the scene settles."""
        self._must_rest(name, None)

    def act_on(self, joint: Joint, s: float) -> None:
        """Adds a joint at position s [rad or m] that must stay where it is while the scene settles."""
        self._must_rest(*joint)
        self._positions[-1][joint] = s

    def _must_rest(self, name: str, joint_index: int | None) -> None:
        self._limits[name, joint_index] = settle_limit(self._assets[name], joint_index)

    def max_changes(self) -> dict[str, float]:
        """Returns how far each joint or free object that was acted on may move while the scene settles [rad or m]."""
        return settle_limits(self._assets, self._limits)

    def settle_entry(self, frame_start: int, frame_end: int) -> dict[str, Any]:
        """Returns the settling period between two frames, as the record's `settle` holds it."""
        allowed = self.max_changes()
        return {
            "frame_start": frame_start,
            "frame_end": frame_end,
            "max_change": min(allowed.values()),
            "max_changes": allowed,
        }

    def failures_since(self, frame_start: int) -> list[Failure]:
        """Returns why the goal did not last since a frame: conditions that do not hold, joints that moved."""
        found = [
            self._broken_condition("not_reached", frame_start),
            self._broken_condition("unsettled", len(self._positions) - 1),
        ]
        things = sorted(self._limits, key=lambda thing: (thing[1] is None, thing))  # joints first
        moved = [self._moved(name, joint_index, frame_start) for name, joint_index in things]
        return [failure for failure in (*found, *moved) if failure is not None]

    def _moved(self, name: str, joint_index: int | None, frame_start: int) -> Failure | None:
        """Returns that a joint, or with None a free object, moved too far since a frame; None if it stayed."""
        allowed = self._limits[name, joint_index]
        if joint_index is None:
            p = np.array([poses.objects[name].p for poses in self._poses[frame_start:]])
            change = np.linalg.norm(p - p[0], axis=1)
            joint, what = {}, f"'{name}' moved by {1e3 * change.max():.1f} mm"
            limit = f"{1e3 * allowed:g} mm"
        else:
            s = np.array([positions[name, joint_index] for positions in self._positions[frame_start:]])
            change = np.abs(s - s[0])
            joint = {"joint": self._objects[name].joint_names[joint_index]}
            what, limit = f"'{joint['joint']}' of '{name}' moved by {change.max():.4f}", f"{allowed:g}"
        above = np.flatnonzero(change > allowed)
        if not above.size:
            return None
        return Failure(
            "unsettled",
            f"{what} while it should have stayed (allowed {limit})",
            (frame_start + int(above[0])) / self._hz,
            {"object": name, **joint, "change": float(change.max()), "allowed": allowed},
        )

    def _broken_condition(self, code: str, frame: int) -> Failure | None:
        time_s = frame / self._hz
        joints = [item for item in self.conditions if "joint_index" in item]
        found = goal_failure(code, joints, self._positions[frame], self._positions[0], time_s)
        others = [item for item in self.conditions if "joint_index" not in item]
        return found or object_failure(code, others, self._poses[frame], self._poses[0], time_s)

    def _read_positions(self) -> dict[Joint, float]:
        return {
            (name, index): s
            for name, item in self._objects.items()
            for index, s in enumerate(item.body.joint_states()[0].tolist())
        }


def object_failure(
    code: str, conditions: Sequence[Mapping[str, Any]], poses: ObjectPoses, start: ObjectPoses, time_s: float
) -> Failure | None:
    """Returns the first condition on a free object that does not hold, or None; see `goal_failure`."""
    for condition in conditions:
        reached, holds = poses.measure(condition, start)
        if not holds:
            place = "" if condition.get("of") is None else f" {condition['of']}.{condition['region']}"
            return Failure(
                code,
                f"Condition '{condition['kind']}{place}' of {condition['object']} does not hold: {reached:.4f}, "
                f"limit {condition['value']:g}",
                time_s,
                {"condition": {k: v for k, v in condition.items() if k != "outline"}, "reached": reached},
            )
    return None


def goal_failure(
    code: str,
    conditions: list[dict[str, Any]],
    positions: Mapping[Joint, float],
    start: Mapping[Joint, float],
    time_s: float,
) -> Failure | None:
    """Returns the first condition that does not hold, or None.

    Args:
        code: `not_reached` when settling begins, `unsettled` when it ends.
        conditions: From `goal_conditions`.
        positions: Joint positions that are judged, by (object, joint index) [rad or m].
        start: Joint positions at episode start [rad or m].
        time_s: Simulated time of those positions [s].
    """
    for condition in conditions:
        joint = (condition["object"], condition["joint_index"])
        s = positions[joint]
        moved = abs(s - start[joint])
        value = condition["value"]
        if condition["kind"] == "moved":
            reached, holds = moved, moved >= value
        elif condition["kind"] == "moved_fraction":
            reached = moved / abs(condition["s_open"] - condition["s_closed"])
            holds = reached >= value
        elif condition["kind"] == "open_fraction":
            reached = (s - condition["s_closed"]) / (condition["s_open"] - condition["s_closed"])
            holds = reached >= value
        elif condition["kind"] == "at_fraction":
            reached = (s - condition["s_closed"]) / (condition["s_open"] - condition["s_closed"])
            holds = abs(reached - value) <= AT_SHARE
        else:
            reached = abs(s - condition["s_closed"])
            holds = reached <= value
        if not holds:
            return Failure(
                code,
                f"Goal '{condition['kind']} {value:g}' of {joint[0]}.{condition['part']} does not hold: {reached:.4f}",
                time_s,
                {"condition": condition, "reached": reached, "s": s},
            )
    return None


_HELD_M = 0.002
"""Fingers that stay this far from where they close have something between them [m]."""


class Judge:
    """Judges one episode."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        scene: EpisodeScene,
        acted_on: Sequence[tuple[str, str | None]],
        *,
        policy: PolicyRules | None = None,
    ) -> None:
        """Starts to judge a scene that was just built; the state of the scene must have been read.

        `policy` has the rules for a policy; None: the episode is a demonstration.
        """
        self.runs: list[SkillRun] = []
        """All skills that have begun, in this order."""
        self.current: list[SkillRun] = []
        """The last run of every arm that acts now."""
        self.success = False
        """Whether the episode has succeeded; from then on nothing is judged."""
        self.window: tuple[int, int] | None = None
        """First and last state frame of the settling period; None before success."""
        self.goal_frame: int | None = None
        """State frame in which the goal had first held for the settling period; only measured for a policy."""
        self.timed_out = False
        """Whether the time of the episode is over."""
        self._cfg = cfg
        self._chain = stages_of(cfg.skills)
        self._scene = scene
        self._acted_on = acted_on
        self._policy = policy
        self._goes_on = policy is not None and not policy.end_at_violation
        self._failures: list[Failure] = []
        self._diverged = False
        self._frame = 0
        self._still_since: int | None = None
        self._targets: list[float] | None = None
        self.goal = GoalJudge(cfg, scene.objects, scene.poses)
        """Judges the goal of the task."""

    @property
    def failure(self) -> Failure | None:
        """The broken rule that came first."""
        return earliest(self._failures)

    @property
    def over(self) -> bool:
        """Whether the episode ends: it has succeeded, or it has failed and nothing is left to measure."""
        if self._goes_on and not (self.timed_out or self._diverged):
            return self.success or (bool(self._failures) and self.goal_frame is not None)
        return self.success or bool(self._failures)

    @property
    def begun_entries(self) -> set[int]:
        """Places in the chain of the skills that have begun."""
        return {run.chain_index for run in self.runs}

    @property
    def settle_frames(self) -> int:
        """Number of record frames for which the goal must hold and the parts must rest."""
        return settle_frames(self._cfg)

    def begin_skill(
        self, skill: Skill, part: str | None, *, chain_index: int, earlier: SkillRun | None = None
    ) -> SkillRun:
        """Begins the run of a skill; frames from here on are judged by its rules.

        `earlier` is the attempt at the same skill that was broken off: the displacement still counts from where the
        part was when the first attempt began.
        """
        name, arm = skill.cfg.objects[0], skill.context.arm.name
        stage = next(n for n, sequences in enumerate(self._chain) if any(chain_index in each for each in sequences))
        concurrent = [run for run in self.current if run.stage == stage and run.arm != arm]
        self._scene.act_on(name, part, arm=arm, alone=not concurrent, link=skill.touched_link)
        item = self._scene.objects[name]
        assets = {each: other.asset for each, other in self._scene.objects.items()}
        conditions = [each.describe(assets) for each in skill.declare_conditions(skill.cfg, assets)]
        moved: MovedJoint | None = None
        if part is None:
            self.goal.carry(name)
        else:
            joint = item.asset.articulation.part(part).joint
            index, s = item.joint_index(joint), item.joint_position(joint)
            moved = MovedJoint(joint, index, s, s)
            self.goal.act_on((name, index), s)
        run = SkillRun(skill, part, moved, chain_index, stage, self._frame, self.goal.poses, conditions)
        if part is not None and item.can_move:
            run.start_root = _root_of(item)
        if earlier is not None:
            run.continue_from(earlier)
        self.runs.append(run)
        self.current = [*concurrent, run]
        named = {each for other in self.runs for each in other.named_objects}
        for view in self._judged_views(run):
            if isinstance(view, ObjectView):
                is_bystander = view.name.endswith(BYSTANDER_VIEW) and view.name.partition(".")[0] not in named
                touch_n = run.rule.contact_force_threshold_n if is_bystander else math.inf
                view.watch(run.rule.scene_force_threshold_n, touch_n=touch_n)
            elif not concurrent or view.violation is not None or view.name.startswith(f"{self._cfg.robot.name}.{arm}."):
                view.watch(run.rule.contact_force_threshold_n)
        return run

    def attempts_at(self, chain_index: int) -> list[SkillRun]:
        """Returns the runs of a skill of the chain, the first attempt first."""
        return [run for run in self.runs if run.chain_index == chain_index]

    def break_off_skill(self, run: SkillRun, failure: Failure) -> None:
        """Ends a run that is attempted again: its conditions are not judged, its forces and speeds still are."""
        self.end_skill(run, broken_off=True)
        run.broken_by = failure

    def end_skill(self, run: SkillRun, *, broken_off: bool = False) -> None:
        """Ends a run; judges its conditions unless it was broken off before its time."""
        unmet: list[Failure] = []
        if not broken_off and (self._goes_on or not self._failures):
            unmet = self.unmet_conditions(run)
            self._failures += unmet
        run.frame_end, run.broken_off = self._frame, broken_off
        failed = run.broke_rule or bool(unmet) if self._goes_on else bool(self._failures)
        run.success = not (broken_off or failed)

    def observe(self, action: Action, speeds: FrameSpeeds) -> None:
        """Judges a record frame that was just simulated, with the largest joint speeds of its physics steps."""
        self._frame += 1
        self.goal.observe()
        self._note_targets(action)
        if not self.runs or self.over:
            return
        for run in self.current:
            if run.is_open:
                self._note_contact(run)
        self._check_finite()
        for run in self.current:
            self._check_forces(run)
        for run in self.current:
            self._check_loads(run)
        for run in self.current:
            self._check_place(run)
        for run in self.current:
            self._check_speeds(run, speeds)
        time_s, allowed_s = self._scene.world.time_s, self._cfg.task.max_duration_s
        if time_s > allowed_s:
            self.timed_out = True
            self._fail("timeout", f"The episode took longer than {allowed_s:g} s", allowed_s=allowed_s)
        if self._policy is not None:
            self._check_goal()
        if not self._failures:
            self._check_success()

    def break_off(self) -> None:
        """Ends an episode that nothing drives any more; unmet conditions are judged in the present state."""
        if self.over or not self.runs:
            return
        for run in self._open_runs():
            self.end_skill(run)
        if not self._failures:
            self._fail("unsettled", "The episode ended before the scene had stood still for long enough")

    def end_reached_skills(self) -> list[int]:
        """Ends skills whose conditions are met and after which others follow: for arms that a policy moves.

        Returns:
            Places in the chain of the skills that begin now.
        """
        if self.over or len(self.begun_entries) == len(self._cfg.skills):
            return []
        if not self.runs:
            return [sequence[0] for sequence in self._chain[0]]
        stage = self.current[-1].stage
        following = {a: b for sequence in self._chain[stage] for a, b in pairwise(sequence)}
        after = [sequence[0] for sequence in self._chain[stage + 1]] if stage + 1 < len(self._chain) else []
        done = [
            run
            for run in self._open_runs()
            if self._is_complete(run)
            and self._has_let_go(run, [following[run.chain_index]] if run.chain_index in following else after)
        ]
        going_on = [run for run in done if run.chain_index in following]
        all_begun = all(entry in self.begun_entries for sequence in self._chain[stage] for entry in sequence)
        if not going_on and all_begun and len(done) == len(self._open_runs()):
            for run in done:
                self.end_skill(run)
            return after
        for run in going_on:
            self.end_skill(run)
        return [following[run.chain_index] for run in going_on]

    def _is_complete(self, run: SkillRun) -> bool:
        """Whether nothing is missing of a skill, or nothing but contact that comes too late to count as clean."""
        if not self._goes_on:
            return not self.unmet_conditions(run)
        is_late = bool(self._failures) or run.free_frames >= self.settle_frames
        return not self.unmet_conditions(run) or (is_late and run.skill.unmet_condition() is None)

    def _has_let_go(self, run: SkillRun, after: list[int]) -> bool:
        """Whether an arm has let go of a part that the next skills do not act on; until then it may touch the part."""
        if not run.skill.executes:
            return True
        parts: set[tuple[str, str | None]] = {self._acted_on[index] for index in after}
        return parts <= {(run.object_name, run.part)} or run.free_frames >= self.settle_frames

    def _open_runs(self) -> list[SkillRun]:
        return [run for run in self.current if run.is_open]

    def _check_success(self) -> None:
        start = self._frame - self.settle_frames
        if start < self.runs[-1].frame_start:
            return
        may_move = self._policy is not None and self._policy.arms_may_move
        if not may_move and (self._still_since is None or start < self._still_since):
            return
        if len(self.begun_entries) < len(self._cfg.skills) or any(run.broken_off for run in self.current):
            return
        if any(self.unmet_conditions(run) for run in self._open_runs()):
            return
        if not self.goal.failures_since(start):
            self.window = (start, self._frame)
            for run in self._open_runs():
                self.end_skill(run)
            self.success = True

    def _check_goal(self) -> None:
        """Notes the first frame in which the goal has held for the settling period, whatever rules were broken."""
        start = self._frame - self.settle_frames
        all_begun = len(self.begun_entries) == len(self._cfg.skills)
        if self.goal_frame is not None or not all_begun or start < self.runs[-1].frame_start:
            return
        moving = [run.skill for run in self._open_runs() if run.rule.success_mode is not None]
        if any(skill.unmet_condition() is not None for skill in moving) or self.goal.failures_since(start):
            return
        self.goal_frame = self._frame

    def goal_entry(self) -> dict[str, Any]:
        """Returns the goal of the episode as the record holds it; whether it was reached only where nothing hid it."""
        entry: dict[str, Any] = {"conditions": self.goal.conditions}
        if self._goes_on:
            entry |= {"reached": self.goal_frame is not None, "reached_frame": self.goal_frame}
            entry |= goal_rules(self._cfg)
            entry["max_changes"] = self.goal.max_changes() if self.runs else {}
        return entry

    def unmet_conditions(self, run: SkillRun) -> list[Failure]:
        """Returns the conditions of success that a run does not meet now."""
        found = []
        unmet_condition = run.skill.unmet_condition()
        if unmet_condition is not None:
            found.append(unmet_condition)
        elsewhere = object_failure(
            "not_reached", run.conditions, self.goal.poses, run.start_poses, self._scene.world.time_s
        )
        if elsewhere is not None and unmet_condition is None:
            found.append(elsewhere)
        if run.rule.finger_contact_required:
            share = run.touching_while_moving / run.moving_frames if run.moving_frames else 1.0
            if not run.touching_frames:
                found.append(
                    self._failure(
                        "grasp_missed", f"The fingers never touched '{run.thing}'", moving_frames=run.moving_frames
                    )
                )
            elif share < MIN_CONTACT_SHARE:
                found.append(
                    self._failure(
                        "slipped",
                        f"The fingers touched '{run.thing}' in {share:.0%} of the frames in which it moved, expected "
                        f"at least {MIN_CONTACT_SHARE:.0%}",
                        share=share,
                        moving_frames=run.moving_frames,
                    )
                )
        return [run.label_failure(failure) for failure in found]

    def _note_targets(self, action: Action) -> None:
        arms = [arm for _, arm in sorted(action.arms.items())]
        targets = [target for arm in arms for target in (arm.gripper_target_m, *arm.joint_targets.tolist())]
        if targets != self._targets:
            self._still_since = None
        elif self._still_since is None:
            self._still_since = self._frame - 1
        self._targets = targets

    def _note_contact(self, run: SkillRun) -> None:
        views = self._scene.views[run.arm][(run.object_name, run.part)]
        touching = float(np.asarray(views.fingers_link.force_max_n.get_value())) > 0.0
        if run.moved is None:
            moving = self.goal.last_step(run.object_name) > MOVING_STEP
        else:
            s = self.goal.positions[(run.object_name, run.moved.index)]
            moving = abs(s - run.moved.s) > MOVING_STEP
            run.moved.s = s
        run.touching_frames += touching
        run.free_frames = 0 if touching else run.free_frames + 1
        run.moving_frames += moving
        run.touching_while_moving += moving and touching

    def _check_finite(self) -> None:
        joints = [arm.q for arm in self._scene.robot.arms.values()]
        free = [pose.p for pose in self.goal.poses.objects.values()]
        numbers = [*self.goal.positions.values(), *chain.from_iterable(array.tolist() for array in (*joints, *free))]
        if not math.isfinite(sum(numbers)):
            self._diverged = True
            self._fail("diverged", "The simulation gave values that are not finite")

    def _judged_views(self, run: SkillRun) -> list[ContactView]:
        """Returns all contact views but those of concurrent arms."""
        if run.judged_views:
            return run.judged_views
        robot = self._cfg.robot.name
        others = {self._cfg.skills[entry].arm for sequence in self._chain[run.stage] for entry in sequence}
        prefixes = tuple(f"{robot}.{arm}." for arm in others - {run.arm, None})
        run.judged_views = [v for name, v in self._scene.monitor.views.items() if not name.startswith(prefixes)]
        return run.judged_views

    def _check_forces(self, run: SkillRun) -> None:
        forbidden = [view for view in self._judged_views(run) if not view.name.endswith(".fingers_link")]
        run.zero_force_contacts = sum(view.zero_force_points for view in forbidden)
        hits = [view.violation for view in forbidden if view.violation is not None]
        if not hits:
            return
        hit = min(hits, key=lambda violation: violation.physics_step)
        if run.first_violation is None and run.frame_end is None:
            run.first_violation = hit
        if run.rule.collision_valid_enabled and run.collision_valid:
            run.collision_valid = False
            allowed_n = self._scene.monitor.views[hit.view].exceeded_n
            phase = run.skill.phase
            while_in = "" if phase is Phase.idle else f" while in phase {phase.name}"
            failure = Failure(
                "collision",
                f"{hit.pair[0]} pressed {hit.pair[1]} with {hit.force_n:.1f} N (allowed {allowed_n:.4g} N){while_in}",
                hit.time_s,
                {**asdict(hit), "pair": list(hit.pair), "phase": phase.name},
            )
            self._failures.append(run.label_failure(failure))

    def _check_loads(self, run: SkillRun) -> None:
        loads, limit_n = self._scene.loads[run.arm], run.rule.finger_force_limit_n
        force_n = float(np.asarray(loads.force_sustained_n.get_value()))
        arm = self._scene.robot.arms[run.arm]
        holds = not run.skill.closed_gripper and arm.gripper_opening_m > arm.gripper_target_m + _HELD_M
        if run.skill.phase is Phase.follow and holds:
            run.pressed_n = max(run.pressed_n or 0.0, float(np.asarray(loads.force_mean_n.get_value())))
        if force_n > limit_n and not run.overloaded:
            run.overloaded = True
            finger = min(loads.fingers[loads.sustained_on])
            failure = self._failure(
                "overload",
                f"{finger} bore {force_n:.0f} N for longer than {1e3 * SUSTAINED_S:g} ms (allowed {limit_n:g} N)",
                hand=f"{self._cfg.robot.name}.{run.arm}",
                finger=finger,
                force_n=force_n,
                limit_n=limit_n,
                phase=run.skill.phase.name,
            )
            self._failures.append(run.label_failure(failure))

    def _check_place(self, run: SkillRun) -> None:
        """Judges whether the object of a part has moved as a whole, if nothing fastens it."""
        item = self._scene.objects[run.object_name]
        if run.start_root is None or run.object_moved:
            return
        place, quat_xyzw = _root_of(item)
        moved_m = float(np.linalg.norm(place - run.start_root[0]))
        turned = 2.0 * math.acos(min(1.0, abs(float(quat_xyzw @ run.start_root[1]))))
        if moved_m > MAX_OBJECT_MOVED_M or turned > MAX_OBJECT_TURNED_RAD:
            run.object_moved = True
            failure = self._failure(
                "moved_object",
                f"'{run.object_name}' moved by {moved_m:.3f} m and turned by {turned:.2f} rad (allowed "
                f"{MAX_OBJECT_MOVED_M:g} m and {MAX_OBJECT_TURNED_RAD:g} rad)",
                object=run.object_name,
                moved_m=moved_m,
                turned_rad=turned,
            )
            self._failures.append(run.label_failure(failure))

    def _check_speeds(self, run: SkillRun, speeds: FrameSpeeds) -> None:
        if not run.rule.process_valid_enabled or not run.process_valid:
            return
        for name, speed in ((self._cfg.robot.name, speeds.robot), *speeds.objects.items()):
            if speed > MAX_JOINT_SPEED:
                run.process_valid = False
                joint = speeds.too_fast.get(name)
                which = "A joint" if joint is None else f"Joint '{joint.name}'"
                unit = "rad/s or m/s" if joint is None else "m/s" if joint.prismatic else "rad/s"
                is_led = joint is not None and run.moved is not None and joint.name == run.moved.name
                is_let_go = is_led and self._falls(run) and run.skill.phase in (Phase.release, Phase.retreat)
                why = f" after the hand let go: nothing holds '{run.part}' there" if is_let_go else ""
                self._fail(
                    "overspeed",
                    f"{which} of '{name}' moved at {speed:.1f} {unit} (allowed {MAX_JOINT_SPEED:g}){why}",
                    body=name,
                    speed=speed,
                    allowed=MAX_JOINT_SPEED,
                )
                return

    def _falls(self, run: SkillRun) -> bool:
        """Returns whether gravity moves the part of a skill: a flap or a lid."""
        parts = self._scene.objects[run.object_name].asset.articulation.parts
        return run.part is not None and parts[run.part].kind in (PartKind.hinge_horizontal, PartKind.lid)

    def _fail(self, code: str, message: str, **evidence: object) -> None:
        self._failures.append(self._failure(code, message, **evidence))

    def _failure(self, code: str, message: str, **evidence: object) -> Failure:
        return Failure(code, message, self._scene.world.time_s, evidence)


def _root_of(item: SceneObject) -> tuple[Array, Array]:
    """Returns position (3,) [m] and quaternion xyzw (4,) of the root link of an object, as the record has them."""
    place, quat_xyzw = item.root_position.get_value(), item.root_quat_xyzw.get_value()
    return np.asarray(place), np.asarray(quat_xyzw)
