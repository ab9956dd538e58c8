"""The contract of a sensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.configs.cross_checks import check_episode
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.catalog import SENSORS
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import PlanCfg
from unlatch.workflows.testing.contract_checks import begin_valid_episode, require

Array = np.ndarray
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
