"""What the skills that move a part of an object have in common: the snapshot, the plan and the checks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import Part
from unlatch.objects.scene_object import SceneObject
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.contract.command import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.contract.config import SkillCfg, part_acted_on
from unlatch.skills.contract.context import SkillContext, Views
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill
from unlatch.skills.contract.success import Displacement
from unlatch.solver.path.slip import Slip, SlipMode
from unlatch.solver.planning.plan import KeyframePlan, PlanRequest, Segment
from unlatch.solver.planning.planner import plan_keyframes
from unlatch.solver.scene import JointGeometry, PlanningScene
from unlatch.solver.settings.setting import PlannerSettingCfg, SuccessMode

Array = np.ndarray

_CLOSED_WITHIN_M = 2e-3
_UNEVEN = 1.5
"""Fingers on levers move unevenly: so many times the mean time to close."""


class ArticulationSkill(Skill):
    """Acts on one part of one object along its joint."""

    success_modes: ClassVar[tuple[SuccessMode, ...]] = (SuccessMode.abs, SuccessMode.fraction)

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self.object_name = cfg.objects[0]
        self.object: SceneObject = context.objects[self.object_name]
        self.part: Part = part_acted_on(cfg.name, cfg.part, self.object.asset.articulation)
        self.views: Views = context.views[(self.object_name, self.part.name)]
        self.s0 = self.s
        joint = self.object.body.joint(self.part.joint)
        self.range = joint.upper - joint.lower

    @property
    def s(self) -> float:
        """Position of the part's joint now [rad or m]."""
        return self.object.joint_position(self.part.joint)

    @property
    @abstractmethod
    def follow_to(self) -> float:
        """Joint position to which the part is moved [rad or m]."""

    @abstractmethod
    def _commands_of(self, plan: KeyframePlan) -> list[ManipCommand]:
        """The command list of a plan that was found."""

    @property
    def closed_gripper(self) -> bool:
        """Whether the fingers are closed throughout."""
        return False

    @property
    def part_speed(self) -> float | None:
        """Speed at which the part is led [rad/s or m/s]; None = the planner's own."""
        return None

    @property
    def approach_width_m(self) -> float:
        """Opening of the fingers on the way to the part and back [m]: the setting's, or as wide as they go."""
        return self._width_m(self.cfg.planner_setting)

    def _width_m(self, setting: PlannerSettingCfg) -> float:
        """The same of any setting."""
        width, widest = setting.approach_width_m, self.context.arm.cfg.gripper.max_width_m
        return widest if width is None else min(width, widest)

    @property
    def slips(self) -> tuple[Slip, ...] | None:
        """What the hand may do on the part, tried in this order; None for the planner's own choice."""
        return None

    def _allowed_slips(self, setting: PlannerSettingCfg) -> tuple[Slip, ...] | None:
        """Those that a setting names, else the skill's own."""
        named = setting.slips
        return tuple(Slip(SlipMode(name)) for name in named) if named else self.slips

    def plan(self, rng: np.random.Generator) -> bool:
        """Solves the keyframes and the whole motion; see `Skill.plan`."""
        obstacles = [
            replace(item, joint=self.part.joint) if item.name == self.object_name else item
            for item in self.context.obstacles(seen=True)
        ]
        self.context.checker.load(
            self.context.robot_model,
            obstacles,
            ignored_substrings=self.cfg.ignore_substring,
            beside=self.context.beside,
        )
        self.keyframe_plan = self._planned(rng)
        if not self.keyframe_plan.found:
            diagnosis = self.keyframe_plan.diagnosis
            if diagnosis is None:
                self.fail("plan_infeasible", "The planner found no plan and gave no diagnosis")
            else:
                self.fail(diagnosis.code, diagnosis.message, **diagnosis.evidence)
            return False
        self.commands = self._commands_of(self.keyframe_plan)
        return True

    def _planned(self, rng: np.random.Generator) -> KeyframePlan:
        """What the planner makes of the scene, which is loaded."""
        return self._solve(self.request(), rng)

    def _solve(self, request: PlanRequest, rng: np.random.Generator) -> KeyframePlan:
        """The plan of one request."""
        return plan_keyframes(request, self.context.checker, rng)

    def follow_target(self) -> float:
        """Joint position that the setting's `follow_joint` names, inside the joint's limits [rad or m]."""
        openness = self.part.openness
        follow = self.cfg.planner_setting.follow_joint
        target = follow.target(s_closed=openness.closed, s_open=openness.open) if follow is not None else None
        return self.default_target() if target is None else target

    @abstractmethod
    def default_target(self) -> float:
        """Joint position to follow to where the setting names none [rad or m]."""

    @property
    def success_mode(self) -> SuccessMode:
        """How the joint's displacement is judged: the setting's, or the skill's own default."""
        return self.cfg.planner_setting.success_mode or self.success_modes[0]

    @property
    def success_rule(self) -> SuccessRule:
        """See `Skill.success_rule`: the joint is judged too, unless the skill only holds for others."""
        rule = super().success_rule
        return rule if rule.holds else replace(rule, success_mode=self.success_mode.value)

    @property
    def opening_sign(self) -> float:
        """+1 where the joint's position grows as the part opens, else -1."""
        return 1.0 if self.part.openness.open >= self.part.openness.closed else -1.0

    def displacement(self) -> Displacement:
        """How far the joint has come since the skill began, against how far it must."""
        return Displacement.of(
            self.success_mode,
            s=self.s,
            s0=self.s0,
            openness=self.part.openness,
            threshold=float(self.cfg.planner_setting.success_threshold),
        )

    def shortfall(self) -> Failure | None:
        """See `Skill.shortfall`: the joint is not where the setting wants it."""
        found = self.displacement()
        if found.enough:
            return None
        if found.mode is SuccessMode.zero:
            return self._failure(
                "not_reached",
                f"'{self.part.name}' is {found.value:.3f} from closed, expected at most {found.threshold:.3f}",
                distance=found.value,
                allowed=found.threshold,
                s=self.s,
                s0=self.s0,
            )
        return self._failure(
            "not_reached",
            f"'{self.part.name}' moved {found.value:.3f} of the {found.threshold:.3f} wanted",
            moved=found.value,
            wanted=found.threshold,
            s=self.s,
            s0=self.s0,
        )

    def request(
        self,
        *,
        s: float | None = None,
        q_current: Array | None = None,
        follow_to: float | None = None,
        setting: PlannerSettingCfg | None = None,
    ) -> PlanRequest:
        """What the planner is asked, from a snapshot of the scene.

        Args:
            s: Joint position at which the part is taken [rad or m]; None = where it is.
            q_current: (n,) joints from which the arm comes [rad]; None = those that it has.
            follow_to: Joint position to which the part is led [rad or m]; None = the skill's.
            setting: What is solved; None = the skill's.
        """
        context = self.context
        setting = self.cfg.planner_setting if setting is None else setting
        scene = self.snapshot(setting)
        led_to = self.follow_to if follow_to is None else follow_to
        return PlanRequest(
            arm=context.arm_model,
            scene=scene if s is None else scene.at(s),
            setting=setting,
            q_current=context.arm.q_read if q_current is None else q_current,
            follow_to=None if setting.follow_joint is None else led_to,
            closed_gripper=self.closed_gripper,
            part_pairs=self.part_pairs(),
            frame_s=context.frame_s,
            gripper_open_m=self._width_m(setting),
            part_speed=self.part_speed,
            asset=self.object.asset.instance,
            slips=self._allowed_slips(setting),
            budget=context.budget,
        )

    def part_pairs(self) -> frozenset[tuple[str, str]]:
        """Pairs of links that may touch from contact on: the fingers and the moving part."""
        fingers = self.context.arm.cfg.gripper.finger_links
        return frozenset((finger, f"{self.object_name}/{self.part.link}") for finger in fingers)

    def snapshot(self, setting: PlannerSettingCfg | None = None) -> PlanningScene:
        """Keypoints, axes and the joint in the arm's base frame, as the planner is told of them now.

        Args:
            setting: Whose shifts of keypoints count; None = the skill's.
        """
        setting = self.cfg.planner_setting if setting is None else setting
        T_base_world = self.context.arm.T_world_base.inverse()
        frames = {name: T_base_world @ pose for name, pose in self.object.seen_frames(self.part.name).items()}
        errors = {name: self.object.pose_error.keypoint_error(self.part.name, name) for name in self.part.keypoints}
        keypoints = {name: frames[v.frame] @ (v.xyz + errors[name]) for name, v in self.part.keypoints.items()}
        axes = {name: frames[v.frame].rotate(v.xyz) for name, v in self.part.axes.items()}
        for name, shift in setting.keypoint_shifts.items():
            keypoints[name] = keypoints[name] + frames[self.part.keypoints[name].frame].rotate(np.array(shift))
        joint = self.object.body.joint(self.part.joint)
        T_base_link: Pose = frames["link"]
        scene = PlanningScene(
            keypoints=keypoints,
            axes=axes,
            link_frame=frozenset(
                name for name, v in {**self.part.keypoints, **self.part.axes}.items() if v.frame == "link"
            ),
            R_base_link=T_base_link.R,
            R_base_world=T_base_world.R,
            joint=JointGeometry(
                prismatic=joint.prismatic,
                origin=T_base_link.p,
                axis=T_base_link.rotate(np.array(joint.axis)),
                position=self.s,
                lower=joint.lower,
                upper=joint.upper,
            ),
            s_closed=self.part.openness.closed,
            s_open=self.part.openness.open,
        )
        error = self.object.pose_error.joint_error(self.part.joint)
        return scene if error == 0.0 else scene.at(float(np.clip(self.s + error, joint.lower, joint.upper)))

    def held_joints(self) -> dict[str, frozenset[str]]:
        """See `Skill.held_joints`: the part's joint, where `update_art_joint` asks for it."""
        if self.cfg.planner_setting.update_art_joint and self._holds_joint():
            return {self.object_name: frozenset((self.part.joint,))}
        return {}

    def _holds_joint(self) -> bool:
        """Whether `update_art_joint` holds the joint in the next frame."""
        return True

    def _on_frame(self) -> None:
        """Nothing beyond the checks that every skill has."""

    def _moves(
        self, plan: KeyframePlan, segment_kind: str, kind: ManipKind, phase: Phase, *, gripper_m: float | None = None
    ) -> list[ManipCommand]:
        """Motion commands for the plan's segments of one kind."""
        return [
            _move(segment, plan, kind=kind, phase=phase, gripper_m=gripper_m)
            for segment in plan.segments
            if segment.kind == segment_kind
        ]

    def _closed_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """There, along with the part, and back, with closed fingers: nothing is taken, nothing let go."""
        return [
            self._allow(plan, touching=False),
            *self._closing_first(plan),
            *self._moves(plan, "transit", ManipKind.close_gripper, Phase.transit),
            *self._moves(plan, "approach", ManipKind.close_gripper, Phase.approach),
            self._allow(plan, touching=True),
            *self._moves(plan, "follow", ManipKind.close_gripper, Phase.follow),
            *self._moves(plan, "retreat", ManipKind.close_gripper, Phase.retreat),
        ]

    def _closing_first(self, plan: KeyframePlan) -> list[ManipCommand]:
        """Fingers on levers close before the hand sets out: half open, a tip that meets the part is thrown aside."""
        gripper, opening = self.context.arm.cfg.gripper, self.context.arm.gripper_opening_m
        if not gripper.on_levers or opening <= gripper.widths_m[0] + _CLOSED_WITHIN_M:
            return []
        frames = self.context.frames(_UNEVEN * 0.5 * opening / gripper.max_speed_m_s)
        return [ManipCommand(ManipKind.close_gripper, plan.keyframes[0].T_base_ee, Phase.transit, dwell_frames=frames)]

    def _allow(self, plan: KeyframePlan, *, touching: bool) -> ManipCommand:
        """States which pairs may touch from here on."""
        pairs = sorted(self.part_pairs()) if touching else []
        return ManipCommand(
            ManipKind.update_specific,
            plan.keyframes[0].T_base_ee,
            Phase.idle,
            params={"allowed_pairs": pairs, "ignore_substring": list(self.cfg.ignore_substring)},
        )


def _move(
    segment: Segment, plan: KeyframePlan, *, kind: ManipKind, phase: Phase, gripper_m: float | None
) -> ManipCommand:
    return ManipCommand(
        kind,
        segment.T_base_ee_end,
        phase,
        motion=JointMotion(q=segment.q, s=segment.s, gripper_m=gripper_m),
    )
