"""Random rules and random sequences of resets and steps against a model of thirty lines."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unlatch import randomization as dr

pytestmark = [pytest.mark.property, pytest.mark.integration, pytest.mark.slow, pytest.mark.heavy]

OPERATIONS = {"direct": lambda start, draw: draw, "additive": np.add, "scaling": np.multiply}
ITEMS = [1.5, 2.5, 0.5, 3.0, 2.0]
DEFAULTS = {"mass": [1.0, 2.0, 4.0], "force": [0.0, 0.0, 0.0], "gravity": [-8.0]}
"""One number stands for each attribute: the z of a force and of gravity, which has one member."""


@dataclass
class ModelledRule:
    """One rule: the n-th draw of a member is the n-th item, from its own place on."""

    attribute: str
    interval: int | None
    operation: str
    first: int
    draws: dict[int, int] = field(default_factory=dict)

    def next(self, member: int) -> float:
        self.draws[member] = self.draws.get(member, -1) + 1
        return self.items[self.draws[member] % len(ITEMS)]

    @property
    def items(self) -> list[float]:
        return ITEMS[self.first :] + ITEMS[: self.first]


class Model:
    """What the page says, number by number."""

    def __init__(self, rules: list[ModelledRule]) -> None:
        self.rules = rules
        self.counters = [0, 0, 0]
        self.values = {name: list(row) for name, row in DEFAULTS.items()}
        self.at_reset = {name: list(row) for name, row in DEFAULTS.items()}
        self.ends: set[int] = set()

    def step(self, inds: list[int]) -> None:
        self.counters = [0 if env in inds else count + 1 for env, count in enumerate(self.counters)]
        for env in self.ends:
            self.values["force"][env] = self.at_reset["force"][env]
        self.ends = set()
        for rule in self.rules:
            open_to = [env for env in range(3) if self.opens(rule, env, inds)]
            for member in ([0] if open_to else []) if rule.attribute == "gravity" else open_to:
                start = (DEFAULTS if rule.interval is None else self.at_reset)[rule.attribute][member]
                value = float(OPERATIONS[rule.operation](start, rule.next(member)))
                self.values[rule.attribute][member] = value
                if rule.interval is None:
                    self.at_reset[rule.attribute][member] = value
                elif rule.attribute == "force":
                    self.ends.add(member)

    def opens(self, rule: ModelledRule, env: int, inds: list[int]) -> bool:
        if rule.interval is None:
            return env in inds
        return self.counters[env] > 0 and self.counters[env] % rule.interval == 0


RULE = st.builds(
    ModelledRule,
    attribute=st.sampled_from(list(DEFAULTS)),
    interval=st.one_of(st.none(), st.integers(1, 4)),
    operation=st.sampled_from(list(OPERATIONS)),
    first=st.integers(0, len(ITEMS) - 1),
)


def make(rule: ModelledRule) -> None:
    gate = dr.gate.on_env_reset() if rule.interval is None else dr.gate.on_interval(rule.interval)
    with gate:
        if rule.attribute == "mass":
            dr.physics_view.randomize_rigid_prim_view("ball", rule.operation, mass=dr.distribution.sequence(rule.items))
            return
        values = dr.distribution.sequence([(0.0, 0.0, item) for item in rule.items])
        if rule.attribute == "force":
            dr.physics_view.randomize_rigid_prim_view("ball", rule.operation, force=values)
        else:
            dr.physics_view.randomize_simulation_context(rule.operation, gravity=values)


@given(
    rules=st.lists(RULE, min_size=1, max_size=5),
    resets=st.lists(st.one_of(st.none(), st.lists(st.integers(0, 2), max_size=4)), min_size=1, max_size=15),
)
def test_any_rules_and_any_sequence_of_steps_do_what_the_model_does(shared_stage, rules, resets):
    at_resets = [rule.attribute for rule in rules if rule.interval is None]
    assume(len(at_resets) == len(set(at_resets)))  # a second one is refused
    for rule in rules:
        rule.draws = {}
    shared_stage.world.set_gravity((0.0, 0.0, *DEFAULTS["gravity"]))
    for env in range(3):
        shared_stage.ball.attribute("mass").write(env, np.array([DEFAULTS["mass"][env]]))
        shared_stage.ball.attribute("force").write(env, np.zeros(3))
    shared_stage.register()
    with dr.trigger.on_rl_frame(num_envs=3):
        for rule in rules:
            make(rule)
    dr.orchestrator.run(np.random.default_rng(0))
    model = Model(rules)
    for inds in resets:
        dr.physics_view.step_randomization(inds)
        model.step(inds or [])
        assert dr.current().counters.tolist() == model.counters
        assert shared_stage.ball.get("mass")[:, 0].tolist() == model.values["mass"]
        assert shared_stage.ball.get("force")[:, 2].tolist() == model.values["force"]
        assert shared_stage.world.gravity_m_s2[2] == model.values["gravity"][0]
