"""Turns a list of commands into one action per record frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from unlatch.robots.action import ArmAction
from unlatch.robots.robot import Arm
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import WorldCfg
from unlatch.skills.contract.command import PLANNER_PARAMETER, ManipCommand, ManipKind, Phase

Array = np.ndarray

_ARRIVAL_TOLERANCE_RAD = 5e-3
_BRAKING_SHARE = 0.7
"""Share of the arm's accelerations with which `end_motion` brakes."""
_ARRIVAL_S = 0.33
"""A command is done after this time at its target, even if the arm has not arrived."""


class CommandExecutor:
    """Steps through commands, once per record frame.

    Commands that only set parameters of the planner take no time. Their values are kept here for a skill that replans
    while it moves: `allowed_pairs`, `attached` and `hold_vec_weight` change nothing in the simulation.
    """

    def __init__(self, arm: Arm, *, forward: Callable[[Array], tuple[Array, Array]], rates: WorldCfg) -> None:
        """Makes an executor without commands.

        `forward` maps joints (B, n) to the rotations (B, 3, 3) and positions (B, 3) [m] of `T_base_ee`.
        """
        self._arm = arm
        self._forward = forward
        self._last_path: tuple[Array, int] = (np.zeros((0, 0)), 0)
        """The motion of the last frame, and its row."""
        self.last_phase = Phase.idle
        """Phase of the last frame, also after `stop`."""
        self._pose_cache: tuple[Array, list[Pose]] = (np.zeros((0, 0)), [])
        """The last joint path, and the poses along it."""
        self._arrival_frames = rates.frames(_ARRIVAL_S)
        self._frame_s = 1.0 / rates.record_hz
        self.allowed_pairs: frozenset[tuple[str, str]] = frozenset()
        """Pairs of links that may touch now, by the last `update_specific`; for a planner only."""
        self.attached: frozenset[str] = frozenset()
        """Objects that move with the hand now, by `attach_obj` and `detach_obj`; for a planner only."""
        self.hold_vec_weight: tuple[float, ...] = (0.0,) * 6
        """(6,) components of the pose to hold, by the last `update_pose_cost_metric`; for a planner only."""
        self.load([])

    def load(self, commands: Sequence[ManipCommand]) -> None:
        """Replaces the commands and starts at the first; parameters of the planner are kept."""
        self._commands = list(commands)
        self.index = 0
        """Number of the current command."""
        self._frame = 0
        """Number of record frames for which it was carried out."""
        self._is_ended = False
        """Whether `end_motion` ended the last motion early; True until the next one begins, also during waits."""
        self._q = self._arm.q_target
        self._gripper_m = self._arm.gripper_target_m
        self.offset: Array | None = None
        """(n,) how far the executed joint targets of the frame are off its own [rad]; None: they are its own."""
        self._apply_planner_commands()

    @property
    def current(self) -> ManipCommand | None:
        """The current command; None when all are done."""
        return self._commands[self.index] if self.index < len(self._commands) else None

    @property
    def phase(self) -> Phase:
        """What the arm is doing."""
        return self.current.phase if self.current is not None else Phase.idle

    def remaining(self) -> list[tuple[Phase, int]]:
        """Returns phase and record frames of what is left of the current command, and of each command after it."""
        commands = self._commands[self.index :]
        frames = [command.frames for command in commands]
        if frames:
            frames[0] = max(0, frames[0] - self._frame)
        return [(command.phase, count) for command, count in zip(commands, frames, strict=True)]

    @property
    def expected_s(self) -> float | None:
        """Planned position of the part's joint now [rad or m]; None if the plan has none."""
        command = self.current
        if command is None or command.motion is None or command.motion.s is None or self._frame == 0:
            return None
        return float(command.motion.s[min(self._frame, len(command.motion)) - 1])

    def next_action(self) -> ArmAction:
        """The arm's action for the next record frame."""
        command, path, frame = self.current, self._q[None], 0
        if command is not None:
            motion = command.motion
            if motion is not None and len(motion):
                path, frame = motion.q, min(self._frame, len(motion) - 1)
                self._q = path[frame]
            if motion is not None and motion.gripper_m is not None:
                widths_m = np.atleast_1d(motion.gripper_m)
                self._gripper_m = float(widths_m[min(frame, len(widths_m) - 1)])
            elif command.kind is ManipKind.open_gripper:
                self._gripper_m = float(command.params.get("width_m", self._arm.cfg.gripper.max_width_m))
            elif command.kind is ManipKind.close_gripper:
                self._gripper_m = 0.0
            self._frame += 1
        self._last_path = (path, frame)
        self.last_phase = self.phase
        return ArmAction(np.array(self._q), self._gripper_m, self._tool_poses(path)[frame])

    def _tool_poses(self, path: Array) -> list[Pose]:
        """Returns `T_base_ee` at joints (B, n) [rad]; a whole motion is computed at once."""
        if not np.array_equal(self._pose_cache[0], path):
            self._pose_cache = (path, [Pose(R, p) for R, p in zip(*self._forward(path), strict=True)])
        return self._pose_cache[1]

    def advance(self) -> None:
        """Advances to the next command; called after the record frame in which the current one is done."""
        self.index += 1
        self._frame = 0
        self._apply_planner_commands()
        command = self.current
        if self._is_ended and command is not None and command.motion is not None:
            self._commands[self.index] = replace(command, motion=command.motion.begun_at(self._q))
            self._is_ended = False

    def end_motion(self) -> None:
        """Brakes the current motion to a stop, within the arm's accelerations. The next motion starts there; its end is
        unchanged.
        """
        command = self.current
        if self._is_ended or command is None or command.motion is None:
            return
        self._is_ended = True
        motion, done = command.motion, min(self._frame, len(command.motion))
        last = self._arm.q_target if self.offset is None else self._q
        step = last - motion.q[max(done - 2, 0)] if done > 1 else np.zeros_like(last)
        most = _BRAKING_SHARE * np.array(self._arm.cfg.max_acceleration) * self._frame_s**2
        frames = math.ceil(np.abs(step / most).max())
        shares = np.cumsum(np.linspace(1.0, 0.0, frames + 1)[1:])[:, None]  # of a step, in successive frames
        s = None if motion.s is None else np.full(frames, motion.s[max(done - 1, 0)])
        gripper_m = self._gripper_m if isinstance(motion.gripper_m, np.ndarray) else motion.gripper_m
        braked = replace(motion, q=last + shares * step, s=s, gripper_m=gripper_m)
        self._commands[self.index] = replace(command, motion=braked)
        self._frame, self._q = 0, last

    def is_subtask_done(self) -> bool:
        """Whether the current command is done: its frames are over, and the arm has arrived or its time is up."""
        command = self.current
        if command is None:
            return False
        if self._is_ended and command.motion is not None:
            return self._frame >= len(command.motion)
        length = command.frames
        if self._frame < max(length, 1):
            return False
        if command.motion is None:
            return True
        target = self._q if self.offset is None else self._q + self.offset
        arrived = float(np.abs(self._arm.q_read - target).max()) < _ARRIVAL_TOLERANCE_RAD
        return arrived or self._frame >= length + self._arrival_frames

    def is_done(self) -> bool:
        """Whether all commands are done."""
        return self.current is None

    def assume_motion(self, q_before: Array, *, frames: int) -> None:
        """Assumes that the arm moves on as it did since `q_before` (n,), the targets of the frame before [rad].

        For an arm that something else has moved: `braking_path` then leads it to rest.
        """
        q = self._arm.q_target
        self._last_path = (q + np.arange(-1, frames)[:, None] * (q - q_before), 1)
        self.last_phase = Phase.transit

    def braking_path(self, frames: int) -> Array:
        """Returns (frames, n) joints that go on along the last motion, from its speed to rest [rad].

        They are parallel to the motion where the executed targets are off it; empty if nothing moves.
        """
        path, row = self._last_path
        if row == 0 or row >= len(path) - 1:
            return np.zeros((0, len(self._q)))
        rates = 1.0 - (np.arange(frames) + 0.5) / frames
        rows = np.minimum(row + np.cumsum(rates), len(path) - 1)
        along = np.stack([np.interp(rows, np.arange(len(path)), joint) for joint in path.T], axis=1)
        return along + (self._arm.q_target - path[row])

    def stop(self) -> None:
        """Drops the remaining commands; the arm stays at its last target."""
        self.index = len(self._commands)

    def _apply_planner_commands(self) -> None:
        """Applies the commands that take no time."""
        while (command := self.current) is not None and command.kind in PLANNER_PARAMETER:
            value = command.params[PLANNER_PARAMETER[command.kind]]
            if command.kind is ManipKind.update_specific:
                self.allowed_pairs = frozenset((str(first), str(second)) for first, second in value)
            elif command.kind is ManipKind.attach_obj:
                self.attached |= {str(value)}
            elif command.kind is ManipKind.detach_obj:
                self.attached -= {str(value)}
            else:
                self.hold_vec_weight = tuple(float(weight) for weight in value)
            self.index += 1
