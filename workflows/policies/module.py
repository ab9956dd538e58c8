"""A user's policy, loaded by module and name."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.workflows.gym.config import ActionMode
from unlatch.workflows.policies.policy import Policy

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv

Array = np.ndarray


class UserPolicy(Policy):
    """Calls a function of the observation, or `act` of an object, and its `reset` and `close` if it has them."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`."""
        if hasattr(self._target, "reset"):
            self._target.reset(observation, info)

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """See `Policy`."""
        act: Callable[[Mapping[str, Array]], Array | None] = getattr(self._target, "act", self._target)
        return act(observation)

    def close(self) -> None:
        """See `Policy`."""
        if hasattr(self._target, "close"):
            self._target.close()


class SingleWorkerPolicy(UserPolicy):
    """Asks a policy with `act_batch` for one worker, always in slot 0."""

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`."""
        if hasattr(self._target, "reset"):
            self._target.reset(0, observation, info)

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """See `Policy`."""
        observations = {key: np.asarray(value)[np.newaxis] for key, value in observation.items()}
        return ask_batch(self._target, observations, np.array([0]))[0]


def ask_batch(target: Any, observations: Mapping[str, Array], slots: Array) -> Sequence[Array | None]:
    """Returns the actions that `act_batch` of a policy gives, one for each slot.

    Raises:
        ValueError: It returned another number of actions.
    """
    actions: Sequence[Array | None] = target.act_batch(observations, slots)
    if len(actions) != len(slots):
        raise ValueError(f"act_batch returned {len(actions)} actions for {len(slots)} observations.")
    return actions


@dataclass(frozen=True)
class PolicySpaces:
    """What a policy is made for."""

    observation_space: Any
    """Gymnasium's space of the observations."""
    action_space: Any
    """Gymnasium's space of the actions."""
    action_mode: ActionMode = ActionMode.joint_position
    """What the numbers of an action mean."""


def load(address: str, env: UnlatchEnv, *, timeout_s: float) -> UserPolicy:
    """Makes the policy for an environment.

    A class is called once with `observation_space` and `action_space`; a function is called with each observation.

    Raises:
        ConfigError: The module or name does not exist, or is no policy, see `wrap_policy`.
    """
    return wrap_policy(find_target(address), env, name=address)


def find_target(policy: Any) -> Any:
    """Returns the function, class or object of a spec `module:name`; anything else is returned as it is.

    Installed modules are searched before those of the current directory.

    Raises:
        ConfigError: The module or name does not exist.
    """
    if not isinstance(policy, str):
        return policy
    module_name, _, name = policy.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as exc:
        raise ConfigError(
            f"policy='{policy}': module '{module_name}' cannot be imported ({exc}). Expected an installed module or a "
            f"file in {here}.",
            key="policy",
        ) from exc
    if not hasattr(module, name):
        known = [item for item in vars(module) if not item.startswith("_")]
        raise ConfigError(
            f"policy='{policy}': module '{module_name}' has no '{name}'.{close_matches(name, known)}", key="policy"
        )
    return getattr(module, name)


def make_object(target: Any, spaces: PolicySpaces) -> Any:
    """Returns the object of a class, called with its spaces; anything else is returned as it is."""
    if not inspect.isclass(target):
        return target
    make: Callable[..., Any] = target
    return make(spaces.observation_space, spaces.action_space)


def wrap_policy(policy: Any, env: UnlatchEnv, *, name: str) -> UserPolicy:
    """Makes a policy of a function, an object or a class.

    `act` goes before `act_batch`, and `act_batch` before a call of the object itself.

    Args:
        policy: A function of the observation, an object with `act(observation)` or `act_batch(observations, slots)`,
            or a class of such objects, which is called with `observation_space` and `action_space`.
        env: The environment it acts in.
        name: Name of the policy in an error.

    Raises:
        ConfigError: It is none of these.
    """
    policy = make_object(policy, PolicySpaces(env.observation_space, env.action_space))
    if not callable(getattr(policy, "act", None)) and callable(getattr(policy, "act_batch", None)):
        return SingleWorkerPolicy(policy)
    if callable(getattr(policy, "act", policy)):
        return UserPolicy(policy)
    raise ConfigError(
        f"policy='{name}' is of type {type(policy).__name__}. Expected a function of the observation, or a class or "
        "object with act(observation) or act_batch(observations, slots).",
        key="policy",
    )
