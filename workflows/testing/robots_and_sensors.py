"""Contract checks of robots and sensors for authors of plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import check_episode
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.checks import check_robot as check_limits
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError, RecordingError, SkillError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.config import SENSORS, SensorCfg
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.solver.kinematics import Kinematics
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import PlanCfg


def require(holds: bool, message: str) -> None:
    """Raises an AssertionError with the message unless a condition of a contract holds."""
    if not holds:
        raise AssertionError(message)


def begin_valid_episode(runner: EpisodeRunner, number: int) -> Episode:
    """Begins an episode, which must have a valid layout."""
    episode = runner.episode(number)
    episode.begin()
    task = episode.cfg.task.name
    require(episode.failure is None, f"Episode {number} of '{task}' has no valid layout: {episode.failure}")
    return episode


def require_success(records: Sequence[EpisodeRecord], task: str) -> None:
    """Raises an AssertionError with the reason of every failure unless an episode succeeded."""
    reasons = [f"{record.number}: {record.code}, {record.evidence.get('message')}" for record in records]
    succeeded = any(record.success for record in records)
    require(succeeded, f"None of {len(records)} episodes of '{task}' succeeded. {'; '.join(reasons)}")


_OPENINGS = 4
_SAME_M, _SAME_RAD = 1e-6, 1e-6
_WIDTH_M = 1e-3


def check_robot(name: str, *, task: str = "open_drawer", config_dirs: Sequence[str] = ()) -> None:
    """Checks the contract of a robot, by its model and in a world of its own.

    The robot has the name of its entry; its links and joints exist in the model; no limit exceeds the maker's; the home
    pose lies inside the limits and touches nothing; planner and engine have equal kinematics; the gripper opens by the
    width that is set.

    Args:
        name: Name of the robot.
        task: A task for the configuration.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such robot, or its configuration is wrong.
    """
    if name in ROBOTS.names():
        made: RobotCfg = ROBOTS.make(name)
        require(
            made.name == name,
            f"Robot '{name}' is made with the name '{made.name}'. Expected the name of its catalog entry.",
        )
    cfg = load_config("plan", PlanCfg, [f"task={task}", f"robot={name}"], config_dirs=config_dirs).cfg.robot
    try:
        check_limits(cfg, object_friction=OBJECT_FRICTION)
    except ConfigError as exc:
        raise AssertionError(exc.message) from exc
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        for arm in cfg.arms:
            _check_home(world, robot, arm)
            _check_kinematics(robot, arm)
            _check_gripper(robot, arm)


def _check_home(world: World, robot: Robot, cfg: ArmCfg) -> None:
    for joint, home, low, high in zip(cfg.joints, cfg.home, cfg.lower, cfg.upper, strict=True):
        require(low < home < high, f"Arm '{cfg.name}' has home={home} of {joint}, outside its limits {low} to {high}.")
    for arm in robot.arms.values():
        arm.reset(arm.cfg.home, gripper_m=arm.cfg.gripper.max_width_m)
    links = {*cfg.forbidden_links, *cfg.gripper.finger_links}
    monitor = ContactMonitor(world, robot.body)
    touching = monitor.add(ContactView("itself", lambda a, other, _: a in links and other == robot.cfg.name))
    world.step()
    monitor.sample()
    monitor.end_frame()
    force_n = float(np.max(touching.force_max_n.get_value() or 0.0))
    require(
        force_n == 0.0, f"Arm '{cfg.name}' touches its own robot at home, with {force_n:.1f} N. Choose another home."
    )


def _check_kinematics(robot: Robot, cfg: ArmCfg) -> None:
    arm = robot.arm(cfg.name)
    kinematics = Kinematics.from_urdf(model_path(robot.cfg), base_link=cfg.base_link, tip_link=cfg.ee_link)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = np.asarray(rng.uniform(np.array(cfg.lower), np.array(cfg.upper)))
        arm.reset(q, gripper_m=0.0)
        planned = Pose.from_matrix(kinematics.fk(q))
        require(
            planned.is_close(arm.T_base_ee, atol_m=_SAME_M, atol_rad=_SAME_RAD),
            f"Arm '{cfg.name}' has its ee at {arm.T_base_ee} in the engine and at {planned} for the planner.",
        )


def _check_gripper(robot: Robot, cfg: ArmCfg) -> None:
    arm, gripper = robot.arm(cfg.name), cfg.gripper
    for width in np.linspace(gripper.opening_range()[0], gripper.max_width_m, _OPENINGS):
        arm.reset(cfg.home, gripper_m=float(width))
        opening = arm.gripper_opening_m
        require(
            abs(opening - width) <= _WIDTH_M,
            f"The gripper of '{cfg.name}' opens by {opening:.4f} m instead of the commanded {width:.4f} m.",
        )
        _check_pads(robot, cfg, float(width))


def _check_pads(robot: Robot, cfg: ArmCfg, width_m: float) -> None:
    """Checks that the fingers lie on both sides of `tool_head`."""
    T_ee_world = robot.body.link_pose(cfg.ee_link).inverse()
    head, side = np.array(cfg.keypoints["tool_head"]), np.array(cfg.keypoints["tool_side"])
    across = (side - head) / np.linalg.norm(side - head)
    places = {
        link: float((T_ee_world @ robot.body.link_aabb(link).mean(axis=0) - head) @ across)
        for link in cfg.gripper.finger_links
    }
    require(
        min(places.values()) < 0.0 < max(places.values()),
        f"All finger links of '{cfg.name}' lie to one side of tool_head at an opening of {width_m:.3f} m: "
        f"{', '.join(f'{link} {place:.3f}' for link, place in places.items())} m towards tool_side. Mend the "
        "keypoints or gripper.finger_links.",
    )


_Frames = list[dict[str, Array]]


def check_sensor(
    entry: str | Mapping[str, Any], *, task: str = "open_drawer", frames: int = 10, config_dirs: Sequence[str] = ()
) -> None:
    """Checks the contract of a sensor, in an episode in which the robot stands still.

    Its type is listed and its entry is read as its `cfg_type`; its values exist from the first state on and keep shape
    and type; the same episode gives the same readings; reading changes nothing: all other values are recorded exactly
    as without the sensor; a state that is written back gives the recorded readings.

    Args:
        entry: Name of a YAML file of the group `sensor`, or an entry of `sensors` with its `type`.
        task: A task whose scene is used.
        frames: How many frames are recorded.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such sensor, or its entry is wrong.
    """
    named = [f"sensors=[{entry}]"] if isinstance(entry, str) else []
    cfg = load_config("plan", PlanCfg, [f"task={task}", *named], config_dirs=config_dirs).cfg
    if not isinstance(entry, str):
        kind = entry.get("type")
        require(kind is None or kind in SENSORS.names(), f"Sensor type '{kind}' is not listed. Is it installed?")
        cfg_type = SensorCfg if kind is None else SENSORS.load(str(kind)).cfg_type
        cfg.sensors = [read_dataclass(cfg_type, entry, where="sensors[0]")]  # raises if the type is missing
        check_episode(cfg)
    try:
        _check_episodes(cfg, frames)
    except RecordingError as exc:  # a state that cannot be recorded breaks the contract
        raise AssertionError(exc.message) from exc
    except SkillError as exc:  # no skill runs: it is the sensor that moved something
        names = ", ".join(exc.values["changed"])
        raise AssertionError(f"Sensor '{cfg.sensors[0].name}' moves {names}. A sensor must only read.") from exc


def _check_episodes(cfg: PlanCfg, frames: int) -> None:
    (sensor,) = cfg.sensors
    with EpisodeRunner(cfg) as runner:
        readings, others = _record_frames(runner, sensor.name, frames)
        again, _ = _record_frames(runner, sensor.name, frames)
        _check_readings(sensor.name, readings, again)
        _check_written_back(runner, sensor.name)
    with EpisodeRunner(replace(cfg, sensors=[])) as runner:
        _, without = _record_frames(runner, sensor.name, frames)
    for number, (state, bare) in enumerate(zip(others, without, strict=True)):
        for key, value in bare.items():
            require(
                np.array_equal(state[key], value, equal_nan=value.dtype.kind == "f"),
                f"Sensor '{sensor.name}' changes '{key}' in state {number}. A sensor must only read.",
            )


def _record_frames(runner: EpisodeRunner, name: str, frames: int) -> tuple[_Frames, _Frames]:
    """Returns the values of the sensor in every state, and all other values."""
    episode = begin_valid_episode(runner, 0)
    mounted = episode.scene.state_tree.sensors.children.get(name)  # None in the episode without the sensor
    for key, buffer in () if mounted is None else mounted.named_buffers():
        require(
            buffer.get_value() is not None or bool(buffer.tags & set(NOT_RECORDED)),
            f"'{key}' of sensor '{name}' has no value in the first state. Fill it in _measure, or tag it as not "
            "recorded.",
        )
    mine = f"sensors.{name}."
    readings, others = [], []
    for frame in range(frames + 1):
        if frame:
            episode.frames.advance(episode.frames.idle_actions())
            episode.frames.record_state()
        state = {k: np.array(v) for k, v in episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED).items()}
        readings.append({key.removeprefix(mine): value for key, value in state.items() if key.startswith(mine)})
        others.append({key: value for key, value in state.items() if not key.startswith(mine)})
    return readings, others


def _check_readings(name: str, readings: _Frames, again: _Frames) -> None:
    first = readings[0]
    for number, (state, second) in enumerate(zip(readings, again, strict=True)):
        require(
            state.keys() == first.keys(),
            f"Sensor '{name}' records {sorted(state)} in state {number}, and {sorted(first)} in the first.",
        )
        for key, value in state.items():
            form, wanted = (value.shape, value.dtype), (first[key].shape, first[key].dtype)
            require(
                form == wanted, f"'{key}' of sensor '{name}' is {form} in state {number}, and {wanted} in the first."
            )
            require(
                np.array_equal(value, second[key], equal_nan=value.dtype.kind == "f"),
                f"'{key}' of sensor '{name}' in state {number} differs when the episode is made again.",
            )


def _check_written_back(runner: EpisodeRunner, name: str) -> None:
    scene = begin_valid_episode(runner, 0).scene.state_tree
    before = {key: np.array(value) for key, value in scene.state_dict(exclude_tags=NOT_RECORDED).items()}
    scene.load_state_dict(before)
    scene.write_replay_data()
    scene.update_state()
    after = scene.state_dict(exclude_tags=NOT_RECORDED)
    for key, value in before.items():
        if key.startswith(f"sensors.{name}."):
            is_float = value.dtype.kind == "f"
            equal = (
                np.allclose(after[key], value, atol=1e-6, equal_nan=True)
                if is_float
                else np.array_equal(after[key], value)
            )
            require(
                equal,
                f"'{key}' reads {after[key]} after the recorded state is written back. The record has {value}.",
            )
