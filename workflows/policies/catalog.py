"""The kinds of policies by name, and how a policy is loaded from its specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.registry import Catalog, CatalogEntry
from unlatch.workflows.policies.module import wrap_policy
from unlatch.workflows.policies.policy import Policy

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv


POLICIES = Catalog(
    "policy kind",
    {
        "lerobot": CatalogEntry("unlatch.workflows.policies.lerobot:load", "lerobot:PATH, a checkpoint of LeRobot"),
        "module": CatalogEntry("unlatch.workflows.policies.module:load", "module:name, a function or class of yours"),
        "random": CatalogEntry(
            "unlatch.workflows.policies.random_actions:RandomActions", "random, uniform over the action space"
        ),
        "recorded": CatalogEntry(
            "unlatch.workflows.policies.recorded:load", "recorded:DATA, the actions of a data set"
        ),
        "tcp": CatalogEntry(
            "unlatch.workflows.policies.tcp:TcpPolicy", "tcp://host:port, a server of yours in another Python"
        ),
    },
)
"""Kinds of policies: functions or classes that are called with `(address, env, *, timeout_s)` and give a `Policy`."""


def load_policy(policy: Any, env: UnlatchEnv, *, timeout_s: float = 60.0) -> Policy:
    """Makes a policy.

    Args:
        policy: A spec: `module:name`, `lerobot:PATH`, `tcp://host:port`, `recorded:DATA` or `random`; or a function,
            an object or a class, see `wrap_policy`.
        env: The environment it acts in.
        timeout_s: How long one answer of a policy server may take [s].

    Raises:
        ConfigError: There is no such policy.
    """
    if not isinstance(policy, str):
        return wrap_policy(policy, env, name=repr(policy))
    kind, address = parse_spec(policy)
    made: Policy = POLICIES.load(kind)(address, env, timeout_s=timeout_s)
    return made


def parse_spec(spec: str) -> tuple[str, str]:
    """Splits a spec into its kind and the policy's address: `module:name`, `host:port` or a path.

    Raises:
        ConfigError: It has none of the forms.
    """
    head, colon, rest = spec.partition(":")
    if spec == "random":
        return "random", ""
    if head == "tcp" and rest.startswith("//") and rest[2:]:
        return "tcp", rest[2:]
    if head in ("lerobot", "recorded") and rest:
        return head, rest
    if colon and rest.isidentifier() and all(part.isidentifier() for part in head.split(".")):
        return "module", spec
    raise ConfigError(
        f"policy='{spec}' cannot be read. Expected module:name, lerobot:PATH, tcp://host:port, recorded:DATA or "
        "random.",
        key="policy",
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
