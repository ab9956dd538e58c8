"""The contract of a skill, and the checks of what its author writes: parameters of methods, their results, and
commands.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from unlatch.objects.annotation import Articulation, Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying_conditions import ObjectCondition
from unlatch.robots.arm_control import ArmAction
from unlatch.robots.description import GripperCfg
from unlatch.simcore.errors import SkillError, shorten
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.commands import CommandExecutor, JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import Failure, SkillContext, SkillTarget, earliest
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.setting import SuccessMode


def check_methods(cls: type) -> None:
    """Checks the methods that a skill overrides. Calls of them are checked as well from then on.

    Raises:
        SkillError: A method cannot be called as the one that it overrides.
    """
    for name, method in list(vars(cls).items()):
        overridden = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
        if not isinstance(method, FunctionType) or not isinstance(overridden, FunctionType):
            continue
        if name == "__init__":
            setattr(cls, name, _with_checked_start(method))
        elif not name.startswith("_"):
            _check_parameters(cls, name, method, overridden)
        if name in _RESULTS:
            setattr(cls, name, _with_checked_result(method, *_RESULTS[name]))


def _check_parameters(cls: type, name: str, method: FunctionType, overridden: FunctionType) -> None:
    expected = inspect.signature(overridden)
    parameters = list(expected.parameters.values())
    by_name = {item.name: None for item in parameters if item.kind is item.KEYWORD_ONLY}
    by_place = [None for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    try:
        inspect.signature(method).bind(*by_place, **by_name)
    except TypeError:
        written, wanted = (", ".join(inspect.signature(item).parameters) for item in (method, overridden))
        raise SkillError(
            f"{cls.__qualname__}.{name} has the parameters ({written}). Expected ({wanted}), as of the method that it "
            f"overrides. Change them. {place_of(method)}",
            name=name,
        ) from None


def _with_checked_start(start: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(start)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        start(self, *args, **kwargs)
        if not hasattr(self, "executor"):
            raise SkillError(
                f"{type(self).__qualname__}.__init__ does not call super().__init__(cfg, context). Call it first. "
                f"{place_of(start)}"
            )

    return checked


def _with_checked_result(method: Callable[..., Any], fits: Callable[[Any], bool], expected: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *args, **kwargs)
        if not fits(found):
            advice = " Does it lack a `return`?" if found is None else ""
            raise SkillError(
                f"{type(self).__qualname__}.{method.__name__} returned {repr(found)[:80]}. Expected {expected}."
                f"{advice} {place_of(method)}",
                name=method.__name__,
            )
        return found

    return checked


def place_of(method: Callable[..., Any]) -> str:
    """Returns file and line of a method, as they stand in a traceback."""
    code = inspect.unwrap(method).__code__
    return f'File "{code.co_filename}", line {code.co_firstlineno}'


_RESULTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "plan": (lambda found: isinstance(found, bool), "True or False"),
    "make_commands": (
        lambda found: isinstance(found, list) and all(isinstance(each, ManipCommand) for each in found),
        "a list of ManipCommand",
    ),
    "unmet_condition": (lambda found: found is None or isinstance(found, Failure), "a Failure or None"),
}
"""What a method returns, and how a message says it."""


_BLOCKED_ERROR_RAD = 0.15
_BLOCKED_S = 0.5
"""An arm that is away from its target for this time is blocked."""
RELEASE_S = 0.4
"""Time to open the fingers."""


_DECLARED = {
    "finger_contact_required": "a class attribute",
    "success_rule": "declare_rule()",
    "carries": "a class attribute",
    "touched_link": "declare_link()",
}
"""What a skill states as a class, and where a subclass writes it."""


class Skill(ABC):
    """One skill of one episode. A subclass writes `plan`, `unmet_condition` and, if it may end early, `check_frame`."""

    cfg_type: ClassVar[type[SkillCfg]] = SkillCfg
    """Dataclass of its entry in `skills`."""
    executes: ClassVar[bool] = True
    """Whether it moves an arm; a skill that does not has no plan and no frames."""
    derived_as: ClassVar[str | None] = None
    """`open`, `close` or `rotate`: the skill whose derived strategies and tasks serve this one if its entry has no
    `planner_setting`; None = none. Those three serve themselves."""
    success_modes: ClassVar[tuple[SuccessMode, ...]] = ()
    """Values of `success_mode` that the skill accepts, its default first."""
    finger_contact_required: ClassVar[bool] = False
    """Whether the fingers must be on the part, or on the free object, while it moves."""
    carries: ClassVar[bool] = False
    """Whether it acts on a whole free object, not on a part: its entry names no `part`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "_on_frame" in cls.__dict__:
            raise SkillError(f"{cls.__qualname__}._on_frame is not called. Expected `check_frame`. Rename it.")
        for name, remedy in _DECLARED.items():
            if isinstance(cls.__dict__.get(name), property):
                raise SkillError(
                    f"{cls.__qualname__}.{name} is a property, which only a running episode can read. Expected "
                    f"{remedy}: `unlatch check` asks the class for its rule. Change it.",
                    name=name,
                )
        check_methods(cls)

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        self.cfg = cfg
        self.context = context
        self.commands: list[ManipCommand] = []
        self.executor = CommandExecutor(
            context.arm,
            forward=context.arm_model.kinematics.fk_batch,
            rates=context.rates,
        )
        self.keyframe_plan: KeyframePlan | None = None
        self._failures: list[Failure] = []
        self.is_started = False
        """Whether `start` was called; False if a policy acts in place of the skill."""
        self._blocked_frames = 0
        self.suggestion: object | None = None
        """`choice` of this skill in the search that found the layout: it is tried first. None: there is none."""

    @abstractmethod
    def plan(self, rng: np.random.Generator) -> bool:
        """Fills `commands` from the scene as it is now; returns False, with a failure noted, if there is no plan.

        Called once, before the first frame. It must not change the simulated scene.
        """

    def plan_next(self) -> bool:
        """Replaces the plan by one with another choice, such as another grasp; returns False if there is none.

        A search for a layout calls it, with the scene as it was for `plan`, where a later skill has no plan.
        """
        return False

    @property
    def choice(self) -> object | None:
        """What the plan chose and later skills depend on, such as a grasp; see `suggestion`."""
        return None

    def check_frame(self) -> None:
        """Checks the record frame that just ended; notes failures that end the skill early, with `fail`.

        Called by `update`, once for every frame.
        """
        return

    @abstractmethod
    def unmet_condition(self) -> Failure | None:
        """Returns the condition of success that is not met now; None if all are met.

        Also called on a skill that never planned, when a policy carries out its task.
        """

    def start(self) -> None:
        """Gives the commands to the arm; called once, before the first frame.

        Raises:
            SkillError: There is no plan to carry out.
        """
        if not self.is_ready():
            raise SkillError(
                f"Skill '{self.cfg.name}' has no plan to carry out: {len(self.commands)} commands, failure "
                f"{self.failure}. Call plan() first, and start() only where is_ready() is true.",
                skill=self.cfg.name,
            )
        self.is_started = True
        self.executor.load(self.commands)

    def next_action(self) -> ArmAction:
        """The arm's action for the next record frame.

        Raises:
            SkillError: The skill was not started.
        """
        if not self.is_started:
            raise SkillError(
                f"Skill '{self.cfg.name}' was asked for an action before it was started. Call start() first.",
                skill=self.cfg.name,
            )
        return self.executor.next_action()

    def update(self) -> None:
        """Checks the record frame that just ended: whether the arm is on its path and the part still held.

        The runner checks forbidden contacts, speeds and time for every skill.
        """
        self._check_blocked()
        self.check_frame()
        if self._failures:
            self.executor.stop()
        elif self.is_subtask_done():
            self.executor.advance()

    def is_feasible(self) -> bool:
        """Whether nothing failed before the start; called after `plan`."""
        return self.is_started or not self._failures

    def is_ready(self) -> bool:
        """Whether there is a plan and no failure; called before `start`."""
        return bool(self.commands) and not self._failures

    def is_subtask_done(self) -> bool:
        """Whether the current command is done and the next one may begin; called by `update`."""
        return self.executor.is_subtask_done()

    def is_done(self) -> bool:
        """Whether all commands are done or a failure ended the skill."""
        return self.executor.is_done()

    def is_success(self) -> bool:
        """Whether every condition of success is met and nothing failed; called after `is_done`."""
        return not self._failures and self.unmet_condition() is None

    @property
    def failure(self) -> Failure | None:
        """The earliest violated condition."""
        return earliest(self._failures)

    def held_joints(self) -> dict[str, frozenset[str]]:
        """Returns joints, by object, that are held in place during the next frame, with at most their own friction."""
        return {}

    @classmethod
    def declare_rule(cls, cfg: SkillCfg, gripper: GripperCfg) -> SuccessRule:
        """Returns what the skill must do to succeed, as data, from its entry in the chain and the arm's gripper alone.

        The judge of a running episode uses it, and the skill's entry in the record carries it. `unlatch check` asks
        for it again, without an episode: a skill with a rule of its own overrides this method.
        """
        is_stated = cls.executes and not cfg.planner_setting.derived
        return SuccessRule(
            success_mode=None,
            success_threshold=float(cfg.planner_setting.success_threshold) if is_stated else None,
            finger_contact_required=cls.finger_contact_required,
            collision_valid_enabled=cfg.collision_valid,
            process_valid_enabled=cfg.process_valid,
            contact_force_threshold_n=cfg.contact_force_threshold_n,
            finger_force_limit_n=gripper.finger_force_limit_n,
            scene_force_threshold_n=cfg.scene_force_threshold_n,
        )

    @classmethod
    def declare_conditions(cls, cfg: SkillCfg, assets: Mapping[str, ObjectAsset]) -> list[ObjectCondition]:
        """Returns what must hold of free objects when the skill ends, in the order in which they are judged.

        Like `declare_rule`, it knows only the entry in the chain, and the objects. `lifted` counts from where the
        object was when the skill began.
        """
        return []

    @classmethod
    def declare_target(cls, cfg: SkillCfg, assets: Mapping[str, ObjectAsset]) -> SkillTarget | None:
        """Returns where the skill puts a free object; None: it puts nothing anywhere.

        The pose of the region is recorded, and instructions name it as `{target}`.
        """
        return None

    @classmethod
    def has_own_condition(cls) -> bool:
        """Returns whether a plugin wrote its `unmet_condition`: no record shows whether that condition was met."""
        owner = next(base for base in cls.__mro__ if "unmet_condition" in vars(base))
        return owner.__module__.partition(".")[0] != __name__.partition(".")[0]

    @property
    def success_rule(self) -> SuccessRule:
        """What this skill must do to succeed: the rule that its class declares for its entry and its arm."""
        return self.declare_rule(self.cfg, self.context.arm.cfg.gripper)

    @classmethod
    def declare_link(cls, cfg: SkillCfg, articulation: Articulation) -> str | None:
        """Returns the link of the object that the fingers may touch; None = the link of its part.

        Like `declare_rule`, it knows only the entry in the chain, and the annotation of the object.
        """
        return None

    @classmethod
    def declare_press(cls, cfg: SkillCfg, asset: ObjectAsset, part: Part | None, gripper: GripperCfg) -> float | None:
        """Returns the force with which closed fingertips press on the part to drag it [N]; None: they do not drag it.

        Like `declare_rule`, it knows only the entry in the chain, the object and the arm's gripper.
        """
        return None

    @property
    def touched_link(self) -> str | None:
        """The link that the class of this skill declares for its entry and its object."""
        return self.declare_link(self.cfg, self.context.objects[self.cfg.objects[0]].asset.articulation)

    @property
    def closed_gripper(self) -> bool:
        """Whether the fingers are closed throughout, so that nothing is between them."""
        return False

    def predicted_poses(self) -> Mapping[str, Pose]:
        """Returns `T_world_root` of the free objects that the plan moves, at its end; called after `plan`.

        A search for a layout puts them there, so that the next skill can be planned.
        """
        return {}

    def predicted_opening_m(self) -> float | None:
        """Returns the opening of the gripper at the end of the plan [m]; None: as it is now. See `predicted_poses`."""
        return None

    @property
    def phase(self) -> Phase:
        """What the arm is doing."""
        return self.executor.phase

    def fail(self, code: str, message: str, **evidence: object) -> None:
        """Notes a violated condition at the present time."""
        self._failures.append(self.make_failure(code, message, **evidence))

    def make_failure(self, code: str, message: str, **evidence: object) -> Failure:
        """Returns a violated condition at the present time, such as for `unmet_condition`; notes nothing."""
        return Failure(code, message, self.context.time_s, evidence)

    def refuse(self, plan: KeyframePlan) -> None:
        """Keeps a plan that was not found as the plan of the skill, and notes its diagnosis as the failure."""
        self.keyframe_plan = plan
        if plan.diagnosis is None:
            self.fail("plan_infeasible", "The planner found no plan and gave no diagnosis")
        else:
            self.fail(plan.diagnosis.code, plan.diagnosis.message, **plan.diagnosis.evidence)

    def motion_commands(
        self, plan: KeyframePlan, segment_kind: str, kind: ManipKind, phase: Phase, *, gripper_m: float | None = None
    ) -> list[ManipCommand]:
        """Returns motion commands for the segments of one kind."""
        return [
            ManipCommand(
                kind,
                segment.T_base_ee_end,
                phase,
                motion=JointMotion(segment.q, s=segment.s, gripper_m=gripper_m, flows=segment.flows),
            )
            for segment in plan.segments
            if segment.kind == segment_kind
        ]

    def release_command(self, T_base_ee: Pose, width_m: float) -> ManipCommand:
        """Returns the command that opens the fingers to a width [m], until they rest or are clear of what they held."""
        frames, kind = self.context.frames(RELEASE_S), ManipKind.open_gripper
        params = {"width_m": width_m}
        return ManipCommand(kind, T_base_ee, Phase.release, dwell_frames=frames, until_rest=True, params=params)

    def _check_blocked(self) -> None:
        arm = self.context.arm  # it is on its path if it is where its motors lead it: `q_target` is two frames ahead
        error = arm.path_error()
        self._blocked_frames = self._blocked_frames + 1 if error > _BLOCKED_ERROR_RAD else 0
        if self._blocked_frames >= self.context.frames(_BLOCKED_S):
            self.fail(
                "motion_blocked",
                f"The arm stayed {error:.2f} rad from its target for {self._blocked_frames} frames "
                f"in phase {self.phase.name}",
                error_rad=error,
                phase=self.phase.name,
            )


