"""Manipulation commands: the steps of a skill for an arm, and their execution, one action a record frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from unlatch.robots.arm_control import ArmAction
from unlatch.robots.robot import Arm
from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import WorldCfg
from unlatch.solver.kinematics import frozen_array

Array = np.ndarray


class ManipKind(Enum):
    """Kind of a command: it moves the arm by its motion, or it sets a parameter of the planner and moves nothing."""

    open_gripper = "open_gripper"
    """Moves to the target, or dwells there, with the gripper open."""
    close_gripper = "close_gripper"
    """Moves to the target, or dwells there, with the gripper closed."""
    attach_obj = "attach_obj"
    """From here on a planner moves `object` with the hand; the simulation joins nothing."""
    detach_obj = "detach_obj"
    """The reverse of `attach_obj`."""
    update_specific = "update_specific"
    """From here on `allowed_pairs` of links, and no others, may touch for a planner."""
    update_pose_cost_metric = "update_pose_cost_metric"
    """From here on a planner holds components of the pose: `hold_vec_weight`, about x, y, z, then along x, y, z."""
    dummy_forward = "dummy_forward"
    """Raw joint and gripper targets: those of its motion, as given."""
    in_plane_rotation = "in_plane_rotation"
    """Turns the hand about its approach axis by its motion; the gripper stays as it is."""
    joint_ctrl = "joint_ctrl"
    """Moves joints by its motion; the gripper stays as it is."""


PLANNER_PARAMETER = {
    ManipKind.attach_obj: "object",
    ManipKind.detach_obj: "object",
    ManipKind.update_specific: "allowed_pairs",
    ManipKind.update_pose_cost_metric: "hold_vec_weight",
}
"""Kinds that only set a parameter of the planner, and the name of that parameter."""

_MUST_MOVE = frozenset({ManipKind.dummy_forward, ManipKind.in_plane_rotation, ManipKind.joint_ctrl})


class Phase(Enum):
    """What an arm is doing; a record holds the number."""

    idle = 0
    transit = 1
    approach = 2
    grasp = 3
    follow = 4
    release = 5
    retreat = 6
    settle = 7
    hold = 8


@dataclass(frozen=True)
class JointMotion:
    """A timed joint trajectory, one row a record frame."""

    q: Array
    """(T, n) joint targets [rad]."""
    s: Array | None = None
    """(T,) position that the part's joint should have [rad or m]; None where the part does not move."""
    gripper_m: float | Array | None = None
    """Opening during the motion [m], one for all rows or (T,); None: as the command's kind says."""
    flows: bool = False
    """Whether the next motion goes on from its end without a stop."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", frozen_array(self.q))
        if self.gripper_m is not None and np.ndim(self.gripper_m) > 0:
            widths_m = frozen_array(self.gripper_m)
            if widths_m.shape != (len(self.q),):
                expected = f"one number or {len(self.q)}, one for each row of q"
                raise SkillError(f"gripper_m of a JointMotion has shape {widths_m.shape}. Expected {expected}.")
            object.__setattr__(self, "gripper_m", widths_m)
        if self.s is not None:
            object.__setattr__(self, "s", frozen_array(self.s))

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True)
class ManipCommand:
    """One command: a kind, the pose to reach, and parameters."""

    kind: ManipKind
    T_base_ee: Pose
    """Target of the ee frame in the arm's base frame."""
    phase: Phase
    motion: JointMotion | None = None
    """The planned motion to the target; None if nothing moves."""
    dwell_frames: int = 0
    """Record frames to stay at the target."""
    until_rest: bool = False
    """Whether the dwell is over as soon as the fingers rest or, where they open, are clear of what they held."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the kind, such as `allowed_pairs`."""

    def __post_init__(self) -> None:
        """Checks that the command can be carried out.

        Raises:
            SkillError: The kind lacks a motion or a parameter, or has one that it cannot use.
        """
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))
        parameter = PLANNER_PARAMETER.get(self.kind)
        if self.kind in _MUST_MOVE and not (self.motion is not None and len(self.motion)):
            raise SkillError(f"Command '{self.kind.value}' has no motion. Give it the JointMotion to carry out.")
        if parameter is not None and (self.motion is not None or self.dwell_frames):
            raise SkillError(
                f"Command '{self.kind.value}' tells a planner something and takes no time, but has a motion or "
                f"{self.dwell_frames} frames to dwell. Put those into a command of their own."
            )
        if parameter is not None and parameter not in self.params:
            raise SkillError(
                f"Command '{self.kind.value}' lacks parameter '{parameter}'; got {sorted(self.params)}. Add it.",
                parameter=parameter,
            )

    @property
    def frames(self) -> int:
        """Record frames of its motion and its dwell."""
        return (len(self.motion) if self.motion is not None else 0) + self.dwell_frames

    def openings(self, count: int, widest_m: float) -> Array | None:
        """Returns (count,) openings of the gripper in the last frames of its motion [m]; None: it stays as it is.

        The first one is repeated where the motion is shorter. `widest_m` is the largest opening of the gripper.
        """
        widths_m = self._widths(widest_m)
        return None if widths_m is None else widths_m[np.maximum(np.arange(count) - count + len(widths_m), 0)]

    def opening(self, frame: int, count: int, widest_m: float) -> float | None:
        """Returns the opening of one frame of `openings` [m]."""
        widths_m = self._widths(widest_m)
        return None if widths_m is None else float(widths_m[max(frame - count + len(widths_m), 0)])

    def _widths(self, widest_m: float) -> Array | None:
        if self.motion is not None and self.motion.gripper_m is not None:
            return np.atleast_1d(self.motion.gripper_m)
        if self.kind is ManipKind.open_gripper:
            return np.array([float(self.params.get("width_m", widest_m))])
        return np.zeros(1) if self.kind is ManipKind.close_gripper else None

    def as_tuple(self) -> tuple[Array, Array, str, dict[str, Any]]:
        """`(p (3,), quat_wxyz (4,), name, params)` in the arm's base frame: the form that other systems use."""
        return (self.T_base_ee.p.copy(), self.T_base_ee.quat_wxyz, self.kind.value, dict(self.params))

    def __repr__(self) -> str:
        moves = f", {len(self.motion)} frames" if self.motion is not None else ""
        dwell = f", dwell {self.dwell_frames}" if self.dwell_frames else ""
        return f"ManipCommand({self.kind.value}, {self.phase.name}{moves}{dwell})"


