"""`object.where`: only instances whose parameters are as wanted take part."""

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg, Split
from unlatch.objects.library import load_object
from unlatch.simcore.errors import ConfigError


def parameters(seed, **keys):
    cfg = ObjectCfg(name="cabinet", category="cabinet", **keys)
    return dict(load_object(cfg, rng=np.random.default_rng(seed)).parameters)


@pytest.mark.slow
def test_a_value_a_list_and_a_range():
    where = {"doors": 1, "shelves": [0, 2], "width_m": {"min": 0.36, "max": 0.42}, "handle_kind": "bar"}
    found = [parameters(seed, where=where) for seed in range(8)]
    assert all(p["doors"] == 1 and p["shelves"] in (0, 2) and p["handle_kind"] == "bar" for p in found)
    assert all(0.36 <= p["width_m"] <= 0.42 for p in found)
    assert len({p["width_m"] for p in found}) == 8
    assert {p["shelves"] for p in found} == {0, 2}


def test_a_matching_seed_is_returned_unchanged():
    free = parameters(5)
    assert parameters(5, where={"doors": int(free["doors"])}) == free
    assert parameters(5, where={"doors": 3 - int(free["doors"])}) != free


def test_a_named_instance_ignores_the_filter():
    wrong = {"doors": 3 - int(parameters(0, instance="3")["doors"])}
    assert parameters(0, instance="3", where=wrong) == parameters(0, instance="3")
    assert parameters(0, instances=["3"], where=wrong) == parameters(0, instance="3")


def test_a_matching_seed_is_of_the_split():
    from unlatch.objects.config import split_of

    cfg = ObjectCfg(name="cabinet", category="cabinet", where={"doors": 1}, split=Split.held_out)
    for seed in range(4):
        asset = load_object(cfg, rng=np.random.default_rng(seed))
        assert split_of(asset.instance, held_out=cfg.held_out) is Split.held_out
        assert asset.parameters["doors"] == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"where": {"dors": 1}}, r"object\.where\.dors is not a parameter of 'cabinet'\. Did you mean 'doors'"),
        pytest.param(
            {"where": {"doors": 5}},
            r"leaves none of 1000 objects of 'cabinet'\. They had doors 1, 2\. Loosen it",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"where": {"width_m": {"min": 1}}},
            r"They had width_m from 0\.3\d* to 0\.\d+\. Loosen it",
            marks=pytest.mark.slow,
        ),
        ({"where": {"width_m": {"least": 1}}}, r"object\.where\.width_m=.* is not a range"),
        ({"where": {"width_m": {"min": 2, "max": 1}}}, r"min <= max"),
        ({"where": {"width_m": None}}, r"is not a choice"),
        (
            {"where": {"doors": 1}, "instances": "round_robin", "instance_count": 4},
            r"object\.instances=round_robin draws none",
        ),
        ({"where": {"doors": 1}, "instance_count": 5}, r"object\.instance_count=5 draws none"),
        ({"where": [1]}, r"is not a mapping"),
    ],
)
def test_a_wrong_filter_is_refused(keys, message):
    with pytest.raises(ConfigError, match=message):
        parameters(0, **keys)
