"""Objects of another size: all lengths follow, and forces as the weight does."""

import numpy as np
import pytest

from unlatch.objects import ObjectCfg, load_object
from unlatch.objects.friction import joint_problems
from unlatch.objects.validation import check_articulation


def load(category: str, size: float | None):
    cfg = ObjectCfg(name="thing", category=category, instance="3", size=size)
    return load_object(cfg, rng=np.random.default_rng(0))


@pytest.mark.parametrize("category", ["drawer", "microwave"])
def test_lengths_of_an_object_are_multiplied_and_forces_with_the_third_power(category):
    whole, half = load(category, None), load(category, 0.5)
    check_articulation(half)
    assert list(joint_problems(half)) == []
    np.testing.assert_allclose(half.bounds_obj, 0.5 * whole.bounds_obj)
    assert half.mass_kg == pytest.approx(whole.mass_kg / 8.0, rel=1e-4)
    assert half.content_hash != whole.content_hash
    for name, part in whole.articulation.parts.items():
        small = half.articulation.parts[name]
        slides = part.kind.value == "slider"
        assert small.openness.span == pytest.approx(part.openness.span * (0.5 if slides else 1.0))
        assert half.friction[part.joint] == pytest.approx(whole.friction[part.joint] / (8.0 if slides else 16.0))
        assert small.peak_opening_force_n == pytest.approx(part.peak_opening_force_n / 8.0, rel=1e-6)
        head = "articulated_object_head"
        np.testing.assert_allclose(small.keypoint(head).xyz, 0.5 * part.keypoint(head).xyz)
        T, T_small = (each.model.link_pose(part.link, {part.joint: 0.0}) for each in (whole, half))
        np.testing.assert_allclose(T_small.p, 0.5 * T.p, atol=1e-6)


def test_an_object_of_its_own_size_is_unchanged():
    assert load("drawer", 1.0).content_hash == load("drawer", None).content_hash


def test_the_pictures_of_a_small_object_are_small():
    whole, half = load("drawer", None), load("drawer", 0.5)
    assert whole.write_textured is not None
    assert half.write_textured is not None
    from unlatch.simcore.meshes.shape_surface import shape_mesh
    from unlatch.simcore.urdf.reader import read_urdf

    for asset, drawn in ((whole, whole.write_textured()), (half, half.write_textured())):
        model = read_urdf(drawn)
        points = [s.T_link_shape @ shape_mesh(s).vertices for s in model.links[model.root].visuals]
        extent = np.ptp(np.concatenate(points), axis=0)
        np.testing.assert_allclose(extent[1], asset.size_m[1], rtol=0.05)
