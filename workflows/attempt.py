"""One episode in the making: layout, plan, execution, verdict, record."""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import asdict
from typing import Any

import numpy as np

from configs.schema import EpisodeCfg
from robots.action import Action, ArmAction
from simcore.assets.articulated_object import ObjectAsset
from simcore.assets.library import load_object
from simcore.errors import SimCoreError
from simcore.recording.episode import EpisodeRecord
from simcore.recording.recorder import EpisodeRecorder
from simcore.rng import EpisodeStreams, episode_seed
from simcore.sim.camera import View
from simcore.sim.collision import BulletCollisionChecker
from simcore.sim.world import World
from skills.articulation import ArticulationSkill
from skills.catalog import SKILLS
from skills.command import Phase
from skills.context import SkillContext
from skills.failure import Failure, earliest
from skills.skill import Skill
from tasks.layout import Layout, sample_layout
from workflows.episode_scene import arm_model, build_scene, robot_model
from workflows.goal import goal_conditions, goal_failure

_INITIAL_FRAMES = 5
"""Record frames of standing still before the first skill plans."""
_SETTLE_CHANGE = {True: 0.005, False: 0.02}
"""Largest change of a joint while settling that counts as staying: slider [m], hinge [rad]."""


class Attempt:
    """One episode in the making: `reset`, then `run`, then `record`; nothing of it outlives the episode."""

    def __init__(self, cfg: EpisodeCfg, number: int, world: World, checker: BulletCollisionChecker) -> None:
        self.cfg = cfg
        self.number = number
        self.seed = episode_seed(cfg.seed, number)
        self.streams = EpisodeStreams(self.seed)
        self.failure: Failure | None = None
        self._world = world
        self._checker = checker
        self._recorder = EpisodeRecorder()
        self._timings_ms = {"reset": 0.0, "plan": 0.0, "execute": 0.0}
        self._skills: list[Skill] = []
        self._entries: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._settle: dict[str, Any] | None = None
        self._assets: dict[str, ObjectAsset] = {}
        self._layout: Layout | None = None
        self._phase = Phase.idle

    def reset(self) -> None:
        """Samples the layout and builds the scene."""
        start = time.perf_counter()
        cfg = self.cfg
        rng = self.streams["layout"]
        self._assets = {item.name: load_object(item, rng=rng) for item in (cfg.object, *cfg.objects)}
        homes = [(arm.name, arm.home, arm.home_std) for arm in cfg.robot.arms]
        self._layout = sample_layout(cfg.task, self._assets, homes, rng)
        acted_on = [(entry.objects[0], self._part_of(entry.objects[0], entry.part)) for entry in cfg.skills]
        self.episode = build_scene(self._world, cfg.robot, self._assets, self._layout, acted_on)
        self._refuse_overlap(self.cfg.robot.arms[0].name)
        self._timings_ms["reset"] += 1e3 * (time.perf_counter() - start)

    def _part_of(self, name: str, part: str | None) -> str:
        articulation = self._assets[name].articulation
        return articulation.part(part).name if part is not None else next(iter(articulation.parts))

    def _refuse_overlap(self, arm_name: str) -> None:
        """Refuses a layout in which things overlap."""
        context = self._context(arm_name)
        self._checker.load(context.robot_model, context.obstacles())
        hit = self._checker.overlap()
        if hit is not None:
            self.failure = Failure(
                "invalid_layout",
                f"At the start {hit.link_a} overlaps {hit.link_b} by {1e3 * -hit.distance_m:.1f} mm",
                0.0,
                {"pair": [hit.link_a, hit.link_b], "distance_m": hit.distance_m},
            )

    def view(self) -> View:
        """A camera that sees the robot's hand and the object."""
        boxes = [item.body.aabb() for item in self.episode.objects.values()]
        middle = np.mean([box.mean(axis=0) for box in boxes], axis=0)
        # from behind the robot's right shoulder: the object's front and the hand are both seen
        target = 0.6 * middle + 0.4 * np.array([0.12, 0.0, 0.5])
        eye = target + np.array([-0.68, -1.05, 0.62])
        return View(eye=tuple(eye.tolist()), target=tuple(target.tolist()), fov_deg=48.0)

    def begin(self) -> None:
        """Resets, and stands still for the first few frames: the skills plan from here."""
        self.reset()
        self._record_state()
        if self.failure is None:
            self._stand(_INITIAL_FRAMES)

    def run(self) -> None:
        """The whole episode."""
        self.begin()
        for index in range(len(self.cfg.skills)):
            if self.failure is not None:
                break
            self._run_skill(index)
        if self.failure is None:
            self._settle_and_judge()

    def make_skill(self, index: int) -> Skill:
        """The skill of an entry of the chain, made now."""
        entry = self.cfg.skills[index]
        arm = self.episode.robot.arm(entry.arm).name
        skill_type = SKILLS.load(entry.name)
        skill: Skill = skill_type(entry, self._context(arm))
        return skill

    def _context(self, arm_name: str) -> SkillContext:
        episode = self.episode
        arm = episode.robot.arm(arm_name)
        if self._layout is None:
            raise SimCoreError("The episode was not reset. Call reset() first.")
        return SkillContext(
            robot=episode.robot,
            arm=arm,
            arm_model=arm_model(self.cfg.robot, arm.cfg),
            objects=episode.objects,
            views=episode.views[arm_name],
            checker=self._checker,
            robot_model=robot_model(self.cfg.robot, arm.cfg, self._layout),
            fixtures=episode.fixtures,
            rates=self.cfg.world,
        )

    def _run_skill(self, index: int) -> None:
        entry = self.cfg.skills[index]
        part = self._part_of(entry.objects[0], entry.part)
        self.episode.objects[entry.objects[0]].act_on(part)
        start = time.perf_counter()
        skill = self.make_skill(index)
        self._skills.append(skill)
        self._entries.append(self._entry(skill, part))
        planned = skill.plan(self.streams["planner"])
        self._timings_ms["plan"] += 1e3 * (time.perf_counter() - start)
        frame_start = self._recorder.n_states - 1
        if planned:
            start = time.perf_counter()
            for view in self.episode.monitor.views.values():
                view.watch(entry.contact_force_threshold_n)
            skill.start()
            while not skill.is_done():
                self._phase = skill.phase
                self._frame(skill)
                if self._world.time_s > self.cfg.task.max_duration_s:
                    skill.fail("timeout", f"The episode took longer than {self.cfg.task.max_duration_s:g} s")
                    break
            self._phase = Phase.idle
            self._timings_ms["execute"] += 1e3 * (time.perf_counter() - start)
        success = skill.is_success()
        self._close_entry(skill, frame_start=frame_start, success=success)
        if not success:
            self.failure = skill.failure

    def _settle_and_judge(self) -> None:
        """Stands still for `settle_s`; the goal must hold before and after, and nothing acted on may move."""
        goal, start_positions = self._goal(), self._start_positions()
        self.failure = goal_failure("not_reached", goal, self.episode.objects, start_positions, self._world.time_s)
        frame_start = self._recorder.n_states - 1
        skill = self._skills[-1]
        start = time.perf_counter()
        self._phase = Phase.settle
        self._stand(round(self.cfg.task.settle_s * self.cfg.world.record_hz), skill=skill)
        self._timings_ms["execute"] += 1e3 * (time.perf_counter() - start)
        joints = sorted({(e["object"], e["joint_index"]) for e in (*goal, *self._entries)})
        allowed = min(self._settle_change(name, index) for name, index in joints)
        self._settle = {"frame_start": frame_start, "frame_end": self._recorder.n_states - 1, "max_change": allowed}
        if self.failure is None:
            found = [skill.failure] if skill.failure is not None else []
            found += self._unsettled(joints, frame_start, allowed)
            last = goal_failure("unsettled", goal, self.episode.objects, start_positions, self._world.time_s)
            self.failure = earliest([*found, *([last] if last is not None else [])])

    def _settle_change(self, name: str, joint_index: int) -> float:
        item = self.episode.objects[name]
        return _SETTLE_CHANGE[item.body.joint(item.joint_names[joint_index]).prismatic]

    def _unsettled(self, joints: list[tuple[str, int]], frame_start: int, allowed: float) -> list[Failure]:
        """Joints that left the place they had when settling began."""
        arrays = self._recorder.arrays()
        found = []
        for name, index in joints:
            s = arrays[f"objects.{name}.joint_positions"][frame_start:, index]
            change = np.abs(s - s[0])
            above = np.flatnonzero(change > allowed)
            if above.size:
                joint = self.episode.objects[name].joint_names[index]
                frame = frame_start + int(above[0])
                found.append(
                    Failure(
                        "unsettled",
                        f"'{joint}' of '{name}' moved by {change.max():.4f} while it should have stayed "
                        f"(allowed {allowed:g})",
                        float(arrays["time"][frame]),
                        {"object": name, "joint": joint, "change": float(change.max()), "allowed": allowed},
                    )
                )
        return found

    def _stand(self, frames: int, *, skill: Skill | None = None) -> None:
        """Record frames in which every arm holds its targets."""
        for _ in range(frames):
            self._frame(skill)

    def _frame(self, skill: Skill | None) -> None:
        """One record frame: ask, act, step, read, record, take notice."""
        episode = self.episode
        arms = {}
        for name, arm in episode.robot.arms.items():
            if skill is not None and skill.context.arm.name == name:
                arms[name] = skill.next_action()
            else:
                forward = arm_model(self.cfg.robot, arm.cfg).kinematics.fk
                arms[name] = ArmAction.hold(arm.q_target, arm.gripper_target_m, forward)
        held = skill.held_joints() if skill is not None else {}
        action = Action(arms, hold=episode.hold_flags(held))
        self._recorder.add_action(self._action_values(action))
        episode.apply(action)
        speeds = episode.advance_frame()
        if skill is not None:
            skill.update(speeds)
        interval = episode.contact_values()
        interval[f"speeds.{self.cfg.robot.name}.max"] = np.float64(speeds.robot)
        for name, speed in speeds.objects.items():
            interval[f"speeds.{name}.max"] = np.float64(speed)
        self._record_state(interval)

    def _record_state(self, interval: dict[str, Any] | None = None) -> None:
        skill = self._skills[-1] if self._skills else None
        state: dict[str, Any] = self.episode.scene.state_dict()
        state["time"] = np.float64(self._world.time_s)
        state["skills.index"] = np.int64(len(self._skills) - 1)
        state["skills.command_index"] = np.int64(skill.executor.index if skill is not None else -1)
        state["skills.phase"] = np.int64(self._phase.value)
        state["validity.collision_valid"] = np.bool_(skill.collision_valid if skill is not None else True)
        state["validity.process_valid"] = np.bool_(skill.process_valid if skill is not None else True)
        self._recorder.add_frame(state, interval)

    def _action_values(self, action: Action) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, arm_action in action.arms.items():
            prefix = f"actions.{self.cfg.robot.name}.{name}"
            T_world_ee = self.episode.robot.arm(name).T_world_base @ arm_action.T_base_ee
            values[f"{prefix}.joint_targets"] = arm_action.joint_targets
            values[f"{prefix}.ee_target_position"] = T_world_ee.p
            values[f"{prefix}.ee_target_quat_xyzw"] = T_world_ee.quat_xyzw
            values[f"{prefix}.gripper_target"] = np.array([arm_action.gripper_target_m])
        values["actions.hold"] = np.array([flag for flags in action.hold.values() for flag in flags], dtype=float)
        return values

    def _entry(self, skill: Skill, part_name: str) -> dict[str, Any]:
        cfg = skill.cfg
        item = self.episode.objects[cfg.objects[0]]
        part = item.asset.articulation.part(part_name)
        s = item.joint_position(part.joint)
        return {
            "name": cfg.name,
            "object": cfg.objects[0],
            "part": part_name,
            "joint": part.joint,
            "joint_index": item.joint_index(part.joint),
            "success_mode": skill.success_mode.value if isinstance(skill, ArticulationSkill) else None,
            "success_threshold": cfg.planner_setting.success_threshold,
            "s0": s,
            "s_end": s,
            "s_closed": part.openness.closed,
            "s_open": part.openness.open,
            "frame_start": self._recorder.n_states - 1,
            "frame_end": self._recorder.n_states - 1,
            "collision_valid_enabled": cfg.collision_valid,
            "process_valid_enabled": cfg.process_valid,
            "contact_force_threshold_n": cfg.contact_force_threshold_n,
            "first_violation": None,
            "success": False,
        }

    def _close_entry(self, skill: Skill, *, frame_start: int, success: bool) -> None:
        entry = self._entries[-1]
        item = self.episode.objects[entry["object"]]
        violations = [v.violation for v in self.episode.monitor.views.values() if v.violation is not None]
        entry.update(
            s_end=item.joint_position(entry["joint"]),
            frame_start=frame_start,
            frame_end=self._recorder.n_states - 1,
            success=success,
            finger_contact_required=skill.finger_contact_required,
            plan=None if skill.keyframe_plan is None else skill.keyframe_plan.to_dict(),
        )
        forbidden = [v for v in violations if not v.view.endswith("fingers_link")]
        if forbidden:
            first = min(forbidden, key=lambda v: v.physics_step)
            entry["first_violation"] = {**asdict(first), "pair": list(first.pair)}

    def _goal(self) -> list[dict[str, Any]]:
        return goal_conditions(self.cfg.task, self.episode.objects)

    def _start_positions(self) -> dict[tuple[str, int], float]:
        arrays = self._recorder.arrays()
        return {
            (name, index): float(arrays[f"objects.{name}.joint_positions"][0, index])
            for name, item in self.episode.objects.items()
            for index in range(len(item.joint_names))
        }

    def fail_with_bug(self, exc: Exception) -> None:
        """Notes an exception that nobody expected."""
        self.failure = Failure(
            "error",
            f"{type(exc).__name__}: {exc}",
            self._world.time_s,
            {"traceback": traceback.format_exc()},
        )

    def record(self) -> EpisodeRecord:
        """The record of what happened so far."""
        failure = self.failure
        evidence: dict[str, Any] = {}
        if failure is not None:
            frame = math.ceil(failure.time_s * self.cfg.world.record_hz - 1e-6)
            evidence = {
                "message": failure.message,
                "time_s": failure.time_s,
                "frame": min(frame, max(0, self._recorder.n_states - 1)),
                **dict(failure.evidence),
            }
        layout = self._layout.to_dict() if self._layout is not None else {}
        layout["instances"] = {
            name: {"category": a.category, "instance": a.instance, "source": a.source, "parameters": a.parameters}
            for name, a in self._assets.items()
        }
        return EpisodeRecord(
            number=self.number,
            seed=self.seed,
            success=failure is None,
            code=None if failure is None else failure.code,
            evidence=evidence,
            language=self._language(),
            assets={name: asset.content_hash for name, asset in self._assets.items()},
            layout=layout,
            skills=self._entries,
            goal={"conditions": self._goal() if hasattr(self, "episode") else []},
            settle=self._settle,
            events=self._events,
            timings_ms=dict(self._timings_ms),
            arrays=self._recorder.arrays() if self._recorder.n_states else {},
        )

    def _language(self) -> list[str]:
        fields: dict[str, str] = {"side": ""}
        if self._assets:
            asset = self._assets[self.cfg.object.name]
            part = self.cfg.skills[0].part or next(iter(asset.articulation.parts))
            fields = {"object": asset.category.replace("_", " "), "part": part.replace("_", " "), "side": ""}
            hinge = asset.parameters.get("hinge_side")
            if hinge is not None:
                fields["side"] = f"{hinge}-hinged"
        return [" ".join(text.format(**fields).split()) for text in self.cfg.task.language] if self._assets else []
