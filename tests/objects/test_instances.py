"""Which instance an episode gets: a function of the configuration, a draw and the number."""

import numpy as np
import pytest

from unlatch.objects.config import SEEDS, InstanceChoice, ObjectCfg, ObjectSource, Split, split_of
from unlatch.objects.library import chooses_instance, load_object, split_record
from unlatch.simcore.errors import ConfigError


@pytest.fixture
def make(cache_dir):
    return lambda **values: ObjectCfg(**{"name": "o", "category": "carton", "cache_dir": cache_dir, **values})


def instance(cfg, *, seed=0, number=0):
    return load_object(cfg, rng=np.random.default_rng(seed), number=number).instance


def test_without_a_choice_the_draw_is_the_seed(make):
    draw = int(np.random.default_rng(5).integers(2**31))
    assert instance(make(), seed=5) == instance(make(), seed=5, number=7) == str(draw)


def test_round_robin_goes_by_the_number_alone(make):
    cfg = make(instances="round_robin", instance_count=3)
    assert [instance(cfg, seed=seed, number=seed) for seed in range(7)] == ["0", "1", "2", "0", "1", "2", "0"]


@pytest.mark.slow
def test_a_list_is_drawn_from_at_random_and_each_is_met(make):
    cfg = make(instances=[4, "17", 300])
    assert {instance(cfg, seed=seed) for seed in range(30)} == {"4", "17", "300"}
    assert instance(cfg, seed=3) == instance(cfg, seed=3, number=9)


@pytest.mark.slow
def test_instance_count_uses_the_first_seeds(make):
    assert {int(instance(make(instance_count=4), seed=seed)) for seed in range(40)} == {0, 1, 2, 3}


@pytest.mark.parametrize("values", [{}, {"instance_count": 5}, {"instances": [1, 2]}, {"split": "train"}])
def test_every_way_of_choosing_draws_exactly_one_number(make, values):
    values = {**values, **({"split": Split.train} if "split" in values else {})}
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


def test_a_larger_share_holds_out_what_a_smaller_one_does():
    for seed in range(500):
        if split_of(str(seed), held_out=0.1) is Split.held_out:
            assert split_of(str(seed), held_out=0.4) is Split.held_out


def test_the_search_for_a_seed_of_the_split_ends_below_the_limit():
    choice = InstanceChoice(split=Split.held_out, held_out=0.01)
    found = choice.choose(None, draw=SEEDS - 1, number=0)
    assert found is not None
    assert int(found) < SEEDS


def test_the_record_states_the_split_if_there_is_one(make):
    assert split_record(make(), "3") == {}
    assert split_record(make(split=Split.train), "3") == {"split": split_of("3", held_out=0.2).value}


def test_a_named_instance_is_not_drawn(make):
    assert chooses_instance(make())
    assert not chooses_instance(make(instance="3"))
    named = make(instances="round_robin", instance_count=3, split=Split.train).with_instance("9")
    assert (named.instance, instance(named)) == ("9", "9")


@pytest.mark.parametrize(
    ("values", "key", "message"),
    [
        ({"instances": "robin"}, "object.instances", "object.instances=robin is not a choice. Expected random, "),
        ({"instances": []}, "object.instances", "is not a choice"),
        ({"instances": [True]}, "object.instances", "is not a choice"),
        ({"instances": [1, "1"]}, "object.instances", "holds '1' twice"),
        ({"instances": [1, "b7"]}, "object.instances[1]", "object.instances[1]='b7' is not a seed"),
        ({"instances": "round_robin"}, "object.instance_count", "object.instance_count is missing"),
        ({"instance_count": 0}, "object.instance_count", "object.instance_count=0 is out of range"),
        ({"instance_count": 3, "instances": [1]}, "object.instance_count", "no meaning if object.instances is a list"),
        ({"held_out": 1.0}, "object.held_out", "object.held_out=1 is out of range"),
        ({"instance": "3", "split": Split.train}, "object.split", "object.split=train chooses among instances"),
        ({"instance": "3", "instances": [3]}, "object.instances", "object.instance=3 names one"),
        (
            {"source": ObjectSource.partnet_mobility, "instance_count": 3},
            "object.instance_count",
            "has no meaning for source=partnet_mobility",
        ),
    ],
)
def test_a_contradiction_is_refused_with_its_key(make, values, key, message):
    with pytest.raises(ConfigError) as caught:
        make(**values)
    assert message in caught.value.message
    assert caught.value.values["key"] == key


def test_a_split_that_leaves_nothing_is_refused(make):
    train = next(str(seed) for seed in range(20) if split_of(str(seed), held_out=0.2) is Split.train)
    with pytest.raises(ConfigError, match=r"object\.split=held_out leaves none of 1 instances") as caught:
        instance(make(instances=[train], split=Split.held_out))
    assert caught.value.values["key"] == "object.split"


def test_an_unknown_id_is_refused():
    with pytest.raises(ConfigError, match=r"object\.instances: '7' does not exist\. Known: 8, 9\."):
        InstanceChoice(named=("8", "7")).pool(["8", "9"])
