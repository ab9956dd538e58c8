"""What is read back of every attribute follows the law that it was given, in every environment alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from unlatch import randomization as dr
from unlatch.simcore.geometry import Pose
from unlatch.simcore.randomization.replicator import physics_view
from unlatch.simcore.sim.body_views import ArticulationView
from unlatch.simcore.sim.converted_body import load_converted
from unlatch.simcore.sim.joint_mechanisms import ClosedStop
from unlatch.simcore.sim.world import World, WorldCfg

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
    assert len(named) == 11 + 28 - 3
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


def give_closed_stops(rig: ArticulationView) -> None:
    """Gives every joint a catch and a gasket, without which there is nothing to draw."""
    stop = ClosedStop(closed=0.0, sign=1.0, catch_effort=1.0, catch_reach=0.1, gasket_effort=1.0, gasket_reach=0.1)
    for groups in rig._groups:
        for joint, group in groups.items():
            group.set_closed_stop(joint, stop)


@pytest.mark.parametrize(("view", "name"), attributes())
def test_every_attribute_follows_its_distribution(stage: Callable[[int], Stage], view: str, name: str) -> None:
    made = stage(NUM_ENVS)
    lower, upper = RANGES.get(name, (0.5, 1.5))
    target = made.ball if view == "ball" else made.rig
    if name in ("catch_efforts", "gasket_efforts"):
        give_closed_stops(made.rig)
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


CART = """<robot name="cart"><link name="a">{0}</link><link name="b">{0}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>""".format(
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def test_velocities_of_a_free_articulation_follow_their_distribution(tmp_path: Path) -> None:
    path = tmp_path / "cart.urdf"
    path.write_text(CART)
    with World(WorldCfg()) as world:
        carts = [
            load_converted(world, path, {}, name=f"cart_{i}", T_world_root=Pose.from_translation((i, 0.0, 0.0)))
            for i in range(NUM_ENVS)
        ]
        view = ArticulationView(world, [body for body, _ in carts], name="cart", drives=[[each] for _, each in carts])
        for name in NOT_OF_A_FIXED_ROOT:
            dr.new_setup()
            dr.physics_view.register_articulation_view(view)
            lower, upper = np.arange(view.attribute(name).width) - 2.0, np.arange(view.attribute(name).width) + 1.0
            randomize = partial(
                physics_view.randomize_articulation_view, "cart", **{name: dr.distribution.uniform(lower, upper)}
            )
            values = fire(view, randomize, partial(view.get, name)).reshape(RESETS * NUM_ENVS, -1)
            for column, low in zip(values.T, lower, strict=True):
                assert stats.kstest(column, stats.uniform(low, 3.0).cdf).pvalue > 1e-4
            assert len(np.unique(values[:, 0])) == RESETS * NUM_ENVS
    dr.new_setup()


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
def test_operations_transform_the_distribution(
    stage: Callable[[int], Stage], operation: str, law: stats.rv_continuous
) -> None:
    made = stage(NUM_ENVS)
    values = fire(
        made,
        lambda: physics_view.randomize_rigid_prim_view("ball", operation, mass=dr.distribution.normal(3.0, 0.1)),
        lambda: made.ball.get("mass"),
    )
    assert stats.kstest(values.ravel(), law.cdf).pvalue > 1e-4
