"""A policy that repeats recorded actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.json_values import differences
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.workflows.gym.config import ActionMode
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.policies.catalog import Policy
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.recorded_config import config_of

Array = np.ndarray


class RecordedActions(Policy):
    """Repeats the recorded actions of the episode with the same number."""

    def __init__(self, data_set: DataSet, env: UnlatchEnv) -> None:
        """Reads episodes from a data set."""
        self._data_set = data_set
        self._robot = env.cfg.robot
        self._actions: Array = np.zeros((0, 0))
        self._initial_frames = env.cfg.world.frames(INITIAL_S)
        self._index = 0

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`."""
        record = self._data_set.read(int(info["episode"]))
        columns = []
        for arm in self._robot.arms if record.arrays else []:
            prefix = f"actions.{self._robot.name}.{arm.name}"
            columns += [record.arrays[f"{prefix}.joint_targets"], record.arrays[f"{prefix}.gripper_target"]]
        self._actions = np.hstack(columns) if columns else np.zeros((0, 0))
        self._index = self._initial_frames  # the reset simulates the first frames, in which the arms stand still

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """See `Policy`."""
        if self._index >= len(self._actions):
            return None
        action: Array = self._actions[self._index]
        self._index += 1
        return action


def load(address: str, env: UnlatchEnv, *, timeout_s: float) -> RecordedActions:
    """Makes the policy for an environment.

    Raises:
        ConfigError: The data set has another configuration, or the environment another action mode.
        RecordingError: There is no data set.
    """
    if env.cfg.action.mode is not ActionMode.joint_position:
        raise ConfigError(
            f"policy='recorded:{address}' plays joint positions, but action.mode={env.cfg.action.mode.value}. "
            "Set action.mode=joint_position.",
            key="action.mode",
        )
    data_set = DataSet.open(address)
    found = list(differences(header_of(config_of(data_set))["config"], header_of(env.cfg)["config"]))
    if found:
        listed = "; ".join(f"{key}: there {old}, here {new}" for key, old, new in found[:5])
        count = "1 value differs" if len(found) == 1 else f"{len(found)} values differ"
        raise ConfigError(
            f"policy='recorded:{address}' was recorded with another configuration; {count}: "
            f"{listed}. Evaluate with the values it was recorded with.",
            key="policy",
        )
    return RecordedActions(data_set, env)
