"""Base class of skills that move a part of an object: the snapshot of the scene, the plan and the checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import Articulation, HandleType, Part
from unlatch.objects.scene_object import SceneObject
from unlatch.robots.description import GripperCfg
from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.config import SkillCfg, part_acted_on
from unlatch.skills.context import Displacement, Failure, SkillContext, Views, describe_reach, is_reachable
from unlatch.skills.skill import Skill
from unlatch.solver.joint_path import JointPath, PathGeometry, in_part_positions
from unlatch.solver.path_solver import NO_ENDS, motion_poses
from unlatch.solver.plan import KeyframePlan, PlanRequest
from unlatch.solver.planner import plan_from_grasp, plan_keyframes
from unlatch.solver.scene import Array, JointGeometry, PlanningScene, Slip, SlipMode
from unlatch.solver.setting import MOTION_WORDS, FollowJointCfg, PlannerSettingCfg, SuccessMode
from unlatch.solver.setting_reader import read_motions

_CLOSED_WITHIN_M = 2e-3
_CLOSING_TIME_FACTOR = 1.5
"""Factor on the mean time to close: fingers on levers move unevenly."""
_GRASP_S = 0.85
"""Shortest time to close the fingers: 40 mm at 50 mm/s, and a little to settle."""
_SETTLE_S = 0.05
_ROOM_SHARE = 0.3
"""Share of the length of a bar or edge by which a varied grasp is at most moved along it."""
_MOST_ROOM_M = 0.12
_LAG_RAD = 0.03
"""An arm that is farther from its targets presses against something: it does not go on with its grasp."""
_ARRIVAL_MARGIN = 0.1
"""A part has arrived when it is further than success needs by this share of its way, or halfway to the planned end."""
_CLOSED_SHARE = 0.5
"""The same for a part that closes: the share of the distance from closed that counts as closed."""
_LEAST_GAIN = 0.1
"""An extension must have brought the part nearer by this share of what is missing, or there is no other."""
_EXTENSIONS = (1.5, 0.7, 0.3)
"""How far an extension leads, as shares of what is missing, the first that the arm reaches. More than all of it, for a
hand that slipped by a fifth of the way slips again."""
_LEAST_EXTENSION = 0.005
"""No extension is shorter than this share of the range: the range ends there."""
_PULL_SHARE = 0.5
"""Fingers that bear more than this share of their limit do not pull on, nor lead a part further that has arrived."""
LED_SHARE = 0.97
"""Largest opening to which a part is led, as a share of its range."""
_LISTED_LEADS = (1.5, 1.2, 1.05)
"""How far listed motions lead a part, as factors on the displacement that counts as success, the best first."""


class ArticulationSkill(Skill):
    """Acts on one part of one object along its joint. A subclass writes `make_commands` and `default_target`."""

    success_modes: ClassVar[tuple[SuccessMode, ...]] = (SuccessMode.abs, SuccessMode.fraction)
    opens: ClassVar[bool | None] = None
    """Whether the skill opens its part (True) or closes it (False); None = neither."""

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self.object_name = cfg.objects[0]
        self.object: SceneObject = context.objects[self.object_name]
        self.part: Part = part_acted_on(cfg.name, cfg.part, self.object.asset.articulation)
        if cfg.obj_info_path is not None:
            from unlatch.objects.annotate.peer_info import with_info_file

            self.part = with_info_file(self.part, self.object.asset, cfg.obj_info_path)
        self.views: Views = context.views[(self.object_name, self.part.name)]
        self.s0 = self.s
        self.extensions = 0
        """How often `lead_on` extended the path of the part."""
        self._missing = np.inf
        self._was_touched = False

    @property
    def s(self) -> float:
        """Position of the part's joint now [rad or m]."""
        return self.object.joint_position(self.part.joint)

    @abstractmethod
    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """Returns the commands that carry out a plan."""

    @property
    def is_touched(self) -> bool:
        """Whether a finger touches the part now."""
        return float(np.asarray(self.views.fingers_link.force_max_n.get_value())) > 0.0

    @property
    def part_speed(self) -> float | None:
        """Speed of the part [rad/s or m/s]; None = the planner's own."""
        return None

    @property
    def approach_width_m(self) -> float:
        """Opening of the fingers on the approach and the retreat [m]: that of the setting, or fully open."""
        return self._approach_width_of(self.cfg.planner_setting)

    def _approach_width_of(self, setting: PlannerSettingCfg) -> float:
        """Returns `approach_width_m` of a setting [m]."""
        width, widest = setting.approach_width_m, self.context.arm.cfg.gripper.max_width_m
        return widest if width is None else min(width, widest)

    @property
    def slips(self) -> tuple[Slip, ...] | None:
        """Freedoms of the hand on the part, in the order in which they are tried; None = the planner's choice."""
        return None

    def plan(self, rng: np.random.Generator) -> bool:
        """Solves the keyframes and the whole motion; see `Skill.plan`."""
        self._check_target()
        self.load_checker()
        self.keyframe_plan = self._in_part_positions(self._plan_motion(rng))
        if not self.keyframe_plan.found:
            self.refuse(self.keyframe_plan)
            return False
        self.commands = self.make_commands(self.keyframe_plan)
        return True

    def plan_from_grasp(self, *, steps_back: bool = True) -> str | None:
        """Plans on from the present joints and the present grasp: the rest of the part's path, and the step back.

        The plan begins at rest. Fills `commands` as `plan` does. Returns why there is no such plan, with a step back if
        it `steps_back`; None if there is one.
        """
        problem = self._find_loose_grip()
        if problem is not None:
            return problem
        is_beyond = (self.follow_to - self.s) * (self.follow_to - self.s0) <= 0.0
        plan = self._plan_on(self.s if is_beyond else self.follow_to, steps_back=steps_back)
        if not plan.found:
            return "there is no plan from this grasp" if plan.diagnosis is None else plan.diagnosis.message
        self.keyframe_plan, self.commands = plan, self.make_commands(plan)
        return None

    def _plan_on(self, target: float, *, steps_back: bool = True, as_held: bool = False) -> KeyframePlan:
        """Returns the plan that leads the part from where hand and part are to a position of its joint [rad or m].

        `as_held`: the hand may hold the part in any way.
        """
        self.load_checker()
        request = self.request(follow_to=target)
        request = request if steps_back else replace(request, retreat_m=0.0)
        plan = plan_from_grasp(request, self.context.checker, q_hand=self.context.arm.q_read, as_held=as_held)
        return self._in_part_positions(plan)

    def _find_loose_grip(self) -> str | None:
        """Returns why the fingers do not hold the part now, or do not push it; None if they do."""
        arm, touching = self.context.arm, self.views.fingers_link.touching_links
        lag_rad = float(np.abs(arm.q_read - arm.q_target).max())
        if lag_rad > _LAG_RAD:
            return f"the arm is {lag_rad:.2f} rad away from its targets, expected at most {_LAG_RAD}"
        own = frozenset(arm.cfg.gripper.finger_links)
        fingers = [group & own for group in self.context.robot.body.rigid_groups if group & own]
        count = sum(bool(finger & touching) for finger in fingers)
        opening_m, closed_m = arm.gripper_opening_m, min(arm.cfg.gripper.widths_m, default=0.0)
        if self.closed_gripper and opening_m > closed_m + _CLOSED_WITHIN_M:
            return f"the fingers are open by {1e3 * opening_m:.0f} mm, expected closed"
        if count < (1 if self.closed_gripper else len(fingers)):
            return f"{count} of {len(fingers)} fingers touch '{self.part.name}'"
        return None

    def load_checker(self) -> None:
        """Gives the collision checker the scene as the planner sees it now, with the part's joint free to move."""
        self.context.budget.meter.spend("loads")
        path = self._joint_path(self.cfg.planner_setting)
        obstacles = [
            replace(item, joint=self.part.joint, positions_at=None if path is None else path.at)
            if item.name == self.object_name
            else item
            for item in self.context.obstacles(seen=True)
        ]
        self.context.checker.load(
            self.context.robot_model,
            obstacles,
            ignored_substrings=self.cfg.ignore_substring,
            concurrent_motions=self.context.concurrent_motions,
        )

    def _plan_motion(self, rng: np.random.Generator) -> KeyframePlan:
        """Returns the plan for the loaded scene."""
        return plan_keyframes(self.request(), self.context.checker, rng)

    @classmethod
    def declare_link(cls, cfg: SkillCfg, articulation: Articulation) -> str | None:
        """See `Skill.declare_link`: that of another part that the hand holds, such as the lever of a latched door."""
        held = None if cfg.planner_setting.derived else cfg.planner_setting.held_part
        return None if held is None else articulation.part(held).link

    def held_part(self, setting: PlannerSettingCfg | None = None) -> Part:
        """Returns the part that the hand holds: that of the skill, or another one that the setting names."""
        name = (self.cfg.planner_setting if setting is None else setting).held_part
        return self.part if name is None else self.object.asset.articulation.part(name)

    def describe_held(self) -> str:
        """Returns what a mechanism lacks to let the part move now, to be added to a message; empty if nothing."""
        asset = self.object.asset
        if not asset.articulation.mechanisms or self.success_mode is SuccessMode.zero:
            return ""
        from unlatch.skills.mechanism_steps import explain_held

        return "".join(f"; {line}" for line in explain_held(asset, self.part, self._positions()))

    def _positions(self) -> dict[str, float]:
        """Returns the positions of all joints of the object now [rad or m]."""
        return dict(zip(self.object.joint_names, self.object.body.joint_states()[0].tolist(), strict=True))

    def _in_part_positions(self, plan: KeyframePlan) -> KeyframePlan:
        """Returns a plan with the positions of the part's joint, also where the hand moves another joint first."""
        path = self._joint_path(self.cfg.planner_setting)
        return plan if path is None else in_part_positions(plan, path, self.part.joint)

    def _joint_path(self, setting: PlannerSettingCfg, *, s: float | None = None) -> JointPath | None:
        """Returns how the joints of the object move along the way of the hand; None: only that of the part does.

        The way begins with the part at a position of its joint [rad or m]; None: at the present one.
        """
        articulation, model = self.object.asset.articulation, self.object.asset.model
        if not articulation.mechanisms:
            return None
        from unlatch.skills.mechanism_steps import joint_path

        held, positions = self.held_part(setting), self._positions()
        positions |= {} if s is None else {self.part.joint: s}
        free = self.cfg.ignores_mechanisms or self.success_mode is SuccessMode.zero  # what holds a part lets it close
        return joint_path(articulation, model, self.part, held, positions, free=free)

    @property
    def follow_to(self) -> float:
        """Joint position at the end: that of `follow_joint` in the setting, or else the default [rad or m]."""
        openness, follow = self.part.openness, self.cfg.planner_setting.follow_joint
        target = None if follow is None else follow.target(s_closed=openness.closed, s_open=openness.open)
        return self.default_target() if target is None else target

    def distance_from_plan(self) -> float:
        """Returns how far the part is from where its plan has it [rad or m]; 0 while a finger touches it.

        It stays 0 for a part that a finger has pushed towards its goal: it may glide ahead of the finger, which comes
        after it.
        """
        plan, begun = self.keyframe_plan, self.commands[: self.executor.index]
        on_way = self.phase in (Phase.transit, Phase.approach) and not any(c.phase is Phase.follow for c in begun)
        self._was_touched |= self.is_touched
        if plan is None or not plan.found or not on_way or self.is_touched:
            return 0.0
        moved = self.s - plan.keyframes[0].s
        return 0.0 if self._was_touched and moved * (self.follow_to - self.s0) > 0.0 else abs(moved)

    def lead_on(self) -> None:
        """Extends the path of the part where it is over and the part has not arrived; called in every frame.

        It goes on from the present grasp for as long as the part comes nearer, within the reach of the arm, the force
        of the fingers and the range of the joint. It ends before its end where the part has arrived and the fingers
        bear much: the plan goes on for a while beyond what is asked.
        """
        if self.phase is Phase.follow and self._finger_load() > _PULL_SHARE and self.has_arrived():
            self.executor.end_motion()
            return
        if self.phase is not Phase.follow or not self.executor.is_subtask_done() or self.is_led_again():
            return
        if self.cfg.planner_setting.follow_joint is None or self.cfg.planner_setting.drags:
            return
        missing = abs(self._arrival() - self.s)
        gained = self._missing - missing
        if self.has_arrived() or gained < _LEAST_GAIN * missing:
            return
        if not self.is_touched or self._finger_load() >= _PULL_SHARE:
            return
        self._missing = missing
        low, high = sorted((self.part.openness.closed, self.part.openness.open))
        for share in _EXTENSIONS:
            target = float(np.clip(self.s + np.sign(self._arrival() - self.s) * share * missing, low, high))
            if abs(target - self.s) < _LEAST_EXTENSION * self.part.openness.span:
                return
            plan = self._plan_on(target, as_held=True)
            if plan.found:
                made = self.make_commands(plan)
                first = next(index for index, command in enumerate(made) if command.phase is Phase.follow)
                self.commands = self.executor.extend(made[first:])
                self.extensions += 1
                return

    def is_led_again(self) -> bool:
        """Whether the plan grasps and leads the part again later, as a cap that is turned in several turns."""
        return any(command.phase is Phase.follow for command in self.commands[self.executor.index + 1 :])

    def _finger_load(self) -> float:
        """Returns the force between fingers and part, as a share of what a finger may bear."""
        force_n = float(np.asarray(self.views.fingers_link.force_mean_n.get_value()))
        return force_n / self.context.arm.cfg.gripper.finger_force_limit_n

    def has_arrived(self) -> bool:
        """Whether the part is a little further than success needs: it may spring back when the hand lets go."""
        return (self.s - self._arrival()) * (self.follow_to - self.s0) >= 0.0

    def _arrival(self) -> float:
        """Returns the joint position at which the part has arrived [rad or m]; see `has_arrived`."""
        found, openness = self.displacement(), self.part.openness
        if found.mode is SuccessMode.zero:
            return openness.position(_CLOSED_SHARE * found.threshold)
        wanted = found.threshold * (openness.span if found.mode is SuccessMode.fraction else 1.0)
        follow = self.cfg.planner_setting.follow_joint
        if follow is not None and follow.reach is not None:
            wanted = max(wanted, abs(follow.reach - self.s0))
        most = max(abs(self.follow_to - self.s0), abs(openness.open - self.s0) if self.opens else 0.0)
        way = min((1.0 + _ARRIVAL_MARGIN) * wanted, max(wanted, 0.5 * (wanted + most)))
        return self.s0 + np.sign(self.follow_to - self.s0) * way

    def _check_target(self) -> None:
        """Raises an error if the code of the skill asks for a position that the joint of the part cannot reach.

        A target of the planner setting was checked with the configuration.
        """
        openness, follow = self.part.openness, self.cfg.planner_setting.follow_joint
        joint, target = self.object.asset.model.joints[self.part.joint], self.follow_to
        if follow is not None and target == follow.target(s_closed=openness.closed, s_open=openness.open):
            return
        if not is_reachable(joint, target):
            raise SkillError(
                f"{type(self).__qualname__} leads '{self.part.name}' of '{self.object_name}' to {target:.3g} "
                f"{joint.unit}, which its joint cannot reach. Expected {describe_reach(joint)}. Change what "
                "`default_target` or `follow_to` returns.",
                target=target,
            )

    @property
    def end_position(self) -> float:
        """Joint position of the part at the end of the plan; without a plan, as the setting says [rad or m]."""
        plan = self.keyframe_plan
        is_listed = self.cfg.planner_setting.follow_joint is None
        return plan.keyframes[-1].s if is_listed and plan is not None and plan.found else self.follow_to

    @abstractmethod
    def default_target(self) -> float:
        """Returns the joint position to which the part is led if `follow_joint` of the setting names none [rad or m].

        It is a position of `self.part.joint`, not a distance from `self.s0`: `self.part.openness.position(x)` returns
        the position that is open by x [rad or m] from closed. It must lie within the joint's limits, or a little past
        one (0.05 rad or 0.01 m), to push the part against it; `plan` refuses others.
        """

    @property
    def success_mode(self) -> SuccessMode:
        """How the joint's displacement is measured: as the setting says, or the default of the skill."""
        return self.cfg.planner_setting.success_mode or self.success_modes[0]

    @classmethod
    def declare_rule(cls, cfg: SkillCfg, gripper: GripperCfg) -> SuccessRule:
        """See `Skill.declare_rule`: the joint is judged too, unless the skill only holds for others."""
        rule = super().declare_rule(cfg, gripper)
        mode = cfg.planner_setting.success_mode or cls.success_modes[0]
        return rule if rule.holds else replace(rule, success_mode=mode.value)

    def displacement(self) -> Displacement:
        """Returns the displacement of the joint since the skill began, with its threshold."""
        return Displacement.of(
            self.success_mode,
            s=self.s,
            s0=self.s0,
            openness=self.part.openness,
            threshold=float(self.cfg.planner_setting.success_threshold),
        )

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`: the displacement of the joint misses its threshold."""
        found = self.displacement()
        if found.enough:
            return None
        # two unequal numbers with as many decimals, at least three, as show that they differ
        digits = 3
        while digits < 9 and f"{found.value:.{digits}f}" == f"{found.threshold:.{digits}f}":
            digits += 1
        value, threshold = f"{found.value:.{digits}f}", f"{found.threshold:.{digits}f}"
        if found.mode is SuccessMode.zero:
            message = f"is {value} from closed, expected at most {threshold}"
            numbers = {"distance": found.value, "allowed": found.threshold}
        else:
            message = f"moved {value} of the {threshold} wanted"
            numbers = {"moved": found.value, "wanted": found.threshold}
        message += self.describe_held()
        return self.make_failure("not_reached", f"'{self.part.name}' {message}", **numbers, s=self.s, s0=self.s0)

    def request(
        self,
        *,
        s: float | None = None,
        q_current: Array | None = None,
        follow_to: float | None = None,
        setting: PlannerSettingCfg | None = None,
    ) -> PlanRequest:
        """Returns the problem for the planner, from a snapshot of the scene.

        Args:
            s: Joint position of the part at the grasp [rad or m]; None = its position now.
            q_current: (n,) joints of the arm at the start [rad]; None = its joints now.
            follow_to: Joint position of the part at the end [rad or m]; None = that of the skill.
            setting: Planner setting; None = that of the skill.
        """
        context = self.context
        setting = self.cfg.planner_setting if setting is None else setting
        scene, handle = self.snapshot(setting), self.held_part(setting).handle
        scene = scene if s is None or s == self.s else self._scene_at(scene, setting, s)
        contact_m = PlanRequest.gripper_contact_m
        if isinstance(scene.joint, PathGeometry) and handle.type is HandleType.knob:
            contact_m = float(min(handle.size[1:]))  # on a knob that is pressed, the fingers pass its neck
        target = self.follow_to if follow_to is None else follow_to
        led_to = self._end_of_words(setting, scene)
        if led_to is not None:
            setting, target = replace(setting, post_actuation_motions=FollowJointCfg(to=led_to)), led_to
        arm = context.arm_model
        if setting.origin.is_peer:
            from unlatch.solver.peer_settings import read_peer_tool  # few files have such a block

            arm = replace(arm, tool_keypoints=read_peer_tool(setting, arm.tool_keypoints))
        return PlanRequest(
            arm=arm,
            scene=scene,
            setting=setting,
            q_current=context.arm.q_target if q_current is None else q_current,
            follow_to=None if setting.follow_joint is None else target,
            closed_gripper=self.closed_gripper,
            part_pairs=self.part_pairs(),
            frame_s=context.frame_s,
            retreat_m=context.scale * PlanRequest.retreat_m,
            gripper_open_m=self._approach_width_of(setting),
            gripper_contact_m=contact_m,
            part_speed=self.part_speed,
            grasp_room_m=self._grasp_room_m(setting),
            asset=self.object.asset.instance,
            opens=self.opens,
            listed_ends=self.listed_ends() if setting.origin.is_peer else (NO_ENDS,),
            slips=tuple(Slip(SlipMode(name)) for name in setting.slips) or self.slips,
            budget=context.budget,
        )

    def _end_of_words(self, setting: PlannerSettingCfg, scene: PlanningScene) -> float | None:
        """Returns where words of a setting of another system lead a part that is held [rad or m]; None: they fit it.

        Words move the hand along straight lines. A hand that holds a part on a hinge cannot leave the part's path: it
        leads the part along its joint, as far as the words do.
        """
        words = {mode for mode, _ in setting.listed_post_motions}
        is_held = setting.origin.is_peer and not self.closed_gripper and setting.contact_index == setting.goal_index
        if not is_held or scene.joint.prismatic or not words & set(MOTION_WORDS) or words - {"rotate", *MOTION_WORDS}:
            return None
        reading = read_motions(setting, scene, self.context.arm_model.tool_keypoints, np.eye(3), opens=self.opens)
        grasp = Pose(np.eye(3), scene.keypoint("articulated_object_head"))
        ends = self.listed_ends()[1]
        return float(motion_poses(grasp, setting.listed_post_motions, scene, reading, ends=ends).s[-1])

    def listed_ends(self) -> tuple[tuple[float, float], ...]:
        """Returns where the motions listed by a setting of another system end, tried in order [rad or m].

        Each item is a lower and an upper joint position. The other systems follow their motions until the skill has
        succeeded. A part that is led ends beyond that, if the arm can, so that slip and lag do not matter.
        """
        wanted = self.cfg.planner_setting.success_threshold
        wanted *= self.part.openness.span if self.success_mode is SuccessMode.fraction else 1.0
        # the joint positions between which a part is led: its range, a little short of fully open
        joint, openness = self.object.body.joint(self.part.joint), self.part.openness
        opened = openness.position(LED_SHARE * openness.span)
        lower, upper = (joint.lower, joint.upper) if joint.lower < joint.upper else NO_ENDS
        low, high = (lower, min(upper, opened)) if openness.sign > 0.0 else (max(lower, opened), upper)
        return tuple((max(low, self.s - lead * wanted), min(high, self.s + lead * wanted)) for lead in _LISTED_LEADS)

    def _grasp_room_m(self, setting: PlannerSettingCfg) -> float:
        """Returns how far the grasp may move along a bar or edge to either side [m]; 0 where the setting moves it."""
        part = self.held_part(setting)
        handle = part.handle
        held_along = handle.type in (HandleType.bar, HandleType.edge) and not part.kind.turns_in_hand
        if self.closed_gripper or setting.keypoint_shifts or not held_along:
            return 0.0
        return min(_ROOM_SHARE * float(handle.size[2]), _MOST_ROOM_M)

    def part_pairs(self) -> frozenset[tuple[str, str]]:
        """Returns the pairs of links that may touch once contact begins: each finger with the touched link."""
        fingers, link = self.context.arm.cfg.gripper.finger_links, self.touched_link or self.part.link
        return frozenset((finger, f"{self.object_name}/{link}") for finger in fingers)

    def snapshot(self, setting: PlannerSettingCfg | None = None) -> PlanningScene:
        """Returns keypoints, axes and the joint in the arm's base frame, as the planner sees them, by our conventions.

        The setting's shifts are added to the keypoints, and the object's pose errors to everything.
        """
        setting = self.cfg.planner_setting if setting is None else setting
        part = self.held_part(setting)
        T_base_world = self.context.arm.T_world_base.inverse()
        frames = {name: T_base_world @ pose for name, pose in self.object.seen_frames(part.name).items()}
        errors = {name: self.object.pose_error.keypoint_error(part.name, name) for name in part.keypoints}
        keypoints = {name: frames[v.frame] @ (v.xyz + errors[name]) for name, v in part.keypoints.items()}
        axes = {name: frames[v.frame].rotate(v.xyz) for name, v in part.axes.items()}
        for name, shift in setting.keypoint_shifts.items():
            keypoints[name] = keypoints[name] + frames[part.keypoints[name].frame].rotate(np.array(shift))
        vectors = {**part.keypoints, **part.axes}
        scene = PlanningScene(
            keypoints=keypoints,
            axes=axes,
            moving_names=frozenset(name for name, v in vectors.items() if v.frame == "link"),
            R_base_link=frames["link"].R,
            R_base_world=T_base_world.R,
            joint=self._joint_geometry(setting, frames),
            R_base_object=frames["obj"].R @ self.object.asset.R_obj_peer,
            s_closed=self.part.openness.closed,
            s_open=self.part.openness.open,
        )
        error = self.object.pose_error.joint_error(self.part.joint)
        joint = self.object.body.joint(self.part.joint)
        return (
            scene
            if error == 0.0 or isinstance(scene.joint, PathGeometry)
            else scene.at(float(np.clip(self.s + error, joint.lower, joint.upper)))
        )

    def _scene_at(self, scene: PlanningScene, setting: PlannerSettingCfg, s: float) -> PlanningScene:
        """Returns a snapshot with the part at a position of its joint [rad or m], and nothing else moved yet."""
        joint = scene.joint
        if not isinstance(joint, PathGeometry):
            return scene.at(s)
        given = {field.name: getattr(joint, field.name) for field in fields(JointGeometry)}
        moved = replace(scene, joint=JointGeometry(**{**given, "position": self.s})).at(s)
        path = self._joint_path(setting, s=s)
        if path is None:
            return moved
        return replace(moved, joint=replace(joint, path=path, position=path.start))

    def _joint_geometry(self, setting: PlannerSettingCfg, frames: Mapping[str, Pose]) -> JointGeometry:
        """Returns how the held part moves; `frames` are those of the held part in the arm's base frame."""
        joint, T_base_link = self.object.body.joint(self.part.joint), frames["link"]
        path, held = self._joint_path(setting), self.held_part(setting)
        if held is not self.part:
            T_base_world = self.context.arm.T_world_base.inverse()
            T_base_link = T_base_world @ self.object.seen_frames(self.part.name)["link"]
        geometry = JointGeometry(
            prismatic=joint.prismatic,
            origin=T_base_link.p,
            axis=T_base_link.rotate(np.array(joint.axis)),
            position=self.s,
            lower=joint.lower,
            upper=joint.upper,
        )
        if self.opens and self.object.can_move and not self.context.concurrent_motions:  # nothing else holds the object
            from unlatch.skills.unfastened import pull_offset

            offset = pull_offset(self.object.asset, self.part, self.object.body.root_pose())
            geometry = replace(geometry, origin=geometry.origin + self.context.arm.T_world_base.R.T @ offset)
        if path is None:
            return geometry
        T_base_root, model = frames["obj"], self.object.asset.model
        return PathGeometry(
            **{**vars(geometry), "position": path.start},
            path=path,
            pose_at=lambda positions: T_base_root @ model.link_pose(held.link, dict(positions)),
        )

    def held_joints(self) -> dict[str, frozenset[str]]:
        """See `Skill.held_joints`: the part's joint, if `update_art_joint` is true."""
        if self.cfg.planner_setting.update_art_joint and self._is_joint_held():
            return {self.object_name: frozenset((self.part.joint,))}
        return {}

    def _is_joint_held(self) -> bool:
        """Whether `update_art_joint` holds the joint in the next frame."""
        return True

    def grasp_commands(
        self, plan: KeyframePlan, width_m: float, *, held: Sequence[ManipCommand], T_base_release: Pose
    ) -> list[ManipCommand]:
        """Returns the commands to approach with open fingers, grasp, act, release and step back.

        Args:
            plan: The motions to and from the part.
            width_m: Opening of the fingers on the approach and the retreat [m].
            held: Commands between grasp and release.
            T_base_release: Pose of the ee frame at the release, arm's base frame.
        """
        T_base_grasp = plan.keyframes[plan.contact_pose_index].T_base_ee
        close, release = ManipKind.close_gripper, ManipKind.open_gripper
        frames, gripper = self.context.frames, self.context.arm.cfg.gripper
        closing_s = max(_GRASP_S, 0.5 * gripper.max_width_m / gripper.max_speed_m_s + _SETTLE_S)
        if not any(segment.kind == "approach" for segment in plan.segments):  # the fingers hold the part already
            closing_s = _SETTLE_S
        return [
            self.allow_contact(plan, touching=False),
            *self.motion_commands(plan, "transit", release, Phase.transit, gripper_m=width_m),
            *self.motion_commands(plan, "approach", release, Phase.approach, gripper_m=width_m),
            self.allow_contact(plan, touching=True),
            ManipCommand(close, T_base_grasp, Phase.grasp, dwell_frames=frames(closing_s), until_rest=True),
            *held,
            self.release_command(T_base_release, width_m),
            *self.motion_commands(plan, "retreat", release, Phase.retreat, gripper_m=width_m),
        ]

    def closed_gripper_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """Returns the commands to approach, lead the part and step back with closed fingers."""
        return [
            self.allow_contact(plan, touching=False),
            *self._close_levers_first(plan),
            *self.motion_commands(plan, "transit", ManipKind.close_gripper, Phase.transit),
            *self.motion_commands(plan, "approach", ManipKind.close_gripper, Phase.approach),
            self.allow_contact(plan, touching=True),
            *self.motion_commands(plan, "follow", ManipKind.close_gripper, Phase.follow),
            *self.motion_commands(plan, "retreat", ManipKind.close_gripper, Phase.retreat),
        ]

    def _close_levers_first(self, plan: KeyframePlan) -> list[ManipCommand]:
        """Returns a command that closes fingers on levers before transit: the part would push half-open tips aside."""
        gripper, opening = self.context.arm.cfg.gripper, self.context.arm.gripper_opening_m
        if not gripper.on_levers or opening <= gripper.widths_m[0] + _CLOSED_WITHIN_M:
            return []
        frames = self.context.frames(_CLOSING_TIME_FACTOR * 0.5 * opening / gripper.max_speed_m_s)
        return [ManipCommand(ManipKind.close_gripper, plan.keyframes[0].T_base_ee, Phase.transit, dwell_frames=frames)]

    def allow_contact(self, plan: KeyframePlan, *, touching: bool) -> ManipCommand:
        """Returns the command that sets which pairs may touch from here on."""
        pairs = sorted(self.part_pairs()) if touching else []
        return ManipCommand(
            ManipKind.update_specific,
            plan.keyframes[0].T_base_ee,
            Phase.idle,
            params={"allowed_pairs": pairs, "ignore_substring": list(self.cfg.ignore_substring)},
        )
