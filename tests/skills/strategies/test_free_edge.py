"""The free edge of a part: where it is, and the ways to open an ajar part that use it."""

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.meshes.solids import Solids
from unlatch.skills.strategies.free_edge import edge_hook, free_edges
from unlatch.skills.strategies.hand_fit import HEAD, TAIL, HandFit
from unlatch.skills.strategies.ranking import derive_strategies

HAND = hand_shape("franka_panda", load_robot("franka_panda").arms[0])


def made(category, instance="3"):
    asset = load_object(ObjectCfg(category, category, instance=instance), rng=np.random.default_rng(0))
    return asset, next(iter(asset.articulation.parts.values()))


def test_the_edge_of_a_door_is_farthest_from_its_hinge_and_as_thick_as_the_door():
    asset, part = made("microwave")
    room = HandFit(asset, part, HAND, approach_m=0.06)
    edge, *others = free_edges(room)
    corners = Solids.from_urdf(asset.urdf_path).vertices(part.link)
    assert float((corners @ edge.out).max()) == pytest.approx(float(edge.point @ edge.out) + edge.depth_m, abs=2e-3)
    assert edge.thickness_m == pytest.approx(float(asset.parameters["door_thickness_m"]), abs=2e-3)
    assert edge.inner_m <= -edge.thickness_m / 2 + 1e-6
    joint = room.solids.model.joints[part.joint]
    assert abs(float(edge.along @ joint.axis)) == pytest.approx(1.0)
    assert [float(other.point @ edge.along) for other in others] != [float(edge.point @ edge.along)]


def test_a_closed_part_offers_its_handle_and_a_part_ajar_also_its_edge():
    asset, part = made("microwave")
    names = {s: [name for name, _ in derive_strategies("open", asset, part, HAND, (s, s))] for s in (0.0, 0.45)}
    assert not {"edge", "hook"} & set(names[0.0])
    assert names[0.45][0] == part.handle.type.value
    assert names[0.45][-2:] == ["edge", "hook"]


def test_a_hook_reaches_behind_the_inner_face_with_closed_fingers():
    asset, part = made("microwave")
    room = HandFit(asset, part, HAND, approach_m=0.06)
    edge = free_edges(room)[0]
    setting = edge_hook(asset, room, edge, (0.5, 0.5))
    assert setting is not None
    assert setting.approach_width_m == 0.0
    shifts = setting.keypoint_shifts
    point = part.keypoint(HEAD).xyz + shifts[HEAD]
    fingers, _ = HAND.boxes(0.0)
    behind = float((edge.point - point) @ edge.outward)
    assert behind >= -edge.inner_m + float(np.abs(fingers[:, :, 2]).max())
    tail = part.keypoint(TAIL).xyz + shifts[TAIL]
    assert float((tail - point) @ edge.out) == pytest.approx(0.05, abs=1e-4)
    back = setting.constraint_list[2]
    for lean in (-back.tolerance, back.tolerance):  # beside the edge that it reaches over, a leaning finger too
        at_edge = behind - edge.depth_m * np.tan(abs(lean)) - float(np.abs(fingers[:, :, 2]).max()) / np.cos(lean)
        assert at_edge > -edge.inner_m + 0.002
    assert edge_hook(asset, room, edge, (0.0, 0.0)) is None  # no room behind a closed door


@pytest.mark.parametrize("category", ["sliding_window", "toaster"])
def test_a_part_that_slides_sideways_or_down_has_no_upper_edge(category):
    asset, part = made(category)
    assert free_edges(HandFit(asset, part, HAND, approach_m=0.06)) == []
