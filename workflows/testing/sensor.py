"""The contract of a sensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from unlatch.configs.cross_checks import check_episode
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.catalog import SENSORS
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import PlanCfg
from unlatch.workflows.testing.promise import require

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
        cfg.sensors = [
            read_dataclass(SensorCfg, entry, where="sensors[0]") if "type" not in entry else _read_entry(entry)
        ]
        check_episode(cfg)
    (sensor,) = cfg.sensors
    require(
        sensor.type in SENSORS.names(), f"Sensor type '{sensor.type}' is not listed. Is its distribution installed?"
    )
    cfg_type = SENSORS.load(sensor.type).cfg_type
    require(type(sensor) is cfg_type, f"The entry of '{sensor.name}' is read as {type(sensor).__name__}.")
    with EpisodeRunner(cfg) as runner:
        readings, others = _record_frames(runner.episode(0), sensor.name, frames)
        again, _ = _record_frames(runner.episode(0), sensor.name, frames)
        _check_readings(sensor.name, readings, again)
        _check_written_back(runner.episode(0), sensor.name)
    cfg.sensors = []
    with EpisodeRunner(cfg) as runner:
        _, without = _record_frames(runner.episode(0), sensor.name, frames)
    for number, (state, bare) in enumerate(zip(others, without, strict=True)):
        for key, value in bare.items():
            require(
                np.array_equal(state[key], value, equal_nan=value.dtype.kind == "f"),
                f"With sensor '{sensor.name}' the state {number} has another '{key}'. A sensor only reads.",
            )


def _read_entry(entry: Mapping[str, Any]) -> SensorCfg:
    require(entry["type"] in SENSORS.names(), f"Sensor type '{entry['type']}' is not listed. Is it installed?")
    cfg: SensorCfg = read_dataclass(SENSORS.load(str(entry["type"])).cfg_type, entry, where="sensors[0]")
    return cfg


def _record_frames(episode: Episode, name: str, frames: int) -> tuple[_Frames, _Frames]:
    """Returns the values of the sensor in every state, and all other values."""
    _begin_episode(episode)
    mounted = episode.scene.state_tree.sensors.children.get(name)  # None in the episode without the sensor
    for key, buffer in () if mounted is None else mounted.named_buffers():
        require(
            buffer.get_value() is not None or bool(buffer.tags & set(NOT_RECORDED)),
            f"'{key}' of sensor '{name}' has no value in the first state. Fill it in _measure, or tag it as what is "
            "not recorded.",
        )
    mine = f"sensors.{name}."
    readings, others = [], []
    for frame in range(frames + 1):
        if frame:
            episode.frames.advance(episode.frames.idle_actions())
            _require_recordable(episode.frames.record_state)
        state = {k: np.array(v) for k, v in episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED).items()}
        readings.append({key.removeprefix(mine): value for key, value in state.items() if key.startswith(mine)})
        others.append({key: value for key, value in state.items() if not key.startswith(mine)})
    return readings, others


def _begin_episode(episode: Episode) -> None:
    _require_recordable(episode.begin)
    require(episode.failure is None, f"Episode 0 has no valid layout: {episode.failure}")


def _require_recordable(step: Callable[[], None]) -> None:
    """Calls a function that records a state; a state that cannot be recorded breaks the contract."""
    try:
        step()
    except RecordingError as exc:
        raise AssertionError(exc.message) from exc


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


def _check_written_back(episode: Episode, name: str) -> None:
    _begin_episode(episode)
    scene = episode.scene.state_tree
    before = {key: np.array(value) for key, value in scene.state_dict(exclude_tags=NOT_RECORDED).items()}
    scene.load_state_dict(before)
    scene.write_replay_data()
    scene.update_state()
    after = scene.state_dict(exclude_tags=NOT_RECORDED)
    for key, value in before.items():
        if key.startswith(f"sensors.{name}."):
            same = (
                np.allclose(after[key], value, atol=1e-6, equal_nan=True)
                if value.dtype.kind == "f"
                else (np.array_equal(after[key], value))
            )
            require(same, f"'{key}' reads {after[key]} once the state is written back, and {value} was recorded.")
