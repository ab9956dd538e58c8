"""What is read back of every attribute follows the law that it was given, in every environment alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simcore import randomization as dr
from simcore.randomization import physics_view

Stage = Any

pytestmark = pytest.mark.integration

NUM_ENVS, RESETS = 4, 60
VIEWS = {"ball": physics_view.randomize_rigid_prim_view, "rig": physics_view.randomize_articulation_view}
NOT_OF_A_FIXED_ROOT = ("linear_velocity", "angular_velocity", "velocity")
RANGES = {"orientation": (-1.0, 1.0), "material_properties": (0.1, 0.9)}


def attributes() -> list[tuple[str, str]]:
    named = [
        (view, name)
        for view, call in VIEWS.items()
        for name, kind in call.__kwdefaults__.items()
        if not (view == "rig" and name in NOT_OF_A_FIXED_ROOT)
    ]
    assert len(named) == 11 + 26 - 3
    return named


def fire(stage: Stage, randomize: Callable[[], None], read: Callable[[], np.ndarray]) -> np.ndarray:
    """(RESETS, members, width) values after each reset of all environments."""
    with dr.trigger.on_rl_frame(num_envs=NUM_ENVS), dr.gate.on_env_reset():
        randomize()
    dr.orchestrator.run(np.random.default_rng(0))
    seen = []
    for _ in range(RESETS):
        dr.physics_view.step_randomization(np.arange(NUM_ENVS))
        seen.append(read())
    return np.array(seen)


@pytest.mark.parametrize(("view", "name"), attributes())
def test_every_attribute_follows_its_distribution(stage: Callable[[int], Stage], view: str, name: str) -> None:
    made = stage(NUM_ENVS)
    lower, upper = RANGES.get(name, (0.5, 1.5))
    target = made.ball if view == "ball" else made.rig
    values = fire(
        made,
        lambda: VIEWS[view](view, **{name: dr.distribution.uniform(lower, upper)}),
        lambda: target.get(name),
    )
    columns = values.reshape(RESETS * NUM_ENVS, -1)
    if view == "rig" and name in ("body_masses", "body_inertias"):
        columns = columns[:, columns.shape[1] // 3 :]  # the root stands still
    for column in columns.T:
        assert stats.kstest(column, stats.uniform(lower, upper - lower).cdf).pvalue > 1e-4
    # environments are drawn one by one
    assert len(np.unique(columns[:, 0])) == RESETS * NUM_ENVS


def test_gravity_follows_its_distribution(stage: Callable[[int], Stage]) -> None:
    made = stage(NUM_ENVS)
    values = fire(
        made,
        lambda: physics_view.randomize_simulation_context(
            gravity=dr.distribution.normal((0, 0, -9.81), (0.1, 0.2, 0.3))
        ),
        lambda: made.world.gravity_m_s2,
    )
    for column, mean, std in zip(values.T, (0, 0, -9.81), (0.1, 0.2, 0.3), strict=True):
        assert stats.kstest(column, stats.norm(mean, std).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("operation", "law"), [("additive", stats.norm(1.0 + 3.0, 0.1)), ("scaling", stats.norm(1.0 * 3.0, 0.1))]
)
def test_operations_move_the_law(stage: Callable[[int], Stage], operation: str, law: stats.rv_continuous) -> None:
    made = stage(NUM_ENVS)
    values = fire(
        made,
        lambda: physics_view.randomize_rigid_prim_view("ball", operation, mass=dr.distribution.normal(3.0, 0.1)),
        lambda: made.ball.get("mass"),
    )
    assert stats.kstest(values.ravel(), law.cdf).pvalue > 1e-4