_ARRIVAL_TOLERANCE_RAD = 5e-3
_REST_RAD_S = 0.015
"""An arm rests if none of its joints is faster than this [rad/s]."""
_REST_M_S = 0.006
"""Fingers rest if their opening changes by less than this in each of the last frames [m/s]."""
_REST_SHARE = 0.1
"""Fingers of a slow hand rest below this share of the hand's largest speed."""
_COMMAND_FRAMES = 2
"""Frames after which the motors have the last target of a motion."""
_REST_S = 0.06
"""Time for which they must rest; they also have this time to begin to move [s]."""
_CLEAR_M = 0.01
"""Fingers that have opened by this much are clear of what they held [m]: 5 mm on either side."""
_BRAKING_SHARE = 0.7
"""Share of the arm's accelerations with which `end_motion` brakes."""
_ARRIVAL_S = 0.33
"""A command is done after this time at its target, even if the arm has neither arrived nor come to rest."""


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
        self._last_path: tuple[list[Array], int] = ([], 0)
        """The motions, one after the other, that the arm was on in the last frame, and its row among their rows."""
        self.last_phase = Phase.idle
        """Phase of the last frame, also after `stop`."""
        self._pose_cache: tuple[Array, list[Pose]] = (np.zeros((0, 0)), [])
        """The last joint path, and the poses along it."""
        self._arrival_frames = rates.frames(_ARRIVAL_S)
        self._rest_frames, self._steps_per_frame = rates.frames(_REST_S), rates.steps_per_frame
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
        self._openings_m: list[float] = []
        """Opening of the gripper before each of these frames."""
        self._q_before = self._arm.q_read
        """(n,) joints before the last frame."""
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
            opening_m = command.opening(frame, len(path), self._arm.cfg.gripper.max_width_m)
            if opening_m is not None:
                self._gripper_m = opening_m
            self._frame += 1
            self._openings_m.append(self._arm.gripper_opening_m)
            self._q_before = self._arm.q_read
        before, after = self._neighbours(command)
        self._last_path = [*before, path, *after], frame + sum(map(len, before))
        self.last_phase = self.phase
        return ArmAction(np.array(self._q), self._gripper_m, self._tool_poses(path)[frame])

    def _neighbours(self, command: ManipCommand | None) -> tuple[list[Array], list[Array]]:
        """Returns the joints of the motions that flow into the one of the current command, and out of it [rad]."""
        if command is None or command.motion is None or self._is_ended:
            return [], []
        first, last = (
            next((each.motion for each in commands if each.kind not in PLANNER_PARAMETER), None)
            for commands in (self._commands[: self.index][::-1], self._commands[self.index + 1 :])
        )
        before = [] if first is None or not first.flows else [first.q]
        return before, [] if last is None or not command.motion.flows else [last.q]

    def _tool_poses(self, path: Array) -> list[Pose]:
        """Returns `T_base_ee` at joints (B, n) [rad]; a whole motion is computed at once."""
        if self._pose_cache[0] is not path and not np.array_equal(self._pose_cache[0], path):
            self._pose_cache = (path, [Pose(R, p) for R, p in zip(*self._forward(path), strict=True)])
        return self._pose_cache[1]

    def advance(self) -> None:
        """Advances to the next command; called after the record frame in which the current one is done."""
        self.index += 1
        self._frame, self._openings_m = 0, []
        self._apply_planner_commands()
        command = self.current
        if self._is_ended and command is not None and command.motion is not None:
            q = command.motion.q
            left = np.linspace(1.0, 0.0, len(q))[:, None] if len(q) > 1 else np.zeros((1, 1))
            # the start moves to where the arm is, the end stays; a single row is unchanged
            begun = replace(command.motion, q=q + left * (self._q - q[:1]))
            self._commands[self.index], self._is_ended = replace(command, motion=begun), False

    def extend(self, commands: Sequence[ManipCommand]) -> list[ManipCommand]:
        """Replaces the commands after the current one; returns all commands."""
        self._commands[self.index + 1 :] = commands
        return list(self._commands)

    def end_motion(self) -> None:
        """Brakes the current motion to a stop, within the arm's accelerations. The next motion starts there; its end is
        unchanged.
        """
        command = self.current
        if self._is_ended or command is None or command.motion is None:
            return
        motion, done = command.motion, min(self._frame, len(command.motion))
        last = self._arm.q_target if self.offset is None else self._q
        rows = np.vstack([*self._neighbours(command)[0], motion.q[:done]])
        step = last - rows[-2] if len(rows) > 1 else np.zeros_like(last)
        most = _BRAKING_SHARE * np.array(self._arm.cfg.max_acceleration) * self._frame_s**2
        frames = math.ceil(np.abs(step / most).max())
        shares = np.cumsum(np.linspace(1.0, 0.0, frames + 1)[1:])[:, None]  # of a step, in successive frames
        s = None if motion.s is None else np.full(frames, motion.s[max(done - 1, 0)])
        gripper_m = self._gripper_m if isinstance(motion.gripper_m, np.ndarray) else motion.gripper_m
        braked = replace(motion, q=last + shares * step, s=s, gripper_m=gripper_m)
        self._commands[self.index] = replace(command, motion=braked)
        self._frame, self._q, self._is_ended = 0, last, True

    def is_subtask_done(self) -> bool:
        """Whether the current command is done: its frames are over; the arm has arrived, rests, or its time is up."""
        command = self.current
        if command is None:
            return False
        if self._is_ended and command.motion is not None:
            return self._frame >= len(command.motion)
        length = command.frames
        if self._frame < max(length, 1):
            return command.until_rest and command.motion is None and self._do_fingers_rest(command.kind)
        if command.motion is None or command.motion.flows:
            return True
        target = self._q if self.offset is None else self._q + self.offset
        q = self._arm.q_read
        arrived = float(np.abs(q - target).max()) < _ARRIVAL_TOLERANCE_RAD
        rests = (
            self._frame > length + _COMMAND_FRAMES
            and float(np.abs(q - self._q_before).max()) < _REST_RAD_S * self._frame_s
        )
        return arrived or rests or self._frame >= length + self._arrival_frames

    def _do_fingers_rest(self, kind: ManipKind) -> bool:
        """Whether the fingers rest or, where they open, are clear of what they held."""
        openings_m = [*self._openings_m, self._arm.gripper_opening_m]
        if kind is ManipKind.open_gripper and openings_m[-1] - openings_m[0] > _CLEAR_M:
            return True
        last = np.abs(np.diff(openings_m))[-self._rest_frames :]
        speed_m_s = min(_REST_M_S, _REST_SHARE * 2.0 * self._arm.cfg.gripper.max_speed_m_s)
        begin = 2 * self._rest_frames + math.ceil(self._arm.signals.late_steps / self._steps_per_frame)
        return self._frame >= begin and float(last.max()) < speed_m_s * self._frame_s

    def is_done(self) -> bool:
        """Whether all commands are done."""
        return self.current is None

    def assume_motion(self, q_before: Array, *, frames: int) -> None:
        """Assumes that the arm moves on as it did since `q_before` (n,), the targets of the frame before [rad].

        For an arm that something else has moved: `braking_path` then leads it to rest.
        """
        q = self._arm.q_target
        self._last_path = [q + np.arange(-1, frames)[:, None] * (q - q_before)], 1
        self.last_phase = Phase.transit

    def braking_path(self, frames: int) -> Array:
        """Returns (frames, n) joints that go on along the last motion, from its speed to rest [rad].

        They are parallel to the motion where the executed targets are off it; empty if nothing moves.
        """
        motions, row = self._last_path
        path = np.vstack([np.zeros((0, len(self._q))), *motions])
        if row == 0 or row >= len(path) - 1:
            return np.zeros((0, len(self._q)))
        rates = 1.0 - (np.arange(frames) + 0.5) / frames
        rows = np.minimum(row + np.cumsum(rates), len(path) - 1)
        along = np.stack([np.interp(rows, np.arange(len(path)), joint) for joint in path.T], axis=1)
        return along + (self._arm.q_target - path[row])

    def last_rows(self, most: int) -> Array | None:
        """Returns (k, n) joints that are left of the step back at the end of the commands, 1 to `most` rows [rad].

        None: more is left, or the arm does something else.
        """
        command = self.current
        if command is None or self.index + 1 < len(self._commands) or command.phase is not Phase.retreat:
            return None
        if command.motion is None or self._is_ended or self.offset is not None:
            return None
        rows = command.motion.q[self._frame :]
        return rows if 0 < len(rows) <= most else None

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
