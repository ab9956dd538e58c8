"""Regions are found where things can be put, from the colliders alone."""

import numpy as np
import pytest

from unlatch.objects.annotation_entries import RegionKind, RegionOpening
from unlatch.objects.annotation_reader import articulation_from_dict
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.solids import Solids


@pytest.mark.parametrize(
    ("category", "region", "opening", "part"),
    [
        ("drawer", "drawer", RegionOpening.above, "drawer"),
        ("microwave", "inside", RegionOpening.front, "door"),
        ("refrigerator", "inside", RegionOpening.front, "door"),
        ("dishwasher", "inside", RegionOpening.front, "door"),
        ("box", "inside", RegionOpening.above, "lid"),
        ("trash_can", "inside", RegionOpening.above, "lid"),
    ],
)
def test_the_space_of_a_container_is_free_and_names_its_part(category, region, opening, part):
    for seed in range(2):
        asset = load_instance(ObjectCfg(name=category, category=category, instance=str(seed)))
        found = asset.region(region)
        assert (found.kind, found.opening) == (RegionKind.inside, opening), seed
        assert found.part is not None
        assert found.part.startswith(part)
        half, height = 0.5 * found.size - 0.006, float(found.size[2])
        box = np.array([[[-half[0], -half[1], 0.006], [half[0], half[1], height - 0.006]]])
        positions = asset.articulation.closed_positions()
        T_root_region = asset.model.link_pose(found.link, positions) @ found.T_link_region
        others = {
            joint: asset.articulation.parts[found.part].openness.open
            for joint in [asset.articulation.parts[found.part].joint]
            if found.link != asset.articulation.parts[found.part].link
        }
        solids = Solids(asset.model)
        assert not solids.meets(box, T_root_region, {**positions, **others}, only=found.link), seed
        floor = box.copy()
        floor[0, :, 2] = (-0.004, 0.004)
        assert solids.meets(floor, T_root_region, positions, only=found.link), "nothing carries what stands there"


def test_the_top_of_a_cabinet_is_a_surface_under_the_open_sky():
    asset = load_instance(ObjectCfg(name="drawer", category="drawer", instance="0"))
    top = asset.region("top")
    assert (top.kind, top.part) == (RegionKind.surface, None)
    assert top.T_link_region.p[2] == pytest.approx(asset.bounds_obj[1, 2], abs=1e-3)


def test_a_stated_region_is_read_back_and_takes_the_place_of_found_ones():
    asset = load_instance(ObjectCfg(name="drawer", category="drawer", instance="0"))
    stated = asset.articulation.to_dict() | {"regions": {"tray": asset.region("drawer").to_dict()}}
    again = articulation_from_dict(stated, where="a.yaml")
    assert again.regions is not None
    assert list(again.regions) == ["tray"]
    np.testing.assert_allclose(again.regions["tray"].size, asset.region("drawer").size, atol=1e-9)
    assert again.to_dict()["regions"] == stated["regions"]


def test_a_region_without_height_is_refused():
    asset = load_instance(ObjectCfg(name="drawer", category="drawer", instance="0"))
    region = asset.region("drawer").to_dict() | {"size": [0.1, 0.1, 0.0]}
    with pytest.raises(
        AssetError, match=r"regions\.tray\.size is \[0\.1, 0\.1, 0\.0\], expected three extents above 0"
    ):
        articulation_from_dict(asset.articulation.to_dict() | {"regions": {"tray": region}}, where="a.yaml")
