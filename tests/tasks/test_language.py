"""Templates of instructions, filled in; and which of them is an episode's own."""

from collections import Counter

import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.rng import stream
from unlatch.tasks.language import (
    FIELDS,
    Manner,
    PartWords,
    fill_in,
    phrasing_draws,
    put_chosen_first,
    step_language,
    task_language,
)

MICROWAVE = PartWords("microwave", "door", "left-hinged", Manner.swing)


@pytest.fixture
def cabinet(tmp_path):
    """With three drawers."""
    cfg = ObjectCfg(name="a", category="drawer_cabinet", instance="2", cache_dir=str(tmp_path))
    return load_object(cfg, rng=stream(0, "layout"))


def test_fields_are_filled_in_and_unknown_ones_leave_no_gap():
    texts = ["open the {side} {part} of the {object}", " ".join(f"{{{name}}}" for name in sorted(FIELDS, reverse=True))]
    assert fill_in(texts, MICROWAVE) == ["open the left-hinged door of the microwave", "left-hinged door microwave"]
    plain = PartWords("microwave", "door", "", Manner.swing)
    assert fill_in(texts[:1], plain) == ["open the door of the microwave"]


def test_equal_phrasings_are_merged():
    plain = PartWords("oven", "door", "", Manner.swing)
    assert fill_in(["open the {side} {part}", "pull the {part}", "open the {part}"], plain) == [
        "open the door",
        "pull the door",
    ]


@pytest.mark.parametrize(
    ("object_word", "part_word", "said"),
    [
        ("door", "door", "open the door"),
        ("pot lid", "lid", "open the pot lid"),
        ("drawer", "upper drawer", "open the upper drawer"),
        ("pot", "lid", "open the lid of the pot"),
    ],
)
def test_no_noun_is_repeated(object_word, part_word, said):
    words = PartWords(object_word, part_word, "", Manner.swing)
    assert fill_in(["open the {part} of the {object}"], words) == [said]
    if " of " not in said:
        assert fill_in(["open the {object}'s {part}", "open the {object} {part}"], words) == [said]


def test_a_task_without_phrasings_gets_those_of_its_chain(cabinet):
    alone = task_language([], [("open", cabinet, "drawer_2")], 0.0)
    assert alone[0] == "open the middle drawer of the cabinet"
    assert len(alone) == 4
    chain = task_language([], [("open", cabinet, "drawer"), ("close", cabinet, "drawer")], 0.0)
    assert chain[0] == "open the top drawer of the cabinet, then close the top drawer of the cabinet"
    assert len(chain) == 4
    assert task_language(["do {part}"], [("open", cabinet, "drawer"), ("close", cabinet, "drawer")], 0.0) == [
        "do top drawer"
    ]


def test_a_step_without_phrasings_gets_those_of_its_skill(cabinet):
    assert step_language([], "close", cabinet, "drawer_3", 0.0)[0] == "push the bottom drawer in"
    assert step_language(["shut the {part}"], "close", cabinet, "drawer_3", 0.0) == ["shut the bottom drawer"]
    assert step_language([], "artpreplan", cabinet, "drawer", 0.0) == []
    assert step_language([], "pull_twice", cabinet, "drawer", 0.0) == ["pull twice the top drawer"]


@pytest.mark.parametrize(("draw", "first"), [(0.0, "a"), (0.34, "b"), (0.999999, "c")])
def test_the_drawn_phrasing_comes_first(draw, first):
    found = put_chosen_first(["a", "b", "c"], draw)
    assert found[0] == first
    assert sorted(found) == ["a", "b", "c"]
    assert put_chosen_first([], draw) == []


def test_draws_depend_on_the_seed_alone_and_are_uniform():
    assert phrasing_draws(7, 4)[:2] == phrasing_draws(7, 2)
    counts = Counter(put_chosen_first("abcd", phrasing_draws(seed, 1)[0])[0] for seed in range(2000))
    assert set(counts) == set("abcd")
    assert all(430 < count < 570 for count in counts.values())
