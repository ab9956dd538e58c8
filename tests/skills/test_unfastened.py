"""The axis about which the lid of an object that nothing fastens is led."""

import numpy as np
import pytest

from unlatch.objects import ObjectCfg, load_object
from unlatch.simcore.geometry import Pose
from unlatch.skills.unfastened import pull_offset


def offset(category: str, part: str, T_world_root: Pose) -> np.ndarray:
    asset = load_object(ObjectCfg(name="it", category=category, instance="0"), rng=np.random.default_rng(0))
    return pull_offset(asset, asset.articulation.part(part), T_world_root)


@pytest.mark.parametrize(
    ("category", "part", "expected"),
    [
        ("light_box", "lid", (0.003, 0.0, 0.010)),  # hinged behind
        ("carton", "lid", (0.0, 0.003, 0.010)),  # flaps that are hinged at the sides
        ("carton", "lid_2", (0.0, -0.003, 0.010)),
        ("cabinet", "door", (0.0, 0.0, 0.0)),
    ],
)
def test_a_lid_is_led_about_an_axis_above_its_hinge_and_on_the_side_of_its_edge(category, part, expected):
    assert offset(category, part, Pose.identity()) == pytest.approx(expected, abs=1e-9)


def test_the_lid_of_a_toppled_box_is_led_about_its_hinge():
    toppled = Pose.from_rpy((0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0))
    assert offset("light_box", "lid", toppled) == pytest.approx(np.zeros(3))


def test_the_axis_turns_with_the_object():
    turned = Pose(np.array([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0.5, 0.0, 0.1]))
    assert offset("light_box", "lid", turned) == pytest.approx((-0.003, 0.0, 0.010), abs=1e-9)
