"""Whether an episode succeeds, judged frame by frame: by the same rules for skills, policies and replays.

A stage is the share of one skill in the verdict: which part must move how far, and which rules hold meanwhile. Where
several arms act side by side there is one for each, judged by the contact views of its own arm and those that belong to
no other; forces are its affair until the next one of its arm begins, or one that is not beside it.

An episode succeeds in the frame in which

- every stage is over or, for the last ones, nothing is missing;
- the goal of the task has held for `task.settle_s`, at both ends of that time, and no joint acted on has moved in it;
- in a demonstration, the targets of all arms have not changed in that time; a policy need not stand still.

It fails at once on a forbidden force, a joint that is too fast, a state that is not finite, or when its time is up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.robots.action import Action
from unlatch.simcore.recording.success_rules import (
    MAX_JOINT_SPEED,
    MAX_SETTLE_CHANGE_M,
    MAX_SETTLE_CHANGE_RAD,
    MIN_CONTACT_SHARE,
    MOVING_STEP,
)
from unlatch.simcore.sim.contacts import ContactView
from unlatch.skills.contract.chain import stages_of
from unlatch.skills.contract.command import Phase
from unlatch.skills.contract.context import FrameSpeeds
from unlatch.skills.contract.failure import Failure, earliest
from unlatch.skills.contract.skill import Skill
from unlatch.workflows.episode.goal import Joint, goal_conditions, goal_failure
from unlatch.workflows.episode.scene import EpisodeScene
from unlatch.workflows.episode.stage import Stage


class Judge:
    """Judges one episode."""

    def __init__(
        self, cfg: EpisodeCfg, scene: EpisodeScene, parts: Sequence[tuple[str, str]], *, arms_may_move: bool = False
    ) -> None:
        """Begins with the scene at its start.

        Args:
            cfg: The episode's configuration.
            scene: Its scene, with the state read.
            parts: Object and part that each skill of the chain acts on.
            arms_may_move: Whether it may succeed while targets of arms change.
        """
        self.stages: list[Stage] = []
        """All that have begun, in this order."""
        self.current: list[Stage] = []
        """The last one of every arm that acts now."""
        self.success = False
        """Whether the episode has succeeded; from then on nothing is judged."""
        self.window: tuple[int, int] | None = None
        """First and last state frame of the time in which the scene stayed as it was, on success."""
        self.goal = goal_conditions(cfg.task, scene.objects)
        self._cfg = cfg
        self._chain = stages_of(cfg.skills)
        self._scene = scene
        self._parts = parts
        self._arms_may_move = arms_may_move
        self._failures: list[Failure] = []
        self._frame = 0
        self._still_since: int | None = None
        self._targets: list[tuple[float, np.ndarray]] | None = None
        self._acted_on: set[Joint] = {(item["object"], item["joint_index"]) for item in self.goal}
        self._positions: list[dict[Joint, float]] = [self._read_positions()]

    @property
    def failure(self) -> Failure | None:
        """The violated condition that came first."""
        return earliest(self._failures)

    @property
    def over(self) -> bool:
        """Whether the episode has succeeded or failed."""
        return self.success or bool(self._failures)

    @property
    def settle_frames(self) -> int:
        """Record frames for which the scene must stay as it is."""
        return round(self._cfg.task.settle_s * self._cfg.world.record_hz)

    def settle_entry(self, frame_start: int, frame_end: int) -> dict[str, Any]:
        """A time of settling as the record's `settle`.

        Args:
            frame_start: First state frame.
            frame_end: Last state frame.
        """
        allowed = {f"{name}.{index}": self._max_change((name, index)) for name, index in sorted(self._acted_on)}
        return {
            "frame_start": frame_start,
            "frame_end": frame_end,
            "max_change": min(allowed.values()),
            "max_changes": allowed,
        }

    def _max_change(self, joint: Joint) -> float:
        item = self._scene.objects[joint[0]]
        is_slider = item.body.joint(item.joint_names[joint[1]]).prismatic
        return MAX_SETTLE_CHANGE_M if is_slider else MAX_SETTLE_CHANGE_RAD

    def begin_stage(self, skill: Skill, part: str, *, entry: int) -> Stage:
        """Begins the stage of a skill; frames from here on are judged by its rules.

        Args:
            skill: The skill, just made.
            part: Part of its object that is acted on.
            entry: Its place in the chain.
        """
        name, arm = skill.cfg.objects[0], skill.context.arm.name
        number = next(n for n, sequences in enumerate(self._chain) if any(entry in each for each in sequences))
        beside = [stage for stage in self.current if stage.number == number and stage.arm != arm]
        self._scene.act_on(name, part, arm=arm, alone=not beside, link=skill.touched_link)
        item = self._scene.objects[name]
        joint = item.asset.articulation.part(part).joint
        s = item.joint_position(joint)
        index = item.joint_index(joint)
        self._acted_on.add((name, index))
        self._positions[-1][(name, index)] = s
        stage = Stage(skill, part, joint, index, entry, number, self._frame, s, s)
        self.stages.append(stage)
        self.current = [*beside, stage]
        for view in self._judged_views(stage):
            if not beside or view.violation is not None or view.name.startswith(f"{self._cfg.robot.name}.{arm}."):
                view.watch(skill.cfg.contact_force_threshold_n)
        return stage

    def end_stage(self, stage: Stage, *, broken_off: bool = False) -> None:
        """Ends a stage and judges what it had to reach.

        Args:
            stage: The stage.
            broken_off: Whether it ended before its time; what it had to reach is not judged then.
        """
        if not (broken_off or self._failures):
            self._failures += self._missing(stage)
        stage.frame_end, stage.broken_off = self._frame, broken_off
        stage.success = not (broken_off or self._failures)

    def observe(self, action: Action, speeds: FrameSpeeds) -> None:
        """Takes notice of a record frame that has just been simulated.

        Args:
            action: What the robot was told for it.
            speeds: Largest joint speeds over its physics steps.
        """
        self._frame += 1
        self._positions.append(self._read_positions())
        self._note_targets(action)
        if not self.stages or self.over:
            return
        for stage in self.current:
            if stage.is_open:
                self._note_contact(stage)
        self._check_finite()
        for stage in self.current:
            self._check_forces(stage)
        for stage in self.current:
            self._check_speeds(stage, speeds)
        time_s, allowed_s = self._scene.world.time_s, self._cfg.task.max_duration_s
        if time_s > allowed_s:
            self._fail("timeout", f"The episode took longer than {allowed_s:g} s", allowed_s=allowed_s)
        if not self._failures:
            self._check_success()

    def break_off(self) -> None:
        """Ends an episode that nobody drives any more: what it lacks is judged as things are."""
        if self.over or not self.stages:
            return
        for stage in self._open():
            self.end_stage(stage)
        if not self._failures:
            self._fail("unsettled", "The episode ended before the scene had stood still for long enough")

    def advance_stages(self) -> list[int]:
        """Ends stages for which nothing is missing and others follow: for arms that no skill moves.

        Returns:
            Places in the chain of the skills whose stages are to begin now.
        """
        if self.over or len(self.stages) == len(self._cfg.skills):
            return []
        if not self.stages:
            return [sequence[0] for sequence in self._chain[0]]
        number = self.current[-1].number
        following = {a: b for sequence in self._chain[number] for a, b in pairwise(sequence)}
        after = [sequence[0] for sequence in self._chain[number + 1]] if number + 1 < len(self._chain) else []
        done = [
            stage
            for stage in self._open()
            if not self._missing(stage)
            and self._has_let_go(stage, [following[stage.entry]] if stage.entry in following else after)
        ]
        going_on = [stage for stage in done if stage.entry in following]
        begun = {stage.entry for stage in self.stages}
        all_begun = all(entry in begun for sequence in self._chain[number] for entry in sequence)
        if not going_on and all_begun and len(done) == len(self._open()):
            for stage in done:
                self.end_stage(stage)
            return after
        for stage in going_on:
            self.end_stage(stage)
        return [following[stage.entry] for stage in going_on]

    def _has_let_go(self, stage: Stage, after: list[int]) -> bool:
        """Whether an arm is done with a part that what comes after does not act on: until then it may touch it."""
        if not stage.skill.executes:
            return True
        parts = {self._parts[index] for index in after}
        return parts <= {(stage.object_name, stage.part)} or stage.free_frames >= self.settle_frames

    def _open(self) -> list[Stage]:
        return [stage for stage in self.current if stage.is_open]

    def not_settled(self, frame_start: int) -> list[Failure]:
        """What kept the scene from staying as it should since a frame; nothing if it did.

        Args:
            frame_start: State frame since which it should have.
        """
        hz = self._cfg.world.record_hz
        found = [self._goal_failure("not_reached", frame_start), self._goal_failure("unsettled", self._frame)]
        failures = [failure for failure in found if failure is not None]
        for joint in sorted(self._acted_on):
            s = self._track(joint, frame_start)
            change = np.abs(s - s[0])
            allowed = self._max_change(joint)
            above = np.flatnonzero(change > allowed)
            if above.size:
                name = self._scene.objects[joint[0]].joint_names[joint[1]]
                failures.append(
                    Failure(
                        "unsettled",
                        f"'{name}' of '{joint[0]}' moved by {change.max():.4f} while it should have stayed (allowed "
                        f"{allowed:g})",
                        (frame_start + int(above[0])) / hz,
                        {"object": joint[0], "joint": name, "change": float(change.max()), "allowed": allowed},
                    )
                )
        return failures

    def _check_success(self) -> None:
        start = self._frame - self.settle_frames
        if start < self.stages[-1].frame_start:
            return
        if not self._arms_may_move and (self._still_since is None or start < self._still_since):
            return
        if len(self.stages) < len(self._cfg.skills) or any(self._missing(stage) for stage in self._open()):
            return
        if not self.not_settled(start):
            self.window = (start, self._frame)
            for stage in self._open():
                self.end_stage(stage)
            self.success = True

    def _missing(self, stage: Stage) -> list[Failure]:
        """What a stage lacks for success, as things are."""
        found = []
        shortfall = stage.skill.shortfall()
        if shortfall is not None:
            found.append(shortfall)
        if stage.skill.finger_contact_required:
            share = stage.touching_while_moving / stage.moving_frames if stage.moving_frames else 1.0
            if not stage.touching_frames:
                found.append(
                    self._failure(
                        "grasp_missed", f"The fingers never touched '{stage.part}'", moving_frames=stage.moving_frames
                    )
                )
            elif share < MIN_CONTACT_SHARE:
                found.append(
                    self._failure(
                        "slipped",
                        f"The fingers touched '{stage.part}' in {share:.0%} of the frames in which it moved, expected "
                        f"at least {MIN_CONTACT_SHARE:.0%}",
                        share=share,
                        moving_frames=stage.moving_frames,
                    )
                )
        return [stage.blamed(failure) for failure in found]

    def _note_targets(self, action: Action) -> None:
        targets = [(arm.gripper_target_m, arm.joint_targets) for _, arm in sorted(action.arms.items())]
        same = self._targets is not None and all(
            new[0] == old[0] and np.array_equal(new[1], old[1]) for new, old in zip(targets, self._targets, strict=True)
        )
        if not same:
            self._still_since = None
        elif self._still_since is None:
            self._still_since = self._frame - 1
        self._targets = targets

    def _note_contact(self, stage: Stage) -> None:
        views = self._scene.views[stage.arm][(stage.object_name, stage.part)]
        touching = float(np.asarray(views.fingers_link.force_max_n.get_value())) > 0.0
        s = self._positions[-1][(stage.object_name, stage.index)]
        moving = abs(s - stage.s) > MOVING_STEP
        stage.touching_frames += touching
        stage.free_frames = 0 if touching else stage.free_frames + 1
        stage.moving_frames += moving
        stage.touching_while_moving += moving and touching
        stage.s = s

    def _check_finite(self) -> None:
        values = [arm.q for arm in self._scene.robot.arms.values()]
        values.append(np.array(list(self._positions[-1].values())))
        if not all(np.isfinite(value).all() for value in values):
            self._fail("diverged", "The simulation left the finite numbers")

    def _judged_views(self, stage: Stage) -> Iterator[ContactView]:
        """All contact views but those of arms that act beside it."""
        robot = self._cfg.robot.name
        others = {self._cfg.skills[entry].arm for sequence in self._chain[stage.number] for entry in sequence}
        prefixes = tuple(f"{robot}.{arm}." for arm in others - {stage.arm, None})
        return (view for name, view in self._scene.monitor.views.items() if not name.startswith(prefixes))

    def _check_forces(self, stage: Stage) -> None:
        forbidden = [view for view in self._judged_views(stage) if not view.name.endswith(".fingers_link")]
        stage.zero_force_contacts = sum(view.zero_force_points for view in forbidden)
        hits = [view.violation for view in forbidden if view.violation is not None]
        if not hits:
            return
        hit = min(hits, key=lambda violation: violation.physics_step)
        if stage.first_violation is None and stage.frame_end is None:
            stage.first_violation = hit
        if stage.skill.cfg.collision_valid and stage.collision_valid:
            stage.collision_valid = False
            allowed_n = stage.skill.cfg.contact_force_threshold_n
            phase = stage.skill.phase
            while_in = "" if phase is Phase.idle else f" while in phase {phase.name}"
            failure = Failure(
                "collision",
                f"{hit.pair[0]} pressed {hit.pair[1]} with {hit.force_n:.1f} N (allowed {allowed_n:g} N){while_in}",
                hit.time_s,
                {**asdict(hit), "pair": list(hit.pair), "phase": phase.name},
            )
            self._failures.append(stage.blamed(failure))

    def _check_speeds(self, stage: Stage, speeds: FrameSpeeds) -> None:
        if not stage.skill.cfg.process_valid or not stage.process_valid:
            return
        for name, speed in ((self._cfg.robot.name, speeds.robot), *speeds.objects.items()):
            if speed > MAX_JOINT_SPEED:
                stage.process_valid = False
                self._fail(
                    "overspeed",
                    f"A joint of '{name}' moved at {speed:.1f} rad/s or m/s (allowed {MAX_JOINT_SPEED:g})",
                    body=name,
                    speed=speed,
                    allowed=MAX_JOINT_SPEED,
                )
                return

    def _read_positions(self) -> dict[Joint, float]:
        return {
            (name, index): float(s)
            for name, item in self._scene.objects.items()
            for index, s in enumerate(item.body.joint_states()[0])
        }

    def _track(self, joint: Joint, frame_start: int) -> np.ndarray:
        return np.array([positions[joint] for positions in self._positions[frame_start:]])

    def _goal_failure(self, code: str, frame: int) -> Failure | None:
        time_s = frame / self._cfg.world.record_hz
        return goal_failure(code, self.goal, self._positions[frame], self._positions[0], time_s)

    def _fail(self, code: str, message: str, **evidence: object) -> None:
        self._failures.append(self._failure(code, message, **evidence))

    def _failure(self, code: str, message: str, **evidence: object) -> Failure:
        return Failure(code, message, self._scene.world.time_s, evidence)