Array = np.ndarray

_LIMIT_TOLERANCE = 1e-3
"""How far beyond its limit a joint may be led [rad or m]: rounding."""
_SPEED_TOLERANCE = 1.1
"""Factor on the speed limits: the time scaling of paths is exact to a few percent."""
_DEGREES_BEYOND = 4.0
"""A value beyond this multiple of the largest limit looks like degrees."""
_ROTATION_TOLERANCE = 1e-3
"""How far the columns of a rotation may be off a length of 1 and right angles."""
_WIDTH_TOLERANCE_M = 1e-3
"""How far an opening may be beyond those of the gripper [m]: it goes as far as it can."""
_FURTHEST_M = 10.0
"""Largest distance of a target from the arm's base [m]. No arm reaches so far: a larger one is a mistake."""
_LONGEST_MOTION = 10.0
"""A motion of more than this multiple of the episode's longest duration is a mistake. One that takes less, but more
than there is, may be a slow plan: its episode ends as a `timeout`."""


def check_commands(skill: Skill, *, max_duration_s: float) -> None:
    """Checks that the commands of a planned skill lead its arm within its limits, without a jump and in finite time.

    Frames are whole numbers. All numbers are finite: targets, openings of the gripper, positions of the part's joint
    and weights. Every motion must have a finite value for each joint, stay within the joint limits, and change no joint
    faster than its speed limit, also from the end of the motion before it to its own first row. A joint that begins
    beyond a limit may stay there. No command may wait for longer than the episode may last [s], or move
    for many times as long. The arm of the skill is where it is when the first command begins.

    Raises:
        SkillError: A number is wrong or breaks a limit; the message names the command, the value and the limit. Or a
            command waits or moves for too long.
    """
    arm, q_before = skill.context.arm.cfg, skill.context.arm.q_target
    lower, upper = np.array(arm.lower), np.array(arm.upper)
    lower, upper = np.minimum(lower, q_before) - _LIMIT_TOLERANCE, np.maximum(upper, q_before) + _LIMIT_TOLERANCE
    most = _SPEED_TOLERANCE * skill.context.frame_s * np.array(arm.max_velocity) + _LIMIT_TOLERANCE
    for index, command in enumerate(skill.commands):
        where = f"Command {index} of skill '{skill.cfg.name}' ({command.kind.value}, {command.phase.name})"
        if (problem := _describe_wrong_number(command, max_width_m=arm.gripper.max_width_m)) is not None:
            raise _motion_error(f"{where} {problem}", skill)
        wait_s = command.dwell_frames * skill.context.frame_s
        if wait_s > max_duration_s:
            raise _motion_error(
                f"{where} waits for {command.dwell_frames} record frames, which are {wait_s:.4g} s. The whole episode "
                f"may take {max_duration_s:g} s (task.max_duration_s). Give it less: `self.context.frames(0.5)` is "
                "half a second.",
                skill,
            )
        if command.motion is None or not len(command.motion):
            continue
        q = command.motion.q
        if (motion_s := len(q) * skill.context.frame_s) > _LONGEST_MOTION * max_duration_s:
            raise _motion_error(
                f"{where} has {len(q)} rows, one a record frame, which are {motion_s:.4g} s. The whole episode may "
                f"take {max_duration_s:g} s (task.max_duration_s). Give it fewer rows.",
                skill,
            )
        if q.ndim != 2 or q.shape[1] != len(arm.joints):
            raise _motion_error(
                f"{where} has `q` of shape {q.shape}. Expected (rows, {len(arm.joints)}): one column for each of "
                f"{', '.join(arm.joints)}.",
                skill,
            )
        beyond = np.nan_to_num(np.maximum(lower - q, q - upper), nan=np.inf)
        if (beyond > 0.0).any():
            row, joint = (int(value) for value in np.unravel_index(beyond.argmax(), q.shape))
            raise _motion_error(f"{where} {_describe_excess(skill, row, joint, float(q[row, joint]))}", skill)
        excess = np.abs(np.diff(q, axis=0, prepend=q_before[None])) - most
        if (excess > 0.0).any():
            row, joint = (int(value) for value in np.unravel_index(excess.argmax(), q.shape))
            step = float(excess[row, joint] + most[joint])
            raise _motion_error(f"{where} {_describe_jump(skill, row, joint, step)}", skill)
        q_before = q[-1]


