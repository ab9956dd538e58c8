"""The contract of a skill.

The runner calls, once for each skill and in this order: `plan`; then for every record frame `next_action`, the frame's
physics, `update`, `is_done`; at the end `is_success` and `failures`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from robots.action import ArmAction
from skills.command import ManipCommand, Phase
from skills.config import SkillCfg
from skills.context import FrameSpeeds, SkillContext
from skills.execution import CommandExecutor
from skills.failure import Failure, earliest

if TYPE_CHECKING:
    from solver.planner import KeyframePlan

MAX_SPEED = 5.0
"""Joint speed that ends an episode as `overspeed` [rad/s or m/s]."""
_BLOCKED_ERROR_RAD = 0.15
_BLOCKED_FRAMES = 15


class Skill(ABC):
    """One skill of one episode. A subclass writes `plan`, `_on_frame` and `_judge`."""

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        """Makes a skill; nothing is planned yet.

        Args:
            cfg: Its entry of `skills`.
            context: The scene it acts on.
        """
        self.cfg = cfg
        self.context = context
        self.commands: list[ManipCommand] = []
        self.executor = CommandExecutor(
            context.arm, forward=lambda q: np.asarray(context.arm_model.kinematics.fk(q), dtype=float)
        )
        self.keyframe_plan: KeyframePlan | None = None
        self._failures: list[Failure] = []
        self._frames = 0
        self._planning_failures = 0
        self._blocked_frames = 0

    @abstractmethod
    def plan(self, rng: np.random.Generator) -> bool:
        """Fills `commands` from the scene as it is now; False, with a failure noted, if there is no plan.

        Called once, before the first frame. Nothing of the simulated scene may be changed.
        """

    @abstractmethod
    def _on_frame(self) -> None:
        """Looks at the record frame that just ended; notes failures that end the skill early."""

    @abstractmethod
    def _judge(self) -> None:
        """Notes what is missing for success, at the skill's end."""

    def start(self) -> None:
        """Hands the commands to the arm; called once, before the first frame."""
        self.executor.load(self.commands)

    def next_action(self) -> ArmAction:
        """The arm's action for the next record frame."""
        return self.executor.next_action()

    def update(self, speeds: FrameSpeeds) -> None:
        """Takes notice of the record frame that just ended.

        Args:
            speeds: Largest joint speeds over its physics steps.
        """
        self._frames += 1
        self._check_finite()
        self._check_contacts()
        self._check_speeds(speeds)
        self._check_blocked()
        self._on_frame()
        if self._failures:
            self.executor.stop()
        else:
            self.executor.update()

    def is_feasible(self, max_failures: int = 5) -> bool:
        """Whether planning failed at most so many times."""
        return self._planning_failures <= max_failures

    def is_ready(self) -> bool:
        """Whether there is a plan to carry out."""
        return bool(self.commands) and not self._failures

    def is_record(self) -> bool:
        """Whether frames of this skill go into the record; all do."""
        return True

    def is_subtask_done(self) -> bool:
        """Whether the current command is done."""
        return self.executor.is_subtask_done()

    def is_done(self) -> bool:
        """Whether all commands are done or a failure ended the skill."""
        return self.executor.is_done()

    def is_success(self) -> bool:
        """Whether the skill did what it is for and broke no rule; judged once, after `is_done`."""
        if not self._failures:
            self._judge()
        return not self._failures

    @property
    def failure(self) -> Failure | None:
        """The earliest violated condition."""
        return earliest(self._failures)

    def held_joints(self) -> dict[str, frozenset[str]]:
        """Joints, by object, that are held where they are during the next frame, with at most their own friction."""
        return {}

    @property
    def finger_contact_required(self) -> bool:
        """Whether the fingers must be on the part while it moves."""
        return False

    @property
    def phase(self) -> Phase:
        """What the arm is doing."""
        return self.executor.phase

    @property
    def collision_valid(self) -> bool:
        """Whether no forbidden contact was seen so far."""
        return not any(f.code == "collision" for f in self._failures)

    @property
    def process_valid(self) -> bool:
        """Whether no joint was too fast so far."""
        return not any(f.code == "overspeed" for f in self._failures)

    def fail(self, code: str, message: str, **evidence: object) -> None:
        """Notes a violated condition, at the present time."""
        self._failures.append(Failure(code, message, self.context.time_s, evidence))

    def _check_finite(self) -> None:
        if not np.all(np.isfinite(self.context.arm.q)):
            self.fail("diverged", "The simulation left the finite numbers.")

    def _check_contacts(self) -> None:
        if not self.cfg.collision_valid or not self.collision_valid:
            return
        for views in self.context.views.values():
            for view in views.forbidden:
                if view.violation is not None:
                    hit = view.violation
                    self._failures.append(
                        Failure(
                            "collision",
                            f"{hit.pair[0]} pressed {hit.pair[1]} with {hit.force_n:.1f} N (allowed "
                            f"{self.cfg.contact_force_threshold_n:g} N) while in phase {self.phase.name}",
                            hit.time_s,
                            {
                                "view": hit.view,
                                "pair": list(hit.pair),
                                "force_n": hit.force_n,
                                "physics_step": hit.physics_step,
                                "phase": self.phase.name,
                            },
                        )
                    )
                    return

    def _check_speeds(self, speeds: FrameSpeeds) -> None:
        if not self.cfg.process_valid or not self.process_valid:
            return
        for name, speed in (("robot", speeds.robot), *speeds.objects.items()):
            if speed > MAX_SPEED:
                self.fail(
                    "overspeed",
                    f"A joint of '{name}' moved at {speed:.1f} rad/s or m/s (allowed {MAX_SPEED:g})",
                    body=name,
                    speed=speed,
                    allowed=MAX_SPEED,
                )
                return

    def _check_blocked(self) -> None:
        arm = self.context.arm
        error = float(abs(arm.q - arm.q_target).max())
        self._blocked_frames = self._blocked_frames + 1 if error > _BLOCKED_ERROR_RAD else 0
        if self._blocked_frames >= _BLOCKED_FRAMES:
            self.fail(
                "motion_blocked",
                f"The arm stayed {error:.2f} rad from its target for {self._blocked_frames} frames "
                f"in phase {self.phase.name}",
                error_rad=error,
                phase=self.phase.name,
            )
