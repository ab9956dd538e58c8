"""Reads the arms, the parts and the contacts of an episode at every physics step, for `motion.py`.

`EpisodeMeter.measure` makes an episode as `unlatch collect` does, and returns it with its `MotionSamples`.
Reading changes nothing: the episode is the same to the bit without it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import pybullet as p

from unlatch.configs.schema import EpisodeCfg
from unlatch.robots.description import ArmCfg
from unlatch.robots.robot import Arm
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.commands import Phase
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.scene import arm_model
from unlatch.workflows.runs.runner import EpisodeRunner

Array = np.ndarray

SATURATED_SHARE = 0.99
"""A motor is saturated from this share of its largest effort."""
LEAST_SPEED_RAD_S = 0.1
"""Recorded velocities are compared with the difference of positions from this speed."""
LEAST_JUMP_SHARE = 0.01
"""Changes of an effort below this share of the largest one are no oscillation."""
CONTACT_PHASES = (Phase.grasp, Phase.follow, Phase.release, Phase.hold)
"""Phases in which the fingers may touch the part."""


@dataclass(frozen=True)
class MotionSamples:
    """What was measured in some episodes. Arrays of shape (n, ...) have a row for each physics step of each arm that
    carries out a skill.
    """

    phase: Array
    """(n,) number of the phase."""
    saturated: Array
    """(n,) whether a motor of the arm is saturated."""
    acceleration: Array
    """(n,) joint acceleration, as a share of the limit; the largest of the arm. It is the change of the joint velocity
    in one physics step, divided by the step."""
    velocity: Array
    """(n,) joint velocity, as a share of the limit; the largest of the arm."""
    alternates: Array
    """(n,) whether the effort of a motor jumps up and then down or the reverse, in two successive physics steps."""
    joint_error_rad: Array
    """(n, n_q) joint positions minus the targets of the same physics step."""
    hand_error_m: Array
    """(n,) distance of the point between the fingertips from where the targets would put it."""
    force_n: Array
    """(n,) force on a finger as `FingerLoads` defines it, friction included; the largest of the arm [N]."""
    touches: Array
    """(n,) whether a finger presses something that is not the robot."""
    depth_m: Array
    """(n,) depth of the deepest contact point between a finger and an object; 0: none is inside."""
    velocity_ratio: Array
    """(m,) recorded joint velocity over the central difference of recorded positions, in transit."""
    travel: Array
    """(k,) travel of the part in the `follow` phase of each skill, as a share of its range."""
    free_travel: Array
    """(k,) the share of the range in which no finger touched the part."""

    @classmethod
    def pooled(cls, samples: Sequence[MotionSamples]) -> MotionSamples:
        """Returns the samples of all these together, of one robot."""
        return cls(**{item.name: np.concatenate([getattr(s, item.name) for s in samples]) for item in fields(cls)})

    @property
    def in_transit(self) -> Array:
        """(n,) whether the arm moves freely to the part."""
        return self.phase == Phase.transit.value

    @property
    def in_contact(self) -> Array:
        """(n,) whether the arm is in a phase of contact."""
        return np.isin(self.phase, [phase.value for phase in CONTACT_PHASES])


@dataclass(frozen=True)
class EpisodeMotion:
    """An episode and its samples."""

    success: bool
    code: str | None
    """Its failure code; None on success."""
    cpu_s: float
    """CPU time without that of reading the steps [s]."""
    samples: MotionSamples | None
    """None: no arm moved."""


class ArmStep(NamedTuple):
    """An arm after one physics step."""

    q: Array
    dq: Array
    efforts: Array
    targets: Array
    """(n,) joint positions that the motors had to reach at the end of this step [rad]."""
    force_n: float
    touches: bool
    depth_m: float
    touches_part: bool


@dataclass
class FingerContacts:
    """Contacts of the fingers of one arm in one physics step."""

    touches: bool = False
    """Whether one of them presses something that is not the robot."""
    depth_m: float = 0.0
    touches_part: bool = False


class StepProbe:
    """Reads the scene of an episode after every physics step from now on."""

    def __init__(self, episode: Episode) -> None:
        self.cpu_s = 0.0
        """CPU time of reading [s]."""
        self.frames: list[int] = []
        """State frame at the end of the record frame to which each physics step belongs."""
        self._episode = episode
        self._scene = scene = episode.scene
        self.steps: dict[str, list[ArmStep]] = {name: [] for name in scene.robot.arms}
        """What was read of each arm."""
        self.dq_start = {name: self._joint_states(arm)[1] for name, arm in scene.robot.arms.items()}
        """(n,) joint velocities of each arm before the first step [rad/s]."""
        self.positions: dict[str, list[Array]] = {
            name: [item.body.joint_states()[0]] for name, item in scene.objects.items()
        }
        """Joint positions of each object before the first step and after each [rad or m]."""
        links = scene.robot.body.links
        self._arm_of_finger = {
            links[link]: name for name, arm in scene.robot.arms.items() for link in arm.cfg.gripper.finger_links
        }
        self._object_of_body = {item.body.body_id: item for item in scene.objects.values()}
        sample = scene.monitor.sample

        def sample_and_note() -> None:  # it is called once a record frame, after its physics steps
            sample()
            for name, loads in scene.loads.items():
                steps, forces_n = self.steps[name], [max(forces) for forces in loads.frame_forces_n]
                for place, force_n in enumerate(forces_n, start=len(steps) - len(forces_n)):
                    steps[place] = steps[place]._replace(force_n=force_n)

        scene.monitor.sample = sample_and_note
        scene.world.call_after_step(self._read_timed)

    def _read_timed(self) -> None:
        start = time.process_time()
        self._read()
        self.cpu_s += time.process_time() - start

    def _read(self) -> None:
        contacts = self._finger_contacts()
        steps = {name: self._arm_step(arm, contacts[name]) for name, arm in self._scene.robot.arms.items()}
        for name, step in steps.items():
            self.steps[name].append(step)
        for name, item in self._scene.objects.items():
            self.positions[name].append(item.body.joint_states()[0])
        self.frames.append(self._episode.frames.frame + 1)

    def _arm_step(self, arm: Arm, contacts: FingerContacts) -> ArmStep:
        return ArmStep(
            *self._joint_states(arm),
            self._targets_after_step(arm),
            0.0,  # it is known at the end of the record frame
            contacts.touches,
            contacts.depth_m,
            contacts.touches_part,
        )

    def _targets_after_step(self, arm: Arm) -> Array:
        """Returns (n,) the targets at the end of the step; `step_targets` are those at its beginning."""
        targets, dt = arm.step_targets, self._scene.world.dt
        return targets.positions + dt * targets.velocities + 0.5 * dt**2 * targets.accelerations

    def _joint_states(self, arm: Arm) -> tuple[Array, Array, Array]:
        return self._scene.robot.body.joint_states(arm.cfg.joints)

    def _finger_contacts(self) -> dict[str, FingerContacts]:
        robot = self._scene.robot.body
        found = {name: FingerContacts() for name in self._scene.robot.arms}
        for point in p.getContactPoints(bodyA=robot.body_id, physicsClientId=self._scene.world.client):
            other, finger, other_link, distance_m, force_n = point[2], point[3], point[4], point[8], point[9]
            name = self._arm_of_finger.get(finger)
            if name is None or other == robot.body_id:
                continue
            its = found[name]
            its.touches |= force_n > 0.0
            item = self._object_of_body.get(other)
            if item is not None:
                its.depth_m = max(its.depth_m, -distance_m)
                acted_link = item.acted_link(name)
                if force_n > 0.0 and acted_link is not None and item.body.links[acted_link] == other_link:
                    its.touches_part = True
        return found


class ProbedEpisode(Episode):
    """An episode that is read at every physics step, from the first skill on."""

    probe: StepProbe | None = None
    """None before `begin`."""

    def begin(self, recorded: EpisodeRecord | None = None) -> None:
        """See `Episode.begin`."""
        super().begin(recorded)
        self.probe = StepProbe(self)


class EpisodeMeter(EpisodeRunner):
    """Makes and measures episodes of one configuration; a context manager."""

    def __init__(self, cfg: EpisodeCfg) -> None:
        super().__init__(cfg)
        self._last: ProbedEpisode | None = None

    def episode(self, number: int) -> Episode:
        """See `EpisodeRunner.episode`."""
        self._last = ProbedEpisode(self.cfg, number, self._world, self._checker)
        return self._last

    def measure(self, number: int) -> EpisodeMotion:
        """Makes and measures an episode."""
        start = time.process_time()
        record = self.run(number)
        cpu_s = time.process_time() - start
        probe = None if self._last is None else self._last.probe
        samples = []
        if probe is not None and probe.frames and record.skills:
            cpu_s -= probe.cpu_s
            samples = [self._arm_samples(arm, record, probe) for arm in self.cfg.robot.arms]
        moved = [each for each in samples if each.phase.size]
        return EpisodeMotion(record.success, record.code, cpu_s, MotionSamples.pooled(moved) if moved else None)

    def _arm_samples(self, arm: ArmCfg, record: EpisodeRecord, probe: StepProbe) -> MotionSamples:
        columns = (np.array(values) for values in zip(*probe.steps[arm.name], strict=True))
        q, dq, efforts, targets, force_n, touches, depth_m, touches_part = columns
        several = len(self.cfg.robot.arms) > 1
        phase = record.arrays[f"skills.{arm.name}.phase" if several else "skills.phase"]
        frames = np.minimum(probe.frames, len(phase) - 1)  # a frame that a bug broke off is not recorded
        acts = phase[frames] != Phase.idle.value
        dq_before = np.vstack([probe.dq_start[arm.name], dq[:-1]])
        acceleration = np.abs(dq - dq_before) * self.cfg.world.physics_hz / arm.max_acceleration
        jumps = np.diff(efforts, axis=0, prepend=efforts[:1]) / arm.max_effort
        jumps_before = np.vstack([np.zeros_like(jumps[:1]), jumps[:-1]])
        alternates = (jumps * jumps_before < 0.0) & (np.minimum(np.abs(jumps), np.abs(jumps_before)) > LEAST_JUMP_SHARE)
        travel = self._travel(arm.name, record, probe, phase[frames], touches_part)
        return MotionSamples(
            phase=phase[frames][acts],
            saturated=(np.abs(efforts) >= SATURATED_SHARE * np.array(arm.max_effort)).any(axis=1)[acts],
            acceleration=acceleration.max(axis=1)[acts],
            velocity=(np.abs(dq) / arm.max_velocity).max(axis=1)[acts],
            alternates=alternates.any(axis=1)[acts],
            joint_error_rad=(q - targets)[acts],
            hand_error_m=np.linalg.norm(self._hand(arm, q[acts]) - self._hand(arm, targets[acts]), axis=1),
            force_n=force_n[acts],
            touches=touches[acts],
            depth_m=depth_m[acts],
            velocity_ratio=self._velocity_ratios(arm.name, record, phase),
            travel=travel[:, 0],
            free_travel=travel[:, 1],
        )

    def _hand(self, arm: ArmCfg, q: Array) -> Array:
        """Returns (n, 3) the point between the fingertips at joints q (n, n_q), arm's base frame [m]."""
        R, p_base_ee = arm_model(self.cfg.robot, arm).kinematics.fk_batch(q)
        return R @ np.array(arm.keypoints["tool_head"]) + p_base_ee

    def _velocity_ratios(self, arm: str, record: EpisodeRecord, phase: Array) -> Array:
        """Returns the ratios of all joints that move, at state frames between two record frames of transit."""
        prefix = f"robots.{self.cfg.robot.name}.{arm}"
        q, dq = record.arrays[f"{prefix}.joint_positions"], record.arrays[f"{prefix}.joint_velocities"]
        difference = 0.5 * (q[2:] - q[:-2]) * self.cfg.world.record_hz
        in_transit = (phase[1:-1] == Phase.transit.value) & (phase[2:] == Phase.transit.value)
        moves = in_transit[:, None] & (np.abs(difference) > LEAST_SPEED_RAD_S)
        return dq[1:-1][moves] / difference[moves]

    def _travel(self, arm: str, record: EpisodeRecord, probe: StepProbe, phase: Array, touches_part: Array) -> Array:
        """Returns (k, 2) the part's travel in the follow phase of each skill of an arm, and that without contact."""
        frames, found = np.array(probe.frames), []
        for skill in record.skills:
            if skill.get("arm", arm) != arm:
                continue
            s = np.array(probe.positions[skill["object"]])[:, skill["joint_index"]]
            follows = (frames > skill["frame_start"]) & (frames <= skill["frame_end"]) & (phase == Phase.follow.value)
            travels = np.abs(np.diff(s)) / abs(skill["s_open"] - skill["s_closed"])
            found.append((travels[follows].sum(), travels[follows & ~touches_part].sum()))
        return np.array(found).reshape(-1, 2)
