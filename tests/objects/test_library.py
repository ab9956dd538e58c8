"""The one door to all objects."""

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import ConfigError


def _load(cache_dir, *, seed=0, **values):
    cfg = ObjectCfg(**{"name": "oven", "category": "microwave", "cache_dir": cache_dir, **values})
    return load_object(cfg, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("category", GENERATORS.own_names())
def test_the_same_seed_gives_the_same_bytes(tmp_path, category):
    made = [
        load_object(
            ObjectCfg(name="o", category=category, instance="42", cache_dir=str(tmp_path / name)),
            rng=np.random.default_rng(n),
        )
        for n, name in enumerate(("a", "b"))
    ]
    assert made[0].content_hash == made[1].content_hash
    for file in ("object.urdf", "articulation.yaml"):
        assert (made[0].urdf_path.parent / file).read_bytes() == (made[1].urdf_path.parent / file).read_bytes()
    assert made[0].parameters == made[1].parameters


def test_without_an_instance_each_draw_is_another_object_that_its_seed_repeats(cache_dir):
    rng = np.random.default_rng(3)
    drawn = [load_object(ObjectCfg(name="o", category="drawer", cache_dir=cache_dir), rng=rng) for _ in range(4)]
    assert len({asset.content_hash for asset in drawn}) == 4
    again = load_object(
        ObjectCfg(name="o", category="drawer", instance=drawn[2].instance, cache_dir=cache_dir), rng=rng
    )
    assert again.content_hash == drawn[2].content_hash


def test_every_configuration_draws_exactly_one_number(cache_dir):
    after = []
    for instance in (None, "7"):
        rng = np.random.default_rng(5)
        load_object(ObjectCfg(name="o", category="microwave", instance=instance, cache_dir=cache_dir), rng=rng)
        after.append(rng.integers(2**31))
    assert after[0] == after[1]


def test_an_asset_has_its_category_source_and_instance(cache_dir):
    asset = load_object(
        ObjectCfg(name="oven", category="microwave", instance="1", cache_dir=cache_dir), rng=np.random.default_rng(0)
    )
    assert (asset.name, asset.category, asset.instance, asset.source) == ("oven", "microwave", "1", "procedural")
    assert asset.urdf_path.is_file()
    assert set(asset.friction) == set(asset.damping) == {"door_hinge"}
    assert asset.bounds_obj.shape == (2, 3)
    assert asset.bounds_obj[0, 2] == pytest.approx(0.0)
    assert "oven: microwave procedural/1" in repr(asset)
    assert asset.parameters["hinge_side"] in ("left", "right")


def test_categories_without_a_generator_name_the_known_ones(cache_dir):
    with pytest.raises(ConfigError) as caught:
        _load(cache_dir, category="microwav")
    assert str(caught.value) == (
        "object.category='microwav' is not a category of source=procedural. Did you mean 'microwave'? "
        "`unlatch list objects` lists all. Name one of them."
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"instance": "7310b"},
            "object.instance='7310b' is not a seed of a procedural object. Expected a whole number.",
        ),
        ({"scale": 0.0}, "object.scale=0 is out of range. Expected 0.001 to 100."),
        (
            {"scale": 2.0},
            "object.scale=2.0 has no meaning for source=procedural. Remove it, or set object.source=partnet_mobility.",
        ),
        (
            {"root": "/data"},
            "object.root=/data has no meaning for source=procedural. Remove it, or set object.source=partnet_mobility.",
        ),
    ],
)
def test_wrong_values_are_named_with_their_key(values, message):
    with pytest.raises(ConfigError) as caught:
        ObjectCfg(name="o", category="microwave", **values)
    assert str(caught.value) == message
