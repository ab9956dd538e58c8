"""Environments stand on a grid, each as it was built at its own place, and do not meet."""

import numpy as np
import pytest

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.attribute_views import GridCloner

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
def test_origins_are_row_by_row_on_the_smallest_square_about_the_middle(num_envs, expected):
    origins = GridCloner(spacing=1.5).origins(num_envs)
    assert [tuple(T.p) for T in origins] == [(x, y, 0.0) for x, y in expected]
    assert all(np.array_equal(T.R, np.eye(3)) for T in origins)


def clone_balls(world, num_envs, places):
    """Builds balls at (x, y, z) in each environment; `places` may depend on the environment. Returns the origins."""

    def build(env, T_world_env):
        for number, place in enumerate(places(env)):
            T = T_world_env @ Pose.from_translation(place)
            world.add_sphere(f"env_{env}/{number}", radius_m=0.1, T_world_sphere=T, mass_kg=1.0)

    return GridCloner(spacing=1.0).clone(world, num_envs, build)


def test_each_environment_is_built_once_at_its_own_place_and_shares_the_bodies_before(world, floor, run):
    origins = clone_balls(world, 3, lambda env: [(0.1, 0.0, 0.11)])
    assert list(world.bodies) == ["floor", *(f"env_{env}/0" for env in range(3))]
    for env, T_world_env in enumerate(origins):
        ball = world.bodies[f"env_{env}/0"]
        assert ball.root_pose().p == pytest.approx((T_world_env @ Pose.from_translation((0.1, 0.0, 0.11))).p)
        assert ball.environment == env
    assert floor.environment is None
    run(0.5)
    assert [world.bodies[f"env_{env}/0"].root_pose().p[2] for env in range(3)] == pytest.approx([0.1] * 3, abs=2e-3)


@pytest.mark.parametrize(("own", "moves"), [(True, True), (False, False)])
def test_balls_in_one_place_push_each_other_apart_only_where_they_are_of_one_environment(world, run, own, moves):
    world.set_gravity((0, 0, 0))
    if own:
        clone_balls(world, 1, lambda env: [(0.0, 0.0, 1.0), (0.0, 0.0, 1.05)])
    else:
        origins = GridCloner(spacing=1.0).origins(2)  # both at one place in the world
        clone_balls(world, 2, lambda env: [origins[env].inverse() @ np.array([0.0, 0.0, 1.0 + 0.05 * env])])
    run(0.1)
    assert (max(np.abs(ball.root_velocity()).max() for ball in world.bodies.values()) > 0.1) == moves


@pytest.mark.parametrize("spacing", [0.0, float("nan")])
def test_a_spacing_is_above_zero(spacing):
    with pytest.raises(WorldError, match=r"spacing=.* is out of range\. Expected above 0 m\. Change it\."):
        GridCloner(spacing=spacing)


def test_there_is_at_least_one_environment(world):
    with pytest.raises(WorldError, match=r"num_envs=0 is out of range\. Expected 1 or more"):
        GridCloner(spacing=1.0).clone(world, 0, lambda _env, _T: None)
    assert not world.bodies
