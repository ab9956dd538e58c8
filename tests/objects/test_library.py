"""The one door to all objects: which one an episode gets depends on the configuration, a draw and a number."""

import re

import numpy as np
import pytest

from unlatch.objects.config import SEEDS, InstanceChoice, ObjectCfg, Split, split_of
from unlatch.objects.library import chooses_instance, load_object, split_record
from unlatch.objects.procedural import catalog
from unlatch.simcore.errors import ConfigError


@pytest.fixture
def make(cache_dir):
    return lambda **values: ObjectCfg(**{"name": "o", "category": "carton", "cache_dir": cache_dir, **values})


def load(cfg, *, seed=0, number=0):
    return load_object(cfg, rng=np.random.default_rng(seed), number=number)


def instance(cfg, **more):
    return load(cfg, **more).instance


def test_the_same_seed_gives_the_same_bytes(make, tmp_path):
    first, second = (
        load(make(category="microwave", instance="42", cache_dir=str(tmp_path / name)), seed=n)
        for n, name in enumerate("ab")
    )
    assert (first.content_hash, first.parameters) == (second.content_hash, second.parameters)
    for file in ("object.urdf", "articulation.yaml"):
        assert (first.urdf_path.parent / file).read_bytes() == (second.urdf_path.parent / file).read_bytes()


def test_without_an_instance_each_draw_is_another_object_that_its_seed_repeats(make):
    rng = np.random.default_rng(3)
    drawn = [load_object(make(category="drawer"), rng=rng) for _ in range(4)]
    assert len({asset.content_hash for asset in drawn}) == 4
    again = load(make(category="drawer", instance=drawn[2].instance))
    assert again.content_hash == drawn[2].content_hash
    draw = int(np.random.default_rng(5).integers(2**31))
    assert instance(make(), seed=5) == instance(make(), seed=5, number=7) == str(draw)


def test_categories_without_a_generator_name_the_known_ones(make):
    with pytest.raises(ConfigError) as caught:
        load(make(category="microwav"))
    assert str(caught.value) == (
        "object.category='microwav' is not a category of source=procedural. Did you mean 'microwave'? "
        "`unlatch list objects` lists all. Name one of them."
    )


def test_round_robin_goes_by_the_number_alone(make):
    cfg = make(instances="round_robin", instance_count=3)
    assert [instance(cfg, seed=seed, number=seed) for seed in range(7)] == ["0", "1", "2", "0", "1", "2", "0"]


@pytest.mark.slow
def test_a_list_or_the_first_seeds_are_drawn_from_at_random_and_each_is_met(make):
    cfg = make(instances=[4, "17", 300])
    assert {instance(cfg, seed=seed) for seed in range(15)} == {"4", "17", "300"}
    assert instance(cfg, seed=3) == instance(cfg, seed=3, number=9)
    assert {int(instance(make(instance_count=4), seed=seed)) for seed in range(20)} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "values", [{}, {"instance": "7"}, {"instance_count": 5}, {"instances": [1, 2]}, {"split": Split.train}]
)
def test_every_way_of_choosing_draws_exactly_one_number(make, values):
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    load_object(make(**values), rng=rng)
    other.integers(2**31)
    assert rng.integers(2**31) == other.integers(2**31)


@pytest.mark.parametrize("values", [{}, {"instance_count": 60}, {"instances": list(range(100, 160))}])
def test_no_instance_is_in_both_splits_and_the_share_is_kept(make, values):
    met = {}
    for split in (Split.train, Split.held_out):
        choice = make(split=split, held_out=0.3, **values).choice
        met[split] = {choice.choose(None, draw=97 * k + 5, number=k) for k in range(300)}
    assert met[Split.train].isdisjoint(met[Split.held_out])
    assert all(split_of(str(item), held_out=0.3) is split for split, items in met.items() for item in items)
    held = [split_of(str(seed), held_out=0.3) is Split.held_out for seed in range(2000)]
    assert np.mean(held) == pytest.approx(0.3, abs=0.03)


def test_a_larger_share_holds_out_what_a_smaller_one_does_and_the_search_for_a_seed_ends_below_the_limit():
    few = [seed for seed in range(500) if split_of(str(seed), held_out=0.1) is Split.held_out]
    assert few
    assert all(split_of(str(seed), held_out=0.4) is Split.held_out for seed in few)
    choice = InstanceChoice(split=Split.held_out, held_out=0.01)
    assert int(choice.choose(None, draw=SEEDS - 1, number=0)) < SEEDS


def test_the_record_states_the_split_if_there_is_one_and_a_named_instance_is_not_drawn(make):
    assert split_record(make(), "3") == {}
    assert split_record(make(split=Split.train), "3") == {"split": split_of("3", held_out=0.2).value}
    assert (chooses_instance(make()), chooses_instance(make(instance="3"))) == (True, False)
    named = make(instances="round_robin", instance_count=3, split=Split.train).with_instance("9")
    assert (named.instance, instance(named)) == ("9", "9")


