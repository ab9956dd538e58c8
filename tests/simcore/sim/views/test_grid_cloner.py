"""Environments stand on a grid, each as it was built at its own place, and do not meet."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.attribute_views import GridCloner
from unlatch.simcore.sim.world import World

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("num_envs", "expected"),
    [
        (1, [(0.0, 0.0)]),
        (2, [(0.0, -0.75), (0.0, 0.75)]),
        (4, [(-0.75, -0.75), (-0.75, 0.75), (0.75, -0.75), (0.75, 0.75)]),
        (5, [(-0.75, -1.5), (-0.75, 0.0), (-0.75, 1.5), (0.75, -1.5), (0.75, 0.0)]),
    ],
)
def test_origins_are_row_by_row_on_the_smallest_square_about_the_middle(
    num_envs: int, expected: list[tuple[float, float]]
) -> None:
    origins = GridCloner(spacing=1.5).origins(num_envs)
    assert [tuple(T.p) for T in origins] == [(x, y, 0.0) for x, y in expected]
    assert all(np.array_equal(T.R, np.eye(3)) for T in origins)


@pytest.mark.parametrize("num_envs", [3, 7, 16])
def test_neighbours_are_as_far_apart_as_the_spacing(num_envs: int) -> None:
    places = np.array([T.p for T in GridCloner(spacing=0.4).origins(num_envs)])
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 10.0 * np.eye(num_envs)
    assert gaps.min(axis=1) == pytest.approx(np.full(num_envs, 0.4))


def test_each_environment_is_built_once_at_its_own_place(world: World) -> None:
    shared = world.add_box("floor", size_m=(9, 9, 1), T_world_box=Pose.from_translation((0, 0, -0.5)))
    built = []

    def build(env: int, T_world_env: Pose) -> None:
        built.append(env)
        T = T_world_env @ Pose.from_translation((0.1, 0.0, 0.5))
        world.add_sphere(f"env_{env}/ball", radius_m=0.1, T_world_sphere=T, mass_kg=1.0)

    origins = GridCloner(spacing=1.0).clone(world, 3, build)
    assert built == [0, 1, 2]
    for env, T_world_env in enumerate(origins):
        ball = world.bodies[f"env_{env}/ball"]
        assert ball.root_pose().p == pytest.approx((T_world_env @ Pose.from_translation((0.1, 0.0, 0.5))).p)
        assert ball.environment == env
    assert shared.environment is None


@pytest.mark.parametrize(("own", "moves"), [(True, True), (False, False)])
def test_environments_do_not_touch_each_other_and_touch_what_is_shared(world: World, own: bool, moves: bool) -> None:
    """Two balls in one place push each other apart only where they are of one environment."""
    world.set_gravity((0, 0, 0))

    def build(env: int, T_world_env: Pose) -> None:
        names = ("a", "b") if own else ("a",)
        for number, name in enumerate(names):
            T = Pose.from_translation((0.0, 0.0, 1.0 + 0.05 * (number + env)))
            world.add_sphere(f"env_{env}/{name}", radius_m=0.1, T_world_sphere=T, mass_kg=1.0)

    GridCloner(spacing=1.0).clone(world, 1 if own else 2, build)
    balls = list(world.bodies.values())
    for _ in range(24):
        world.step()
    assert (max(np.abs(ball.root_velocity()).max() for ball in balls) > 0.1) == moves


def test_earlier_bodies_are_shared_by_all_environments(world: World) -> None:
    world.add_box("floor", size_m=(9, 9, 1), T_world_box=Pose.from_translation((0, 0, -0.5)))

    def build(env: int, T_world_env: Pose) -> None:
        T = T_world_env @ Pose.from_translation((0.0, 0.0, 0.11))
        world.add_sphere(f"env_{env}/ball", radius_m=0.1, T_world_sphere=T, mass_kg=1.0)

    GridCloner(spacing=1.0).clone(world, 2, build)
    for _ in range(120):
        world.step()
    heights = [world.bodies[f"env_{env}/ball"].root_pose().p[2] for env in range(2)]
    assert heights == pytest.approx([0.1, 0.1], abs=2e-3)


@pytest.mark.parametrize("spacing", [0.0, -1.0, float("nan")])
def test_a_spacing_is_above_zero(spacing: float) -> None:
    with pytest.raises(WorldError, match=r"spacing=.* is out of range\. Expected above 0 m\. Change it\."):
        GridCloner(spacing=spacing)


def test_there_is_at_least_one_environment(world: World) -> None:
    with pytest.raises(WorldError, match=r"num_envs=0 is out of range\. Expected 1 or more"):
        GridCloner(spacing=1.0).clone(world, 0, lambda _env, _T: None)
    assert not world.bodies
