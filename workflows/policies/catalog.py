"""The contract of a policy, the kinds of policies by name, and how one is loaded from its specification."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.registry import Catalog, CatalogEntry
from unlatch.workflows.gym.config import ActionCfg, ActionMode, ObservationCfg

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv


Array = np.ndarray


class Policy(Protocol):
    """Decides the action of every frame."""

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """Begins an episode.

        Args:
            observation: Arrays by record key, one value of `observation_space`.
            info: `episode`, `seed` and `language` (phrasings of the instruction).
        """
        ...

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """Returns the next action, a value of `action_space`; None where the policy is done."""
        ...

    def close(self) -> None:
        """Releases resources; called once, after the last episode."""
        return


class RandomActions(Policy):
    """Draws every action uniformly from the action space."""

    def __init__(self, address: str, env: UnlatchEnv, *, timeout_s: float) -> None:
        """Stores the bounds of the action space; the other arguments have no effect."""
        self._low, self._high = env.action_space.low, env.action_space.high
        self._rng = np.random.default_rng(0)

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`; the actions depend on the episode's seed only."""
        self._rng = np.random.default_rng(info["seed"])

    def act(self, observation: Mapping[str, Array]) -> Array:
        """See `Policy`."""
        return np.asarray(self._rng.uniform(self._low, self._high))


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


POLICIES = Catalog(
    "policy kind",
    {
        "lerobot": CatalogEntry("unlatch.workflows.policies.lerobot:load", "lerobot:PATH, a checkpoint of LeRobot"),
        "lerobot_server": CatalogEntry(
            "unlatch.workflows.policies.lerobot_server:LeRobotServerPolicy",
            "lerobot://host:port/type/checkpoint, a server of LeRobot's asynchronous inference",
        ),
        "module": CatalogEntry("unlatch.workflows.policies.catalog:load", "module:name, a function or class of yours"),
        "never_looks": CatalogEntry(
            "unlatch.workflows.policies.played:NeverLooks", "never_looks, the planner's actions of another episode"
        ),
        "openpi": CatalogEntry(
            "unlatch.workflows.policies.openpi:OpenpiPolicy", "openpi://host:port, a server of openpi's protocol"
        ),
        "planner": CatalogEntry(
            "unlatch.workflows.policies.played:Planner", "planner, what `unlatch collect` would do"
        ),
        "random": CatalogEntry(
            "unlatch.workflows.policies.catalog:RandomActions", "random, uniform over the action space"
        ),
        "recorded": CatalogEntry(
            "unlatch.workflows.policies.played:load_recorded", "recorded:DATA, the actions of a data set"
        ),
        "tcp": CatalogEntry(
            "unlatch.workflows.policies.processes:TcpPolicy", "tcp://host:port, a server of yours in another Python"
        ),
    },
)
"""Kinds of policies: functions or classes that are called with `(address, env, *, timeout_s)` and give a `Policy`."""


CHUNKED = ("openpi", "lerobot_server")
"""Kinds of servers that answer with chunks of actions."""
POLICY_PORT = 8000
"""Port of servers of openpi's protocol if none is given."""
SERVERS = ("tcp", *CHUNKED)
"""Kinds of policies that another program serves."""


def load_policy(policy: Any, env: UnlatchEnv, *, timeout_s: float = 60.0) -> Policy:
    """Makes a policy.

    Args:
        policy: A spec, see `POLICIES`; or a function, an object or a class, see `wrap_policy`.
        env: The environment it acts in.
        timeout_s: How long one answer of a policy server may take [s].

    Raises:
        ConfigError: There is no such policy.
    """
    if not isinstance(policy, str):
        return wrap_policy(policy, env, name=repr(policy))
    kind, address = parse_spec(policy)
    return POLICIES.load(kind)(address, env, timeout_s=timeout_s)


def parse_spec(spec: str) -> tuple[str, str]:
    """Splits a spec into its kind and the policy's address: `module:name`, `host:port` or a path.

    Raises:
        ConfigError: It has none of the forms.
    """
    head, colon, rest = spec.partition(":")
    forms = {name: POLICIES.entry(name).summary.partition(",")[0] for name in POLICIES.names()}
    if forms.get(spec) == spec:
        return spec, ""
    if rest.startswith("//") and rest[2:]:
        for name in SERVERS:
            if forms[name].startswith(f"{head}://"):
                return name, rest[2:]
    if head in ("lerobot", "recorded") and rest:
        return head, rest
    if colon and rest.isidentifier() and all(part.isidentifier() for part in head.split(".")):
        return "module", spec
    raise ConfigError(
        f"policy='{spec}' cannot be read. Expected one of: {', '.join(forms.values())}.",
        key="policy",
    )


def check_server_keys(policy: Any, action: ActionCfg, observation: ObservationCfg) -> None:
    """Checks that keys about the answers of a server are given for a policy that is one.

    Raises:
        ConfigError: A key has no effect.
    """
    keys = [*action.server_keys(), *(["observation.map"] if observation.map else [])]
    if keys and not (isinstance(policy, str) and parse_spec(policy)[0] in CHUNKED):
        raise ConfigError(
            f"{keys[0]} has no effect: the policy is no server that answers with chunks of actions. Expected "
            "policy=openpi://host:port or policy=lerobot://host:port/type/checkpoint. Remove the key, or an experiment "
            "that states it for such a server, as droid and libero do.",
            key=keys[0].partition("=")[0],
        )


def check_one_worker(policy: Any, workers: int | None) -> None:
    """Checks that a server with one policy for all its clients has one client.

    Args:
        policy: A spec, or an object.
        workers: Processes that ask the policy; None: one for each CPU core.

    Raises:
        ConfigError: There may be more.
    """
    if workers != 1 and isinstance(policy, str) and parse_spec(policy)[0] == "lerobot_server":
        raise ConfigError(
            f"policy='{policy}' takes one worker: LeRobot's server has one policy and one queue for all its clients. "
            f"Expected workers=1, got {'one for each CPU core' if workers is None else workers}. Set workers=1.",
            key="workers",
        )


def policy_module(policy: Any) -> str | None:
    """Returns the name of the top-level module that defines a policy; None for one that is not code of this process.

    Args:
        policy: A spec such as `module:name`, or an object, of which the module of its class or function counts.

    Raises:
        ConfigError: The spec cannot be read.
    """
    if isinstance(policy, str):
        kind, address = parse_spec(policy)
        return address.partition(":")[0].partition(".")[0] if kind == "module" else None
    module = getattr(policy, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else None
