"""The least and the largest values of observations: limits of joints and motors, with what simulation adds to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import chooses_instance, largest_joint_position
from unlatch.objects.scene_object import SceneObject
from unlatch.robots.description import ArmCfg
from unlatch.simcore.sim.bodies import JointInfo
from unlatch.workflows.episode.scene import EpisodeScene
from unlatch.workflows.runs.schema import EnvCfg

Array = np.ndarray
Bounds = tuple[Array, Array]
"""Least and largest values, each of the shape of the observation or ()."""

MARGIN_RAD, MARGIN_M = 0.1, 0.01
"""How far a simulated joint may be beyond its limits, as the stops of Bullet give way. With random actions of every
mode, all robots and parts of every kind went at most 0.08 rad and 0.006 m beyond them."""
SPEED_FACTOR = 10.0
"""Largest speed of an arm's joint as a multiple of its maker's limit. The limit holds for targets: after a jump of the
targets an arm was up to three times as fast, and after a collision eight times."""
FASTEST = 100.0
"""Largest speed of any joint [rad/s or m/s]: Bullet cuts off faster ones. Light fingers and knobs come near it when
something hits them."""
_POSITIONS = ("joint_positions", "joint_position", "gripper_joint_positions", "gripper_opening")
_VELOCITIES = ("joint_velocities", "joint_velocity", "gripper_joint_velocities")
_FREED = {
    "encoder_offset": ("joint_positions",),
    **dict.fromkeys(("joint_positions", "lower_dof_limits", "upper_dof_limits"), _POSITIONS),
    **dict.fromkeys(("joint_velocities", "joint_max_velocities"), _VELOCITIES),
    **dict.fromkeys(("joint_efforts", "max_efforts"), ("joint_efforts",)),
}
"""Attribute of a randomization rule, and last words of the keys that have no bounds under such a rule."""


def observation_bounds(cfg: EnvCfg, scene: EpisodeScene) -> dict[str, Bounds]:
    """Returns least and largest values by record key, for every episode; keys that can have any value are left out.

    The limits of an object count where every episode has the same object, or one of a generator of Unlatch.
    """
    found: dict[str, Bounds] = {}
    for name, arm in scene.robot.arms.items():
        joints = [scene.robot.body.joint(joint) for joint in (*arm.cfg.joints, *arm.cfg.gripper.joints)]
        values = _arm_bounds(arm.cfg, joints)
        found |= {f"robots.{cfg.robot.name}.{name}.{key}": bounds for key, bounds in values.items()}
    for name, item in scene.objects.items():
        found |= _object_bounds(name, item, cfg.all_objects()[name])
    randomization = cfg.randomization
    replays = randomization.source is not None or randomization.recorded is not None  # rules that are not known here
    attributes = _FREED if replays else [rule.attribute for rule in randomization.rules]
    freed = {word for attribute in attributes for word in _FREED.get(attribute, ())}
    return {key: bounds for key, bounds in found.items() if key.split(".")[-1] not in freed}


def column_bounds(names: Sequence[str], cfg: EnvCfg, bounds: Mapping[str, Bounds]) -> Bounds:
    """Returns least and largest values (n,) of a column of an export.

    Args:
        names: Names of its n values. Joints of arms and openings of grippers have bounds, other values have none.
        cfg: The configuration.
        bounds: Bounds by record key.
    """
    anything = (np.array(-np.inf), np.array(np.inf))
    known: dict[str, tuple[float, float]] = {}
    for arm in cfg.robot.arms:
        columns = {
            f"joint_{plural}": [f"{arm.name}.{joint}.{word}" for joint in arm.joints]
            for word, plural in (("position", "positions"), ("velocity", "velocities"), ("effort", "efforts"))
        }
        for key, values in {**columns, "gripper_opening": [f"{arm.name}.gripper"]}.items():
            ends = bounds.get(f"robots.{cfg.robot.name}.{arm.name}.{key}", anything)
            low, high = (np.broadcast_to(end, len(values)).tolist() for end in ends)
            known |= zip(values, zip(low, high, strict=True), strict=True)
    low, high = np.array([known.get(name, (-np.inf, np.inf)) for name in names]).T
    return low, high


def _arm_bounds(arm: ArmCfg, joints: Sequence[JointInfo]) -> dict[str, Bounds]:
    """Returns the bounds of an arm with its gripper; `joints` are those of the arm, then those of the gripper."""
    own, fingers = joints[: len(arm.joints)], joints[len(arm.joints) :]
    # the stops of the model may be farther apart than the limits of the data sheet
    low = [min(limit, joint.lower) if joint.limited else limit for limit, joint in zip(arm.lower, own, strict=True)]
    high = [max(limit, joint.upper) if joint.limited else limit for limit, joint in zip(arm.upper, own, strict=True)]
    gripper = arm.gripper
    ends = np.array([gripper.positions(0.0), gripper.positions(gripper.max_width_m)])
    return {
        "joint_positions": _widen(low, high, own),
        "joint_velocities": _either_way(np.minimum(SPEED_FACTOR * np.array(arm.max_velocity), FASTEST)),
        "joint_efforts": _either_way(np.array(arm.max_effort)),
        "gripper_joint_positions": _widen(ends.min(axis=0), ends.max(axis=0), fingers),
        "gripper_joint_velocities": _either_way(np.array(FASTEST)),
        # between two pads, each with the margin of a finger
        "gripper_opening": (np.array(-2 * MARGIN_M), np.array(gripper.max_width_m + 2 * MARGIN_M)),
        "gripper_target": (np.array(0.0), np.array(gripper.max_width_m)),
    }


def _object_bounds(name: str, item: SceneObject, cfg: ObjectCfg) -> dict[str, Bounds]:
    joints = item.body.movable_joints
    parts = item.asset.articulation.parts.values()
    kinds = {part.joint: part.kind for part in parts}
    limits = [(joint.lower, joint.upper) if joint.limited else (-np.inf, np.inf) for joint in joints]
    if chooses_instance(cfg):  # the limits are those of one instance
        largest = [largest_joint_position(cfg, kinds[j.name]) if j.name in kinds else np.inf for j in joints]
        limits = [(-value, value) for value in largest]
    low, high = _widen([low for low, _ in limits], [high for _, high in limits], joints)
    speeds = _either_way(np.array(FASTEST))
    found: dict[str, Bounds] = {
        f"objects.{name}.joint_positions": (low, high),
        f"objects.{name}.joint_velocities": speeds,
    }
    for part in parts:
        index = item.joint_index(part.joint)
        found[f"parts.{name}.{part.name}.joint_position"] = low[index], high[index]
        found[f"parts.{name}.{part.name}.joint_velocity"] = speeds
    return found


def _widen(low: Sequence[float] | Array, high: Sequence[float] | Array, joints: Sequence[JointInfo]) -> Bounds:
    """Returns limits (n,) of joints, widened by the margin of each."""
    margins = np.array([MARGIN_M if joint.prismatic else MARGIN_RAD for joint in joints])
    return np.array(low) - margins, np.array(high) + margins


def _either_way(largest: Array) -> Bounds:
    return -largest, largest
