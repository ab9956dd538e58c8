"""The free edge of a part: where it is, and the ways to open an ajar part that use it."""

import numpy as np
import pytest

from tests.skills.builders import HAND, HEAD, TAIL, fit_of, part_of, place_of, strategies_of
from unlatch.simcore.meshes.solids import Solids
from unlatch.skills.strategies.free_edge import edge_hook, free_edges


@pytest.fixture
def oven():
    """A microwave, its door, and how a hand fits it."""
    made = part_of("microwave", instance=3)
    return *made, fit_of(made, 0.06)


def test_the_edge_of_a_door_is_farthest_from_its_hinge_and_as_thick_as_the_door(oven):
    asset, part, room = oven
    edge, *others = free_edges(room)
    corners = Solids.from_urdf(asset.urdf_path).vertices(part.link)
    assert float((corners @ edge.out).max()) == pytest.approx(float(edge.point @ edge.out) + edge.depth_m, abs=2e-3)
    assert edge.thickness_m == pytest.approx(float(asset.parameters["door_thickness_m"]), abs=2e-3)
    assert edge.inner_m <= -edge.thickness_m / 2 + 1e-6
    assert abs(float(edge.along @ room.solids.model.joints[part.joint].axis)) == pytest.approx(1.0)
    assert [float(other.point @ edge.along) for other in others] != [float(edge.point @ edge.along)]
    for category in ("sliding_window", "toaster"):  # what slides sideways or down has no upper edge
        assert free_edges(fit_of(part_of(category, instance=3), 0.06)) == []


def test_a_closed_part_offers_its_handle_and_a_part_ajar_also_its_edge(oven):
    asset, part, _ = oven
    closed, ajar = (list(strategies_of("open", (asset, part), (s, s))) for s in (0.0, 0.45))
    assert not {"edge", "hook"} & set(closed)
    assert (ajar[0], ajar[-2:]) == (part.handle.type.value, ["edge", "hook"])


def test_a_hook_reaches_behind_the_inner_face_with_closed_fingers(oven):
    asset, part, room = oven
    edge = free_edges(room)[0]
    setting = edge_hook(asset, room, edge, (0.5, 0.5))
    assert setting.approach_width_m == 0.0
    point, tail = (place_of(part, setting, name) for name in (HEAD, TAIL))
    half = float(np.abs(HAND.boxes(0.0)[0][:, :, 2]).max())
    behind = float((edge.point - point) @ edge.outward)
    assert behind >= -edge.inner_m + half
    assert float((tail - point) @ edge.out) == pytest.approx(0.05, abs=1e-4)
    lean = setting.constraint_list[2].tolerance  # beside the edge that it reaches over, a leaning finger too
    assert behind - edge.depth_m * np.tan(lean) - half / np.cos(lean) > -edge.inner_m + 0.002
    assert edge_hook(asset, room, edge, (0.0, 0.0)) is None  # no room behind a closed door
