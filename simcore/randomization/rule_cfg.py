"""One rule and its distribution in a YAML; no engine is imported to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omegaconf import MISSING

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.randomization.distribution import FACTORIES, Distribution, as_distribution

GATES = ("on_env_reset", "on_interval")
OPERATIONS = ("direct", "additive", "scaling")
_MAX_INTERVAL = 1_000_000


@dataclass
class RuleCfg:
    """What one attribute of one view gets, how and when."""

    view: str = MISSING
    """`simulation_context`, the robot, an object, `table`, or an entry of `views`."""
    attribute: str = MISSING
    """Attribute of the view, as in docs/randomization.md."""
    distribution: Any = MISSING
    """A map with `type` and its parameters, or a number or list of numbers as a constant."""
    operation: str = "direct"
    """`direct`, `additive` or `scaling`."""
    gate: str = "on_env_reset"
    """`on_env_reset` or `on_interval`."""
    interval: int | None = None
    """Control steps between two firings of `on_interval`."""
    num_buckets: int | None = None
    """Even values that `material_properties` are taken from."""

    def __post_init__(self) -> None:
        for key, known in (("operation", OPERATIONS), ("gate", GATES)):
            value = getattr(self, key)
            if value not in known:
                raise ConfigError(
                    f"rule.{key}='{value}' is unknown.{close_matches(value, known)} Known: {', '.join(known)}. Name "
                    "one of them.",
                    key=f"rule.{key}",
                    available=list(known),
                )
        if self.gate == "on_interval" and (self.interval is None or not 1 <= self.interval <= _MAX_INTERVAL):
            raise ConfigError(
                f"rule.interval={self.interval} is out of range. Expected 1 to {_MAX_INTERVAL} control steps under "
                "gate on_interval. Give it.",
                key="rule.interval",
            )
        if self.gate == "on_env_reset" and self.interval is not None:
            raise ConfigError(
                f"rule.interval={self.interval} has no effect under gate on_env_reset. Set gate: on_interval, or "
                "remove it.",
                key="rule.interval",
            )
        if self.num_buckets is not None and self.num_buckets < 1:
            raise ConfigError(
                f"rule.num_buckets={self.num_buckets} is out of range. Expected 1 or more. Change it.",
                key="rule.num_buckets",
            )
        if self.distribution != MISSING:
            self.made()

    def made(self) -> Distribution:
        """The distribution.

        Raises:
            ConfigError: It is none.
        """
        return read_distribution(self.distribution, "rule.distribution")


def read_distribution(raw: Any, where: str) -> Distribution:
    """A distribution from plain values.

    Args:
        raw: A map with `type` and parameters, or a number or list of numbers.
        where: Its full key.

    Raises:
        ConfigError: The type or a parameter is unknown, missing or out of range.
    """
    try:
        if not isinstance(raw, Mapping):
            return as_distribution(raw)
        return _read_map(raw, where)
    except ConfigError as exc:
        if exc.message.startswith(where):
            raise
        raise ConfigError(f"{where}: {exc.message}", **{**exc.values, "key": where}) from exc


def _read_map(raw: Mapping[str, Any], where: str) -> Distribution:
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in FACTORIES:
        raise ConfigError(
            f"{where}.type='{kind}' is unknown.{close_matches(str(kind), FACTORIES)} Known: {', '.join(FACTORIES)}. "
            "Name one of them.",
            key=f"{where}.type",
            available=list(FACTORIES),
        )
    parameters = {str(name): value for name, value in raw.items() if name != "type"}
    known, optional = _PARAMETERS[kind]
    for name in parameters:
        if name not in (*known, *optional):
            raise ConfigError(
                f"{where}.{name} is unknown.{close_matches(name, (*known, *optional))} Keys there: type, "
                f"{', '.join((*known, *optional))}. Remove or rename it.",
                key=f"{where}.{name}",
            )
    for name in known:
        if name not in parameters:
            raise ConfigError(
                f"{where}.{name} is missing. {kind} expects {', '.join(known)}. Give it.", key=f"{where}.{name}"
            )
    if kind == "combine":
        parts = parameters["distributions"]
        if not isinstance(parts, list):
            raise ConfigError(f"{where}.distributions is no list. Expected the parts. Change it.", key=where)
        parameters["distributions"] = [
            read_distribution(part, f"{where}.distributions[{index}]") for index, part in enumerate(parts)
        ]
    return FACTORIES[kind](**parameters)


_PARAMETERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "choice": (("choices",), ("weights",)),
    "combine": (("distributions",), ()),
    "constant": (("value",), ()),
    "log_uniform": (("lower", "upper"), ()),
    "normal": (("mean", "std"), ()),
    "sequence": (("items",), ()),
    "uniform": (("lower", "upper"), ()),
}
"""Required and optional parameters by type."""
