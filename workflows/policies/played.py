"""Policies that carry out actions of demonstrations: recorded ones, or those of a planner that runs beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_folders import MAX_NUMBER
from unlatch.simcore.recording.json_values import differences
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.workflows.episode.episode import EpisodeOptions
from unlatch.workflows.gym.config import ActionMode, GripperForm
from unlatch.workflows.policies.catalog import Policy
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.runner import EpisodeRunner

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv

Array = np.ndarray


class PlayedActions(Policy):
    """Carries out the actions of records of the same episodes."""

    def __init__(self, env: UnlatchEnv, read: Callable[[int], EpisodeRecord], *, spec: str) -> None:
        """Takes the record of each episode from a function of its number.

        Raises:
            ConfigError: The environment has another action mode.
        """
        if (env.cfg.action.mode, env.cfg.action.gripper) != (ActionMode.joint_position, GripperForm.own):
            raise ConfigError(
                f"policy='{spec}' plays joint positions and openings, but action.mode={env.cfg.action.mode.value} "
                f"action.gripper={env.cfg.action.gripper.value}. Set action.mode=joint_position action.gripper=own.",
                key="action.mode",
            )
        self._read = read
        self._spec = spec
        self._robot = env.cfg.robot
        self._actions: Array = np.zeros((0, 0))
        self._initial_frames = env.cfg.world.frames(INITIAL_S)
        self._index = 0

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`.

        Raises:
            ConfigError: The record is of another seed.
        """
        record = self._read(int(info["episode"]))
        if record.seed != info["seed"]:
            raise ConfigError(
                f"policy='{self._spec}' has seed {record.seed} in episode {info['episode']}, expected {info['seed']}. "
                "Set the seed of the run with which it was made.",
                key="seed",
            )
        self._play(record)

    def _play(self, record: EpisodeRecord) -> None:
        """Begins with the first action of a record after those of the reset."""
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


def load_recorded(address: str, env: UnlatchEnv, *, timeout_s: float) -> PlayedActions:
    """Makes the policy that repeats the actions of a data set.

    Raises:
        ConfigError: The data set has another configuration, or the environment another action mode.
        RecordingError: There is no data set.
    """
    data_set = DataSet.open(address)
    policy = PlayedActions(env, data_set.read, spec=f"recorded:{address}")
    found = list(differences(header_of(config_of(data_set))["config"], header_of(env.cfg)["config"]))
    if found:
        listed = "; ".join(f"{key}: there {old}, here {new}" for key, old, new in found[:5])
        count = "1 value differs" if len(found) == 1 else f"{len(found)} values differ"
        raise ConfigError(
            f"policy='recorded:{address}' was recorded with another configuration; {count}: "
            f"{listed}. Evaluate with the values it was recorded with.",
            key="policy",
        )
    return policy


class Planner(PlayedActions):
    """Does what the planner does: it makes each episode as `unlatch collect` does, then carries out its actions."""

    def __init__(self, address: str, env: UnlatchEnv, *, timeout_s: float) -> None:
        """Opens a world of its own.

        Raises:
            ConfigError: The environment has another action mode.
        """
        super().__init__(env, self._run, spec="planner")
        self._env = env
        self._stack = ExitStack()
        self._runner = self._stack.enter_context(EpisodeRunner(env.cfg))

    def _run(self, number: int) -> EpisodeRecord:
        """Makes an episode.

        Raises:
            RuntimeError: It ends with a bug: the planner has not failed, it could not try.
        """
        self._runner.options = EpisodeOptions(run_seed=self._env.options.run_seed)
        record = self._runner.run(number)
        if record.code == "error":
            raise RuntimeError(f"The planner's own episode {number} ended as error: {record.message}")
        return record

    def close(self) -> None:
        """See `Policy`."""
        self._stack.close()


class NeverLooks(Planner):
    """Carries out the planner's actions of another episode, whatever it observes: what luck alone reaches."""

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`."""
        # episodes that no evaluation has
        self._play(self._run(MAX_NUMBER - int(info["episode"])))
