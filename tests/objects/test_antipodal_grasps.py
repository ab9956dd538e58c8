"""Antipodal pairs lie on opposite sides of the object, and two fingers can span them."""

import numpy as np
import pytest

from tests.objects.builders import generated
from unlatch.objects.antipodal_grasps import antipodal_pairs
from unlatch.simcore.meshes.solids import Solids

WIDTH_M = 0.074


@pytest.mark.parametrize("category", ["apple", "bowl", "can", "mug", "spoon"])
def test_there_is_material_between_the_spots_and_none_beyond(category):
    asset = generated(category, 1)
    solids = Solids.from_urdf(asset.urdf_path).of_link(asset.model.root)

    def is_inside(point):
        return any(bool((solid.normals @ point <= solid.offsets + 1e-9).all()) for solid in solids)

    pairs = antipodal_pairs(asset, max_width_m=WIDTH_M)
    assert len(pairs) >= 3
    for pair in pairs:
        assert pair.width_m <= WIDTH_M
        for sign in (1.0, -1.0):
            end = pair.middle + sign * 0.5 * pair.width_m * pair.axis
            assert is_inside(end - sign * 5e-4 * pair.axis)
            assert not is_inside(end + sign * 1e-3 * pair.axis)


def test_a_wide_object_has_no_pair_across_it():
    assert not antipodal_pairs(generated("can"), max_width_m=0.04)


@pytest.mark.parametrize("category", ["cup", "mug"])
def test_a_hollow_object_is_also_held_around_its_outside(category):
    asset = generated(category)
    low, high = asset.bounds_obj
    around = [pair for pair in antipodal_pairs(asset, max_width_m=WIDTH_M) if pair.width_m > 0.5 * (high - low)[1]]
    assert len(around) >= 10
    heights = [float(pair.middle[2]) for pair in around]
    assert min(heights) < 0.4 * high[2], "there is no pair on the lower half, where only the outside can be held"
    # fingers on both sides of an inclined wall close along a level line
    assert category == "mug" or all(abs(pair.axis[2]) < 0.1 for pair in around)


def test_less_of_the_pads_is_covered_at_an_edge():
    pairs = antipodal_pairs(generated("spoon"), max_width_m=WIDTH_M)
    across = [pair for pair in pairs if pair.width_m > 0.03]  # the bowl
    places = np.array([pair.middle[0] for pair in across])
    middle, edge = (np.argmin(np.abs(places - x)) for x in (0.5 * (places.min() + places.max()), places.min()))
    assert across[middle].covered > across[edge].covered