def _describe_wrong_number(command: ManipCommand, *, max_width_m: float) -> str | None:
    """Says which number of a command is wrong, apart from its joint targets; None: all are right.

    The gripper opens by at most `max_width_m`.
    """
    frames, pose, motion = command.dwell_frames, command.T_base_ee, command.motion
    if not isinstance(frames, Integral) or isinstance(frames, bool) or frames < 0:
        return (
            f"has dwell_frames={frames!r}. Expected a whole number of record frames, 0 or more, such as "
            "`self.context.frames(0.5)`, which is half a second."
        )
    if not isinstance(pose, Pose):
        return f"has T_base_ee={pose!r:.80}. Expected a Pose of the hand in the arm's base frame."
    if not np.linalg.norm(pose.p) <= _FURTHEST_M:
        return (
            f"has its target T_base_ee at p={_format(pose.p)} m. Expected three finite numbers, at most "
            f"{_FURTHEST_M:g} m from the arm's base. Give metres in the arm's base frame."
        )
    if not (np.abs(pose.R @ pose.R.T - np.eye(3)).max() <= _ROTATION_TOLERANCE and np.linalg.det(pose.R) > 0.0):
        return (
            f"has a target T_base_ee whose R={_format(pose.R)} is no rotation. Expected columns of length 1 at right "
            "angles, right-handed. Make it by Pose.from_quat_xyzw or Pose.from_rpy."
        )
    if (
        motion is not None
        and motion.s is not None
        and not (motion.s.shape == (len(motion),) and np.isfinite(motion.s).all())
    ):
        return (
            f"has a motion with s={_format(motion.s)}. Expected {len(motion)} finite numbers, one for each row of q: "
            "the position of the part's joint [rad or m]."
        )
    widths: dict[str, Any] = {"a motion with gripper_m": None if motion is None else motion.gripper_m}
    if command.kind is ManipKind.open_gripper:
        widths["params['width_m']"] = command.params.get("width_m")
    for name, value in widths.items():
        if value is not None and not _are_numbers(value, -_WIDTH_TOLERANCE_M, max_width_m + _WIDTH_TOLERANCE_M):
            return (
                f"has {name}={_format(value)}. Expected 0 to {max_width_m:g} m, the openings of this gripper. Give "
                "metres between its fingertips."
            )
    weights = command.params.get("hold_vec_weight")
    if command.kind is ManipKind.update_pose_cost_metric and not (np.size(weights) == 6 and _are_numbers(weights)):
        return (
            f"has params['hold_vec_weight']={_format(weights)}. Expected six finite numbers: about x, y, z, then along "
            "x, y, z."
        )
    return None


