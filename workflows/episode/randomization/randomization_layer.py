"""One layer of an episode's randomization: the rules that draw from one stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.randomization.config import RuleCfg
from unlatch.simcore.randomization.rule import SIMULATION_CONTEXT, AttributeSlot, Firing
from unlatch.simcore.randomization.setup import Setup
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.views.attribute_view import AttributeView

LAYERS = ("physics", "sensors", "visuals")
"""Layers, each named after its stream of the episode."""

KeyedRule = tuple[str, RuleCfg]
"""A rule and its full key."""


class RandomizationLayer:
    """Rules that draw from one stream; adding or removing rules does not change the other layers."""

    def __init__(self, name: str, setup: Setup, rules: Sequence[KeyedRule]) -> None:
        """Makes the rules; nothing is drawn yet.

        Raises:
            ConfigError: A rule does not fit its view; with the rule's key.
        """
        self.name = name
        self.setup = setup
        self._seed = 0
        self._recorded: Sequence[Firing] | None = None
        with setup.on_rl_frame(num_envs=1):
            for where, rule in rules:
                self._add_rule(rule, where)

    def _add_rule(self, rule: RuleCfg, where: str) -> None:
        setup = self.setup
        gate = setup.on_interval(rule.interval) if rule.interval is not None else setup.on_env_reset()
        try:
            with gate:
                setup.randomize(
                    rule.view,
                    {rule.attribute: rule.make_distribution()},
                    operation=rule.operation,
                    num_buckets=rule.num_buckets,
                )
        except ConfigError as exc:
            key = f"{where}.{'distribution' if exc.values.get('key') == rule.attribute else exc.values.get('key')}"
            raise ConfigError(f"{key}: {exc.message}", **{**exc.values, "key": key}) from exc

    def reset(self, seed: int, recorded: Sequence[Firing] | None = None) -> None:
        """Fires `on_env_reset`; the present values are the defaults. Recorded firings replace draws.

        Raises:
            RecordingError: Recorded values do not fit the scene.
        """
        self._seed, self._recorded = seed, recorded
        if recorded is None:
            self.setup.run(stream(seed, self.name))
        else:
            try:
                self.setup.run_recorded(recorded)
            except ConfigError as exc:
                raise RecordingError(f"Recorded randomization: {exc.message}") from exc
        self.setup.step_randomization([0])

    def show(self, step: int) -> None:
        """Restores the values of a control step; steps may come in any order."""
        if self.setup.steps > step + 1:
            for slot in self.written():
                slot.write(np.zeros(1, dtype=int), slot.defaults.copy(), on_reset=True)
            self.reset(self._seed, self._recorded)
        while self.setup.steps <= step:
            self.setup.step_randomization()

    def written(self) -> list[AttributeSlot]:
        """Returns the attributes that its rules write."""
        return [rule.slot for rule in self.setup.rules]

    def applied(self) -> dict[str, Any]:
        """Returns rules and all firings as plain values; they suffice to apply the layer again."""
        return {
            "rules": [rule.to_dict() for rule in self.setup.rules],
            "firings": [[firing.step, firing.rule, firing.values[0].tolist()] for firing in self.setup.firings],
        }

    def lines(self, *, control_hz: int) -> list[str]:
        """Returns one line a rule: when it fires, and the value that the reset wrote."""
        lines = []
        for rule in self.setup.rules:
            slot, gate = rule.slot, rule.gate
            when = "at reset" if gate.interval is None else f"every {gate.interval} control steps "
            when += "" if gate.interval is None else f"({gate.interval / control_hz:.3g} s)"
            line = f"  {when}: {slot.view}.{slot.attribute.name} {rule.operation.name} "
            line += _describe_distribution(rule.to_dict())
            if gate.on_reset:
                line += f" -> {_format_numbers(slot.defaults[0])} became {_format_numbers(slot.last_reset[0])}"
            lines.append(f"{line} [{slot.attribute.unit}]")
        return lines


def find_layer(rule: RuleCfg, setups: Mapping[str, Setup], where: str) -> str:
    """Returns the name of the layer whose view has the attribute of a rule.

    Raises:
        ConfigError: No layer has it.
    """
    views = {name: setup.views[rule.view] for name, setup in setups.items() if rule.view in setup.views}
    if rule.view == SIMULATION_CONTEXT:
        return "physics"
    found = [name for name, view in views.items() if rule.attribute in view.attributes]
    if found:
        return found[0]
    try:
        _merge_views(rule.view, list(views.values())).attribute(rule.attribute)
    except ConfigError as exc:
        raise ConfigError(f"{where}.attribute: {exc.message}", **{**exc.values, "key": f"{where}.attribute"}) from exc
    raise ConfigError(f"{where}.attribute='{rule.attribute}' is in no layer.", key=f"{where}.attribute")


def _merge_views(name: str, views: Sequence[AttributeView]) -> AttributeView:
    """Returns one view with the attributes of all, for an error message."""
    merged = AttributeView(name)
    merged.kind = views[0].kind
    for view in views:
        merged.include_attributes(view)
    return merged


@dataclass(frozen=True)
class RecordedLayer:
    """The rules and firings of one recorded layer."""

    rules: list[KeyedRule]
    firings: list[Firing]

    def for_views(self, views: AbstractSet[str]) -> RecordedLayer:
        """Returns the rules and firings of some views."""
        kept = [index for index, (_, rule) in enumerate(self.rules) if rule.view in views]
        places = {index: place for place, index in enumerate(kept)}
        firings = [replace(item, rule=places[item.rule]) for item in self.firings if item.rule in places]
        return RecordedLayer([self.rules[index] for index in kept], firings)


def read_layer(content: Any, where: str) -> RecordedLayer:
    """Reads a layer of a record.

    Raises:
        ConfigError: A rule cannot be read.
        RecordingError: A firing cannot be read.
    """
    given = content if isinstance(content, Mapping) else {}
    rules = [
        (f"{where}.rules[{i}]", read_dataclass(RuleCfg, rule, where=f"{where}.rules[{i}]"))
        for i, rule in enumerate(given.get("rules", ()))
    ]
    return RecordedLayer(rules, _read_firings(given))


def _read_firings(content: Mapping[str, Any]) -> list[Firing]:
    found = []
    for entry in content.get("firings", ()):
        try:
            step, rule, values = entry
            found.append(
                Firing(int(step), int(rule), np.zeros(1, dtype=int), np.array([values], dtype=float).reshape(1, -1))
            )
        except (TypeError, ValueError) as exc:
            raise RecordingError(
                f"A firing of the record is not [step, rule, values]: {str(entry)[:80]}. It is damaged."
            ) from exc
    return found


def _describe_distribution(rule: Mapping[str, Any]) -> str:
    content = rule["distribution"]
    inside = ", ".join(f"{key} {value}" for key, value in content.items() if key != "type")
    return f"{content['type']}({inside})"


def _format_numbers(values: Sequence[float] | np.ndarray) -> str:
    shown = [f"{value:.4g}" for value in np.asarray(values)[:6]]
    return f"[{', '.join(shown)}{', ...' if len(values) > 6 else ''}]"
