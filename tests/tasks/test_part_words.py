"""Words for parts: similar parts are told apart by their places, as seen from in front of the object."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import AssetError
from unlatch.simcore.rng import stream
from unlatch.tasks.language import Manner, _place_words, part_words

SEEDS = range(6)


def load(category, seed, folder):
    return load_object(
        ObjectCfg(name="a", category=category, instance=str(seed), cache_dir=str(folder)), rng=stream(0, "layout")
    )


def renamed(asset, names, *, category=None):
    """The object with parts of other names."""
    parts = {names.get(n, n): replace(p, name=names.get(n, n)) for n, p in asset.articulation.parts.items()}
    articulation = replace(asset.articulation, parts=parts)
    return replace(asset, articulation=articulation, category=category or asset.category)


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
def test_parts_are_named_by_their_places(points, words):
    assert _place_words(np.array(points, dtype=float)) == words


@pytest.mark.parametrize("category", GENERATORS.own_names())
def test_parts_of_generated_objects_are_told_apart(category, tmp_path):
    for seed in SEEDS:
        asset = load(category, seed, tmp_path)
        found = [part_words(asset, name) for name in asset.articulation.parts]
        called = [words.part for words in found]
        assert len(set(called)) == len(called)
        for words in found:
            assert not any(character.isdigit() or character == "_" for character in words.part + words.object)
            assert not words.part.startswith(("first ", "second of"))


@pytest.mark.parametrize("category", ["cabinet", "door", "microwave", "refrigerator", "safe"])
def test_the_side_is_where_the_generator_put_the_hinge(category, tmp_path):
    sides = set()
    for seed in range(20):
        asset = load(category, seed, tmp_path)
        doors = [part_words(asset, name) for name in asset.articulation.parts if name.startswith("door")]
        if len(doors) == 1:
            assert doors[0].side == f"{asset.parameters['hinge_side']}-hinged"
            sides.add(doors[0].side)
        else:
            assert {words.side for words in doors} == {""}
    assert len(sides) == 2


def test_two_doors_that_meet_in_the_middle_are_left_and_right(tmp_path):
    found = set()
    for seed in range(12):
        asset = load("cabinet", seed, tmp_path)
        if len(asset.articulation.parts) == 2:
            found.add(tuple(part_words(asset, name).part for name in asset.articulation.parts))
    assert found == {("right door", "left door")}


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
def test_manner_and_noun(category, part, manner, noun, tmp_path):
    words = part_words(load(category, 1, tmp_path), part)
    assert words.manner is manner
    assert words.part.split()[-1] == noun


@pytest.mark.parametrize(
    ("name", "category", "part_said", "object_said"),
    [
        ("link_3", "microwave", "door", "microwave"),
        ("upper_door", "StorageFurniture", "upper door", "storage furniture"),
        ("Door12", "my_fridge-2", "door", "my fridge 2"),
        ("joint0", "_", "door", "object"),
    ],
)
def test_names_of_foreign_parts_become_words(name, category, part_said, object_said, tmp_path):
    asset = renamed(load("microwave", 1, tmp_path), {"door": name}, category=category)
    words = part_words(asset, name)
    assert (words.part, words.object) == (part_said, object_said)


def test_an_unknown_part_is_named(tmp_path):
    with pytest.raises(AssetError, match="dor"):
        part_words(load("microwave", 1, tmp_path), "dor")
