"""A randomization set-up: views, rules under their gates, and a counter per environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, unknown_entry, unknown_name
from unlatch.simcore.randomization.distribution import Distribution, as_distribution
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.attribute_views import AttributeView, ViewAttribute, gravity_attribute
from unlatch.simcore.sim.world import World

Array = np.ndarray


@dataclass(frozen=True)
class Firing:
    """The values that one rule wrote in one step."""

    step: int
    """Index of the call of `step_randomization`."""
    rule: int
    """Index of the rule in `Setup.rules`."""
    envs: Array
    """(n,) members."""
    values: Array
    """(n, width) written values."""


SIMULATION_CONTEXT = "simulation_context"
"""Name of the world's own view."""


class Operation(Enum):
    """How a draw changes an attribute."""

    direct = "direct"
    """The draw is the value."""
    additive = "additive"
    """The draw is added to the start value."""
    scaling = "scaling"
    """The draw is multiplied with the start value."""


@dataclass(frozen=True)
class Gate:
    """When a rule fires."""

    interval: int | None
    """Steps between firings since an environment's last reset; None: at its resets."""

    @property
    def on_reset(self) -> bool:
        """Whether it fires at resets."""
        return self.interval is None

    def __str__(self) -> str:
        return "on_env_reset()" if self.interval is None else f"on_interval({self.interval})"


class AttributeSlot:
    """One attribute of one view, with its default and its value of the last reset."""

    def __init__(self, view: str, attribute: ViewAttribute, count: int) -> None:
        self.view = view
        self.attribute = attribute
        self.count = count
        self.defaults = np.zeros((count, attribute.width))
        """(N, width) values when the set-up was armed."""
        self.last_reset = self.defaults
        """(N, width) values that the last `on_env_reset` wrote; the defaults before."""
        self.expiring: Array = np.zeros(count, dtype=bool)
        """(N,) bool: members whose value ends with the next step."""

    def arm(self) -> None:
        """Takes the present values as the defaults."""
        values = [self.attribute.read(env) for env in range(self.count)]
        self.defaults = np.array(values, dtype=float).reshape(self.count, self.attribute.width)
        self.last_reset = self.defaults.copy()
        self.expiring[:] = False

    def restore_expired(self) -> None:
        """Restores the value of the last reset where a value acted for one step only."""
        for env in np.flatnonzero(self.expiring):
            self.attribute.write(int(env), self.last_reset[env])
        self.expiring[:] = False

    def write(self, envs: Array, values: Array, *, on_reset: bool) -> None:
        """Writes rows of values (n, width) to members (n,)."""
        for env, row in zip(envs.tolist(), values, strict=True):
            self.attribute.write(env, row)
        if on_reset:
            self.last_reset[envs] = values
            self.expiring[envs] = False
        elif self.attribute.lasts_one_step:
            self.expiring[envs] = True


