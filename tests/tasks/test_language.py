"""Words for parts, which tell similar ones apart by their places, and templates of instructions filled in with them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.objects.builders import generated
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import AssetError
from unlatch.tasks.language import (
    FIELDS,
    Manner,
    PartWords,
    _place_words,
    fill_in,
    part_words,
    phrasing_draws,
    put_chosen_first,
    step_language,
    task_language,
)

MICROWAVE = PartWords("microwave", "door", "left-hinged", Manner.swing)


@pytest.fixture(scope="module")
def cabinet():
    """With three drawers."""
    return generated("drawer_cabinet", 2)


def test_fields_are_filled_in_unknown_ones_leave_no_gap_and_equal_phrasings_are_merged():
    texts = ["open the {side} {part} of the {object}", " ".join(f"{{{name}}}" for name in sorted(FIELDS, reverse=True))]
    assert fill_in(texts, MICROWAVE) == ["open the left-hinged door of the microwave", "left-hinged door microwave"]
    plain = PartWords("microwave", "door", "", Manner.swing)
    assert fill_in(texts[:1], plain) == ["open the door of the microwave"]
    merged = fill_in(["open the {side} {part}", "pull the {part}", "open the {part}"], plain)
    assert merged == ["open the door", "pull the door"]


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


def test_an_object_of_unknown_category_is_called_by_its_word(cabinet):
    foreign = cabinet.changed(category="object")
    for part in ("drawer", None):
        assert part_words(foreign, part).object == "object"
        assert part_words(foreign.changed(word="refrigerator"), part).object == "refrigerator"


def test_a_task_without_phrasings_gets_those_of_its_chain(cabinet):
    steps = [("open", cabinet, "drawer"), ("close", cabinet, "drawer")]
    alone, chain = task_language([], [("open", cabinet, "drawer_2")], 0.0), task_language([], steps, 0.0)
    assert alone[0] == "open the middle drawer of the cabinet"
    assert chain[0] == "open the top drawer of the cabinet, then close the top drawer of the cabinet"
    assert len(alone) == len(chain) == 4
    assert task_language(["do {part}"], steps, 0.0) == ["do top drawer"]


def test_a_step_without_phrasings_gets_those_of_its_skill(cabinet):
    assert step_language([], "close", cabinet, "drawer_3", 0.0)[0] == "push the bottom drawer in"
    assert step_language(["shut the {part}"], "close", cabinet, "drawer_3", 0.0) == ["shut the bottom drawer"]
    assert step_language([], "artpreplan", cabinet, "drawer", 0.0) == []
    assert step_language([], "pull_twice", cabinet, "drawer", 0.0) == ["pull twice the top drawer"]


@pytest.mark.parametrize(("draw", "first"), [(0.0, "a"), (0.34, "b"), (0.999999, "c")])
def test_the_drawn_phrasing_comes_first(draw, first):
    found = put_chosen_first(["a", "b", "c"], draw)
    assert (found[0], sorted(found)) == (first, ["a", "b", "c"])
    assert put_chosen_first([], draw) == []


def test_draws_depend_on_the_seed_alone_and_are_uniform():
    assert phrasing_draws(7, 4)[:2] == phrasing_draws(7, 2)
    counts = Counter(put_chosen_first("abcd", phrasing_draws(seed, 1)[0])[0] for seed in range(2000))
    assert set(counts) == set("abcd")
    assert all(430 < count < 570 for count in counts.values())


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[0, 0, 0.5], [0, 0, 0.1]], ["upper", "lower"]),
        ([[0, 0, 0.1], [0, 0, 0.5], [0, 0, 0.3]], ["bottom", "top", "middle"]),
        ([[0, 0, 0.1 * k] for k in range(5)], ["bottom", "fourth", "third", "second", "top"]),
        ([[0, 0.3, 0], [0, -0.3, 0]], ["right", "left"]),
        ([[0, 0.1 * k, 0] for k in range(4)], ["leftmost", "second", "third", "rightmost"]),
        ([[0.2, 0, 0], [-0.2, 0, 0]], ["front", "rear"]),
        (
            [[0, 0.2, 0.4], [0, -0.2, 0.4], [0, 0.2, 0.1], [0, -0.2, 0.1]],
            ["upper right", "upper left", "lower right", "lower left"],
        ),
        ([[0, 0.2, 0.4], [0, -0.2, 0.4], [0, 0.0, 0.1]], ["right", "left", "middle"]),
        ([[0, 0, 0], [0, 0, 0.01]], ["first", "second"]),
    ],
)
def test_parts_are_named_by_their_places_as_seen_from_in_front_of_the_object(points, words):
    assert _place_words(np.array(points, dtype=float)) == words


def words_of(category, seed):
    asset = generated(category, seed)
    return asset, {name: part_words(asset, name) for name in asset.articulation.parts}


@pytest.mark.parametrize("category", GENERATORS.own_names())
def test_parts_of_generated_objects_are_told_apart(category):
    for seed in range(3):
        found = words_of(category, seed)[1].values()
        assert len({words.part for words in found}) == len(found)
        for words in found:
            assert not any(character.isdigit() or character == "_" for character in words.part + words.object)
            assert not words.part.startswith(("first ", "second of"))


@pytest.mark.parametrize("category", ["cabinet", "microwave"])
def test_the_side_is_where_the_generator_put_the_hinge(category):
    sides, pairs = set(), set()
    for seed in range(20):
        asset, words = words_of(category, seed)
        doors = [each for name, each in words.items() if name.startswith("door")]
        if len(doors) == 1:
            assert doors[0].side == f"{asset.parameters['hinge_side']}-hinged"
            sides.add(doors[0].side)
        else:
            assert {door.side for door in doors} == {""}
            pairs.add(tuple(door.part for door in doors))
    assert len(sides) == 2
    if category == "cabinet":  # two doors that meet in the middle
        assert pairs == {("right door", "left door")}


@pytest.mark.parametrize(
    ("category", "part", "manner", "noun"),
    [
        ("drawer_cabinet", "drawer", Manner.pull, "drawer"),
        ("toaster", "slider", Manner.rise, "lever"),
        ("sliding_window", "slider", Manner.slide, "sash"),
        ("safe", "knob", Manner.turn, "dial"),
        ("hand_wheel", "knob", Manner.turn, "wheel"),
        ("door", "lever", Manner.lever, "lever"),
        ("pot", "lid", Manner.lift, "lid"),
        ("oven", "door", Manner.swing, "door"),
    ],
)
def test_manner_and_noun(category, part, manner, noun):
    words = words_of(category, 1)[1][part]
    assert (words.manner, words.part.split()[-1]) == (manner, noun)


@pytest.mark.parametrize(
    ("name", "category", "part_said", "object_said"),
    [
        ("link_3", "microwave", "door", "microwave"),
        ("upper_door", "StorageFurniture", "upper door", "storage furniture"),
        ("Door12", "my_fridge-2", "door", "my fridge 2"),
        ("joint0", "_", "door", "object"),
    ],
)
def test_names_of_foreign_parts_become_words(name, category, part_said, object_said):
    asset = generated("microwave", 1)
    parts = {name: replace(asset.articulation.part("door"), name=name)}
    foreign = replace(asset, articulation=replace(asset.articulation, parts=parts), category=category)
    words = part_words(foreign, name)
    assert (words.part, words.object) == (part_said, object_said)
    with pytest.raises(AssetError, match="dor"):
        part_words(asset, "dor")