def _are_numbers(value: Any, low: float = -np.inf, high: float = np.inf) -> bool:
    """Returns whether a value is a number or an array of numbers, all finite and in a range."""
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(np.isfinite(numbers).all() and (numbers >= low).all() and (numbers <= high).all())


def _format(value: Any) -> str:
    """Returns a value for a message; of a long array, its first and last numbers."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=9, separator=", ").replace("\n", "")
    return shorten(repr(value), 80)


def _describe_excess(skill: Skill, row: int, joint: int, value: float) -> str:
    """Says which limit a motion breaks."""
    arm, unit = skill.context.arm.cfg, _unit_of(skill, joint)
    low, high = arm.lower[joint], arm.upper[joint]
    advice = "Change the motion."
    if unit == "rad" and abs(value) > _DEGREES_BEYOND * max(abs(low), abs(high)):
        advice = "Are these degrees? Give radians, such as those of np.deg2rad."
    return (
        f"leads joint '{arm.joints[joint]}' to {value:.3g} {unit} in row {row}. Its limits are {low:.3g} and "
        f"{high:.3g} {unit}. {advice}"
    )


def _describe_jump(skill: Skill, row: int, joint: int, step: float) -> str:
    """Says where a motion is faster than a joint."""
    arm, unit = skill.context.arm.cfg, _unit_of(skill, joint)
    name, speed = arm.joints[joint], arm.max_velocity[joint]
    limit = f"{speed:.3g} {unit}/s, which is {speed * skill.context.frame_s:.3g} {unit} in a frame"
    if row == 0:
        return (
            f"begins {step:.3g} {unit} away from where joint '{name}' is then. The speed limit is {limit}. Begin the "
            "motion at the end of the one before it."
        )
    return f"moves joint '{name}' by {step:.3g} {unit} in row {row}. The speed limit is {limit}. Give it more rows."


def _unit_of(skill: Skill, joint: int) -> str:
    return "m" if skill.context.arm_model.kinematics.joints[joint].prismatic else "rad"


def _motion_error(message: str, skill: Skill) -> SkillError:
    """Returns the error, with the place of the method that made the commands."""
    kind = type(skill)
    return SkillError(f"{message} {place_of(getattr(kind, 'make_commands', kind.plan))}")


class HoldingSkill(Skill):
    """Holds while other skills of its stage act: they begin once it holds, and `let_go` is called when they are done.

    A subclass has one command of phase `hold`, which lasts until `let_go`, and writes `q_hold` and `gripper_hold_m`.
    """

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self._is_to_let_go = False

    @property
    @abstractmethod
    def q_hold(self) -> np.ndarray:
        """(n,) joints while it holds [rad]; read after `plan`."""

    @property
    @abstractmethod
    def gripper_hold_m(self) -> float:
        """Opening of the gripper while it holds [m]."""

    @property
    def positions_held(self) -> dict[str, float]:
        """Where it holds joints of its object, by joint [rad or m]; none, if it holds a fixed handle."""
        return {}

    @classmethod
    def declare_rule(cls, cfg: SkillCfg, gripper: GripperCfg) -> SuccessRule:
        """See `Skill.declare_rule`: the fingers touch what they hold; no joint is judged."""
        return replace(super().declare_rule(cfg, gripper), success_mode=None, holds=True)

    @property
    def is_holding(self) -> bool:
        """Whether it holds, so that others may begin."""
        return self.phase is Phase.hold and not self._failures

    def let_go(self) -> None:
        """Ends the hold: the others are done."""
        self._is_to_let_go = True

    @property
    def has_skipped(self) -> bool:
        """Whether `skip_to_hold` was called."""
        return bool(self.commands) and self.commands[0].phase is Phase.hold

    def skip_to_hold(self) -> None:
        """Drops the commands before the hold, for a search that places the arm there."""
        phases = [command.phase for command in self.commands]
        self.commands = self.commands[phases.index(Phase.hold) :]

    def is_subtask_done(self) -> bool:
        """See `Skill.is_subtask_done`; the hold is done after `let_go`."""
        return super().is_subtask_done() and (self.phase is not Phase.hold or self._is_to_let_go)


def moves_part(skill: type[Skill]) -> bool:
    """Returns whether a kind of skill leads a part to a threshold: it has a success mode and does not only hold."""
    return bool(skill.success_modes) and not issubclass(skill, HoldingSkill)
