"""Random sequences of resets and steps against a model of ten lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore import randomization as dr

pytestmark = [pytest.mark.property, pytest.mark.integration]

OPERATIONS = {"direct": lambda start, draw: draw, "additive": np.add, "scaling": np.multiply}
ITEMS = [1.5, 2.5, 0.5, 3.0, 2.0]


@given(
    reset_operation=st.sampled_from([None, *OPERATIONS]),
    interval_operation=st.sampled_from([None, *OPERATIONS]),
    interval=st.integers(1, 4),
    resets=st.lists(st.one_of(st.none(), st.lists(st.integers(0, 2), max_size=4)), min_size=1, max_size=15),
)
def test_any_sequence_of_steps_does_what_the_model_does(
    shared_stage: Any,
    reset_operation: str | None,
    interval_operation: str | None,
    interval: int,
    resets: list[list[int] | None],
) -> None:
    for env, mass in enumerate((1.0, 2.0, 4.0)):
        shared_stage.ball.attribute("mass").write(env, np.array([mass]))
    shared_stage.register()
    with dr.trigger.on_rl_frame(num_envs=3):
        if interval_operation:
            with dr.gate.on_interval(interval):
                dr.physics_view.randomize_rigid_prim_view(
                    "ball", interval_operation, mass=dr.distribution.sequence(ITEMS)
                )
        if reset_operation:
            with dr.gate.on_env_reset():
                dr.physics_view.randomize_rigid_prim_view("ball", reset_operation, mass=dr.distribution.sequence(ITEMS))
    dr.orchestrator.run(np.random.default_rng(0))

    default = [1.0, 2.0, 4.0]
    value, at_reset, counter = list(default), list(default), [0, 0, 0]
    reset_draws, interval_draws = [0, 0, 0], [0, 0, 0]
    for inds in resets:
        dr.physics_view.step_randomization(inds)
        for env in range(3):
            if env in (inds or ()):
                counter[env] = 0
                if reset_operation:
                    draw = ITEMS[reset_draws[env] % len(ITEMS)]
                    reset_draws[env] += 1
                    value[env] = at_reset[env] = float(OPERATIONS[reset_operation](default[env], draw))
                continue
            counter[env] += 1
            if interval_operation and counter[env] % interval == 0:
                draw = ITEMS[interval_draws[env] % len(ITEMS)]
                interval_draws[env] += 1
                value[env] = float(OPERATIONS[interval_operation](at_reset[env], draw))
        assert dr.current().counters.tolist() == counter
        assert shared_stage.ball.get("mass")[:, 0].tolist() == value