class Rule:
    """Draws values and writes them when its gate is open."""

    def __init__(
        self,
        slot: AttributeSlot,
        gate: Gate,
        operation: Operation,
        distribution: Distribution,
        *,
        num_buckets: int | None = None,
    ) -> None:
        """Makes a rule.

        Raises:
            ConfigError: The distribution does not fit the attribute.
        """
        self.slot = slot
        self.gate = gate
        self.operation = operation
        self.distribution = distribution
        self.num_buckets = num_buckets
        self.counts: Array = np.zeros(slot.count, dtype=int)
        """(N,) number of draws of each member."""
        self.envs: Array = np.zeros(0, dtype=int)
        """(n,) members of the last firing; none if it did not fire in the last step."""
        self.values = np.zeros((0, slot.attribute.width))
        """(n, width) its written values."""
        self.drawn: Array = self.values
        """(n, w) its draws before operation and bounds."""
        self.check_distribution()
        distribution.watch(self)

    @property
    def key(self) -> str:
        """Its view, attribute and gate as text: `ball.mass on_env_reset()`."""
        return f"{self.slot.view}.{self.slot.attribute.name} {self.gate}"

    def check_distribution(self) -> None:
        """Raises unless the distribution fits the attribute; it runs again whenever a parameter changes.

        Raises:
            ConfigError: It does not.
        """
        attribute, width = self.slot.attribute, self.distribution.width
        if width is not None and width not in attribute.widths:
            expected = " or ".join(f"({w},)" for w in attribute.widths)
            raise ConfigError(
                f"{self.slot.view}.{attribute.name}: {self.distribution.type} has shape ({width},). Expected "
                f"{expected}, or one number for all ({attribute.components}) [{attribute.unit}]. Give one value for "
                "each.",
                key=attribute.name,
                expected=attribute.widths,
            )
        least = attribute.least
        if least is None or self.operation is Operation.additive:
            return
        lower = self.distribution.lowest()
        floor = least if self.operation is Operation.direct else 0.0
        if np.any(lower < floor):
            raise ConfigError(
                f"{self.slot.view}.{attribute.name}: {self.distribution!r} under {self.operation.name} goes down to "
                f"{float(np.min(lower)):g}. Expected {floor:g} or more [{attribute.unit}]. Raise it.",
                key=attribute.name,
                least=floor,
            )

    def draw(self, rng: np.random.Generator, envs: Array) -> Array:
        """Draws values (n, width) to write to members (n,)."""
        attribute = self.slot.attribute
        width = self.distribution.width or (attribute.repeat or attribute.width)
        drawn = self.distribution.sample(rng, self.counts[envs], width)
        self.counts[envs] += 1
        if self.num_buckets is not None:
            drawn = self.distribution.bucketed(drawn, self.num_buckets)
        self.drawn = drawn
        if width != attribute.width:
            drawn = np.tile(drawn, (1, attribute.width // width))
        if self.operation is not Operation.direct:
            start = (self.slot.defaults if self.gate.on_reset else self.slot.last_reset)[envs]
            drawn = start + drawn if self.operation is Operation.additive else start * drawn
        return attribute.bounded(drawn)

    def apply(self, envs: Array, values: Array) -> None:
        """Writes values (n, width) to members (n,)."""
        self.slot.write(envs, values, on_reset=self.gate.on_reset)
        self.envs, self.values = envs, values

    def to_dict(self) -> dict[str, Any]:
        """Returns the rule as plain values."""
        return {
            "view": self.slot.view,
            "attribute": self.slot.attribute.name,
            "gate": "on_env_reset" if self.gate.on_reset else "on_interval",
            "interval": self.gate.interval,
            "operation": self.operation.name,
            "distribution": self.distribution.to_dict(),
            "num_buckets": self.num_buckets,
        }


class Setup:
    """Views and rules; `run` arms it, then `step_randomization` is called once before every step of the simulation.

    Every environment has a counter, initially 0. A step sets it to 0 if the environment is reset and adds 1 otherwise.
    `on_env_reset` fires for reset environments; `on_interval(n)` for those whose counter is a positive multiple of n.
    Rules fire in their order. A rule of the world itself fires if any environment makes it fire.
    """

    def __init__(self, *, keep_firings: bool = False) -> None:
        """Makes an empty set-up; with `keep_firings`, `firings` keeps every firing."""
        self.rules: list[Rule] = []
        self.firings: list[Firing] = []
        self.num_envs: int | None = None
        """Number of environments; None before `on_rl_frame`."""
        self.counters: Array = np.zeros(0, dtype=int)
        """(N,) steps since the last reset."""
        self.reset_inds: Array = np.zeros(0, dtype=int)
        """Environments that the last step reset."""
        self.steps = 0
        """Calls of `step_randomization` since `run`."""
        self._keep = keep_firings
        self.views: dict[str, AttributeView] = {}
        """Registered views by name."""
        self._world: World | None = None
        self._slots: dict[tuple[str, str], AttributeSlot] = {}
        self._gate: Gate | None = None
        self._in_frame = False
        self._generators: list[np.random.Generator] | None = None
        self._recorded: dict[int, list[Firing]] | None = None

    def register_simulation_context(self, simulation_context: World) -> None:
        """Registers the world, whose gravity can then be randomized."""
        self._world = simulation_context

    def register_view(self, view: AttributeView, kind: type[AttributeView] = AttributeView) -> None:
        """Registers a view of the world: of bodies, lights, cameras or pose estimates.

        Raises:
            ConfigError: It is not a view of this kind, or its name is taken.
        """
        if not isinstance(view, kind):
            raise ConfigError(
                f"The view is a {type(view).__name__}. Expected a {kind.__name__}. Use the call for its kind.",
                key="view",
            )
        if view.name in (*self.views, SIMULATION_CONTEXT):
            raise ConfigError(f"A view named '{view.name}' is registered already. Rename one of them.", key=view.name)
        if self.num_envs is not None:
            _check_count(view, self.num_envs)
        self.views[view.name] = view

    @contextmanager
    def on_rl_frame(self, num_envs: int) -> Iterator[None]:
        """The frame in which gates and rules are made; every registered view has `num_envs` members.

        Raises:
            ConfigError: A view has another number of members, or there is a frame already.
        """
        if self.num_envs is not None:
            raise ConfigError("on_rl_frame was entered before. Make all gates in one frame, or a new set-up.")
        _check_positive("num_envs", num_envs)
        for view in self.views.values():
            _check_count(view, num_envs)
        self.num_envs = num_envs
        self._in_frame = True
        try:
            yield
        finally:
            self._in_frame = False

    def on_env_reset(self) -> AbstractContextManager[None]:
        """The gate that lets its rules write whenever an environment is reset."""
        return self._open_gate(Gate(None))

    def on_interval(self, interval: int) -> AbstractContextManager[None]:
        """The gate that lets its rules write whenever an environment's counter is a positive multiple of `interval`.

        Raises:
            ConfigError: It is no whole number from 1.
        """
        _check_positive("interval", interval)
        return self._open_gate(Gate(interval))

    @contextmanager
    def _open_gate(self, gate: Gate) -> Iterator[None]:
        if not self._in_frame:
            raise ConfigError(f"{gate} is outside on_rl_frame. Write it inside `with ... on_rl_frame(...):`.")
        if self._gate is not None:
            raise ConfigError(f"{gate} is inside {self._gate}. Write one gate after the other.")
        self._gate = gate
        try:
            yield
        finally:
            self._gate = None

    def randomize(
        self,
        view_name: str,
        attributes: Mapping[str, Any],
        *,
        operation: str = "direct",
        num_buckets: int | None = None,
        kind: type[AttributeView] | None = None,
    ) -> None:
        """Makes one rule for every given attribute of a view or of `simulation_context`, under the open gate.

        Args:
            view_name: Name of a registered view, or `simulation_context`.
            attributes: By attribute, a distribution, a number or a list of numbers; None is not randomized.
            operation: `direct`, `additive` or `scaling`.
            num_buckets: Number of evenly spaced values for `material_properties`.
            kind: Expected type of the view; None: any.

        Raises:
            ConfigError: No gate is open, or a view, attribute, operation, bucket or distribution does not fit.
        """
        if self._gate is None:
            raise ConfigError(
                f"'{view_name}' is randomized outside of a gate. Write it inside `with ... on_env_reset():` or "
                "`with ... on_interval(...):`.",
                key=view_name,
            )
        if operation not in Operation.__members__:
            raise unknown_name(operation, "a known operation", where="operation", known=Operation.__members__)
        given = {name: value for name, value in attributes.items() if value is not None}
        if num_buckets is not None:
            _check_positive("num_buckets", num_buckets)
            if "material_properties" not in given:
                raise ConfigError(
                    f"num_buckets={num_buckets} of '{view_name}' has no effect: it is for material_properties. Remove "
                    "it.",
                    key="num_buckets",
                )
        for name, value in given.items():
            slot = self._get_slot(view_name, name, kind)
            if self._gate.on_reset and any(rule.slot is slot and rule.gate.on_reset for rule in self.rules):
                raise ConfigError(
                    f"{view_name}.{name} is randomized on_env_reset twice; the second would undo the first. "
                    "Remove one of them.",
                    key=name,
                )
            buckets = num_buckets if name == "material_properties" else None
            rule = Rule(slot, self._gate, Operation[operation], as_distribution(value), num_buckets=buckets)
            self.rules.append(rule)
        self._generators = None

    def _get_slot(self, view_name: str, name: str, kind: type[AttributeView] | None) -> AttributeSlot:
        if (view_name, name) in self._slots:
            return self._slots[view_name, name]
        if view_name == SIMULATION_CONTEXT:
            if self._world is None:
                raise ConfigError("No simulation context is registered. Call register_simulation_context first.")
            if name != "gravity":
                raise ConfigError(
                    f"View '{SIMULATION_CONTEXT}' has no attribute '{name}'. Known: gravity. Name it.", key="attribute"
                )
            attribute, count = gravity_attribute(self._world), 1
        elif view_name not in self.views:
            raise unknown_entry(
                f"View '{view_name}' is not registered.",
                view_name,
                self.views,
                error=ConfigError,
                heading="Registered",
                advice="Register it, or name one of them.",
                key="view_name",
            )
        elif kind is not None and not isinstance(view := self.views[view_name], kind):
            raise ConfigError(
                f"View '{view_name}' is a {type(view).__name__}, expected a {kind.__name__}. Use the call for its "
                "kind.",
                key="view_name",
            )
        else:
            attribute, count = self.views[view_name].attribute(name), self.views[view_name].count
        self._slots[view_name, name] = AttributeSlot(view_name, attribute, count)
        return self._slots[view_name, name]

    def run(self, rng: np.random.Generator) -> None:
        """Arms the set-up: the present values of the attributes become their defaults, and all counters are 0.

        Every rule gets its own stream, named after its view, attribute and gate, so an additional rule does not change
        the draws of others.

        Raises:
            ConfigError: There was no `on_rl_frame`.
        """
        if self.num_envs is None:
            raise ConfigError("There is nothing to run: on_rl_frame was not entered. Make the rules first.")
        seed = int(rng.integers(2**63 - 1))
        keys = [rule.key for rule in self.rules]
        names = [f"{key} {keys[:index].count(key)}" for index, key in enumerate(keys)]
        self._generators = [stream(seed, name) for name in names]
        self._recorded = None
        self._reset_counters()

    def run_recorded(self, firings: Sequence[Firing]) -> None:
        """Arms the set-up with the firings of another run of the same rules; each is written at its step.

        Raises:
            ConfigError: A firing does not fit the rules.
        """
        self._recorded = {}
        for firing in firings:
            if not 0 <= firing.rule < len(self.rules):
                raise ConfigError(f"A firing names rule {firing.rule} of {len(self.rules)}. Use the recorded rules.")
            slot = self.rules[firing.rule].slot
            if firing.values.shape != (len(firing.envs), slot.attribute.width) or np.any(firing.envs >= slot.count):
                raise ConfigError(
                    f"A firing of {self.rules[firing.rule].key} has shape {firing.values.shape} for {slot.count} "
                    f"members of {slot.attribute.width} values. Use the scene that it was recorded in.",
                    key=slot.attribute.name,
                )
            self._recorded.setdefault(firing.step, []).append(firing)
        self._generators = []
        self._reset_counters()

    def _reset_counters(self) -> None:
        for slot in self._slots.values():
            slot.arm()
        for rule in self.rules:
            rule.counts[:] = 0
        self.counters = np.zeros(self.num_envs or 0, dtype=int)
        self.steps = 0
        self.firings = []

    def step_randomization(self, reset_inds: Any = None) -> None:
        """Counts one step and fires the rules with an open gate; `reset_inds` are the environments that are reset.

        Raises:
            ConfigError: `run` was not called since the last rule was made, or there is no such environment.
        """
        self.begin_step(reset_inds)
        if self._recorded is not None:
            for rule in self.rules:
                rule.envs = rule.envs[:0]
            for firing in self._recorded.get(self.steps, ()):
                self.rules[firing.rule].apply(firing.envs, firing.values)
                self._keep_firing(firing.rule)
        else:
            open_to: dict[Gate, Array] = {}
            for index, rule in enumerate(self.rules):
                if rule.gate not in open_to:
                    open_to[rule.gate] = self.indices_of(rule.gate)
                self.fire(index, open_to[rule.gate])
        self.end_step()

    def begin_step(self, reset_inds: Any = None) -> None:
        """Runs the first part of `step_randomization`: counts the step and ends values that act for one step only."""
        if self._generators is None or self.num_envs is None:
            raise ConfigError("step_randomization was called before orchestrator.run(). Call that once first.")
        given = np.asarray([] if reset_inds is None else reset_inds)
        wrong = given.ndim != 1 or given.dtype.kind not in "iu"
        if given.size and (wrong or given.min() < 0 or given.max() >= self.num_envs):
            raise ConfigError(
                f"reset_inds={given.tolist()} do not name environments. Expected whole numbers from 0 to "
                f"{self.num_envs - 1}.",
                key="reset_inds",
            )
        reset = np.unique(given).astype(int)
        self.counters += 1
        self.counters[reset] = 0
        self.reset_inds = reset
        for slot in self._slots.values():
            slot.restore_expired()

    def fire(self, index: int, envs: Array) -> None:
        """Runs the second part for one rule: draws for environments (n,) and writes.

        Raises:
            ConfigError: The set-up writes recorded values and draws nothing.
        """
        rule = self.rules[index]
        if not len(envs):
            rule.envs = envs
            return
        if not self._generators:
            raise ConfigError("This set-up writes recorded values. Call step_randomization, not its parts.")
        if rule.slot.view == SIMULATION_CONTEXT:
            envs = np.zeros(1, dtype=int)
        rule.apply(envs, rule.draw(self._generators[index], envs))
        self._keep_firing(index)

    def end_step(self) -> None:
        """Runs the last part of `step_randomization`."""
        self.steps += 1

    def _keep_firing(self, index: int) -> None:
        if self._keep:
            rule = self.rules[index]
            self.firings.append(Firing(self.steps, index, rule.envs.copy(), rule.values.copy()))

    def indices_of(self, gate: Gate) -> Array:
        """Returns the environments for which a gate is open after the last step."""
        if gate.interval is None:
            return self.reset_inds
        return np.flatnonzero((self.counters > 0) & (self.counters % gate.interval == 0))


def _check_positive(key: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{key}={value!r} is out of range. Expected a whole number from 1.", key=key)


def _check_count(view: AttributeView, num_envs: int) -> None:
    if view.count != num_envs:
        raise ConfigError(
            f"View '{view.name}' has {view.count} members, on_rl_frame has num_envs={num_envs}. Expected one "
            "member per environment. Change one of them.",
            key="num_envs",
        )