REMEDY = "has no meaning for source=procedural. Remove it, or set object.source=partnet_mobility."


@pytest.mark.parametrize(
    ("values", "key", "message"),
    [
        ({"instances": "robin"}, "instances", "object.instances=robin is not a choice. Expected random, "),
        ({"instances": [1, "1"]}, "instances", "holds '1' twice"),
        ({"instances": [1, "b7"]}, "instances[1]", "object.instances[1]='b7' is not a seed"),
        ({"instances": "round_robin"}, "instance_count", "object.instance_count is missing"),
        ({"instance_count": 0}, "instance_count", "object.instance_count=0 is out of range"),
        ({"instance_count": 3, "instances": [1]}, "instance_count", "no meaning if object.instances is a list"),
        ({"held_out": 1.0}, "held_out", "object.held_out=1 is out of range"),
        ({"instance": "3", "split": Split.train}, "split", "object.split=train chooses among instances"),
        ({"instance": "3", "instances": [3]}, "instances", "object.instance=3 names one"),
        ({"scale": 2.0}, "scale", f"object.scale=2.0 {REMEDY}"),
        ({"root": "/data"}, "root", f"object.root=/data {REMEDY}"),
    ],
)
def test_wrong_values_and_contradictions_are_refused_with_their_key(make, values, key, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        make(**values)
    assert caught.value.values["key"] == f"object.{key}"


def test_a_choice_that_leaves_nothing_and_an_unknown_id_are_refused(make):
    train = next(str(seed) for seed in range(20) if split_of(str(seed), held_out=0.2) is Split.train)
    with pytest.raises(ConfigError, match=r"object\.split=held_out leaves none of 1 instances") as caught:
        instance(make(instances=[train], split=Split.held_out))
    assert caught.value.values["key"] == "object.split"
    with pytest.raises(ConfigError, match=r"object\.instances: '7' does not exist\. Known: 8, 9\."):
        InstanceChoice(named=("8", "7")).pool(["8", "9"])


def cabinet(seed=0, **keys):
    return load(ObjectCfg(name="cabinet", category="cabinet", **keys), seed=seed)


@pytest.mark.slow
def test_only_instances_whose_parameters_are_as_wanted_take_part():
    where = {"doors": 1, "shelves": [0, 2], "width_m": {"min": 0.36, "max": 0.42}, "handle_kind": "bar"}
    found = [cabinet(seed, where=where).parameters for seed in range(4)]
    assert all(p["doors"] == 1 and p["shelves"] in (0, 2) and p["handle_kind"] == "bar" for p in found)
    assert all(0.36 <= p["width_m"] <= 0.42 for p in found)
    assert len({p["width_m"] for p in found}) == 4


def test_a_matching_seed_is_returned_unchanged_and_a_named_instance_ignores_the_filter():
    free, named = cabinet(5).parameters, cabinet(instance="3").parameters
    doors, wrong = int(free["doors"]), {"doors": 3 - int(named["doors"])}
    assert cabinet(5, where={"doors": doors}).parameters == free
    assert cabinet(5, where={"doors": 3 - doors}).parameters != free
    assert cabinet(instance="3", where=wrong).parameters == cabinet(instances=["3"], where=wrong).parameters == named


def test_a_matching_seed_is_of_the_split():
    asset = cabinet(0, where={"doors": 1}, split=Split.held_out)
    assert split_of(asset.instance, held_out=0.2) is Split.held_out
    assert asset.parameters["doors"] == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"where": {"dors": 1}}, r"object\.where\.dors is not a parameter of 'cabinet'\. Did you mean 'doors'"),
        ({"where": {"doors": 5}}, r"leaves none of 40 objects of 'cabinet'\. They had doors 1, 2\. Loosen it"),
        ({"where": {"width_m": {"min": 1}}}, r"They had width_m from 0\.\d+ to 0\.\d+\. Loosen it"),
        ({"where": {"width_m": {"least": 1}}}, r"object\.where\.width_m=.* is not a range"),
        ({"where": {"width_m": {"min": 2, "max": 1}}}, r"min <= max"),
        ({"where": {"doors": 1}, "instance_count": 5}, r"object\.instance_count=5 draws none"),
    ],
)
def test_a_wrong_filter_is_refused(keys, message, monkeypatch):
    monkeypatch.setattr(catalog, "MOST_TRIES", 40)
    with pytest.raises(ConfigError, match=message):
        cabinet(**keys)


def test_an_asset_has_its_category_source_and_instance(make):
    asset = load(make(name="oven", category="microwave", instance="1"))
    assert (asset.name, asset.category, asset.instance, asset.source) == ("oven", "microwave", "1", "procedural")
    assert asset.urdf_path.is_file()
    assert set(asset.friction) == set(asset.damping) == {"door_hinge"}
    assert asset.bounds_obj.shape == (2, 3)
    assert asset.bounds_obj[0, 2] == pytest.approx(0.0)
    assert "oven: microwave procedural/1" in repr(asset)
    assert asset.parameters["hinge_side"] in ("left", "right")
