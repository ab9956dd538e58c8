"""Plain values become dataclasses, or one line that says which key is wrong and how."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.configs.dataclass_reader import prefix_error_keys, read_dataclass, to_values
from unlatch.simcore.errors import ConfigError


class Kind(Enum):
    round = "round"
    square = "square"


@dataclass
class Leaf:
    size_m: float = 0.1
    kind: Kind = Kind.round

    def __post_init__(self):
        if self.size_m < 0:
            raise ConfigError(f"leaf.size_m={self.size_m} is out of range. Expected at least 0.", key="leaf.size_m")


@dataclass
class Tree:
    name: str = "???"
    leaf: Leaf = field(default_factory=Leaf)
    leaves: list[Leaf] = field(default_factory=list)
    weights: dict[str, list[float]] = field(default_factory=dict)
    age: int | None = None
    alive: bool = True
    anything: Any = None
    span_m: list[float] = field(default_factory=lambda: [0.0, 0.5])


FULL = {
    "name": 7304,
    "leaf": {"size_m": 1, "kind": "square"},
    "leaves": [{}, {"size_m": 2.5}],
    "weights": {"a": [1, 2.0]},
    "age": None,
    "alive": False,
    "anything": {"x": [1]},
}


def test_values_arrive_with_their_types():
    tree = read_dataclass(Tree, FULL, where="")
    assert tree.name == "7304"
    assert tree.leaf == Leaf(1.0, Kind.square)
    assert isinstance(tree.leaf.size_m, float)
    assert tree.leaves == [Leaf(), Leaf(2.5)]
    assert tree.weights == {"a": [1.0, 2.0]}
    assert (tree.age, tree.alive, tree.anything) == (None, False, {"x": [1]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nam": 1}, "nam is unknown. Did you mean 'name'? `--help` lists all. Remove or rename it."),
        ({"xyzq": 1}, "xyzq is unknown. Keys there: name, leaf, leaves, weights, age, alive, anything, span_m. "),
        ({"span_m": 0.9}, "span_m=0.9 has the wrong type. Expected a list of 2 numbers. Write span_m=[0.9,0.9]."),
        ({"span_m": True}, "span_m=true has the wrong type. Expected a list. Change it."),
        ({"leaf": 3}, "leaf=3 has the wrong type. Expected a mapping. Change it."),
        ({"leaves": {}}, "leaves=a mapping has the wrong type. Expected a list. Change it."),
        ({"leaves": [{}, {"size_m": "big"}]}, "leaves[1].size_m='big' has the wrong type. Expected a number. Change"),
        ({"leaves": [{"sizem": 1}]}, "leaves[0].sizem is unknown. Did you mean 'size_m'?"),
        ({"leaf": {"kind": "rond"}}, "leaf.kind='rond' is unknown. Did you mean 'round'? Expected one of round,"),
        ({"leaf": {"size_m": True}}, "leaf.size_m=true has the wrong type. Expected a number."),
        ({"leaf": {"size_m": float("inf")}}, "leaf.size_m=inf is out of range. Expected a finite number."),
        ({"leaf": {"size_m": -1}}, "leaf.size_m=-1.0 is out of range. Expected at least 0."),
        ({"leaves": [{"size_m": -1}]}, "leaves[0].size_m=-1.0 is out of range. Expected at least 0."),
        ({"weights": {"a": [1, "x"]}}, "weights.a[1]='x' has the wrong type. Expected a number."),
        ({"age": 1.5}, "age=1.5 has the wrong type. Expected a whole number or null. Change it."),
        ({"alive": 2}, "alive=2 has the wrong type. Expected true or false."),
        ({"alive": None}, "alive=null has the wrong type. Expected true or false."),
        ({"name": "???"}, "name is missing. Expected a text. Give it in the YAML or as name=... on the command line."),
    ],
)
def test_a_mistake_names_its_key(change, message):
    with pytest.raises(ConfigError) as caught:
        read_dataclass(Tree, {**FULL, **change}, where="")
    assert caught.value.message.startswith(message)


def test_every_key_begins_with_the_key_of_the_root():
    with pytest.raises(ConfigError, match=r"^skills\[2\]\.leaf\.kind=3 is unknown"):
        read_dataclass(Tree, {**FULL, "leaf": {"kind": 3}}, where="skills[2]")


def test_plain_values_are_read_as_the_same_dataclass():
    tree = read_dataclass(Tree, FULL, where="")
    assert to_values(tree)["leaf"] == {"size_m": 1.0, "kind": "square"}
    assert to_values(Tree())["name"] == "???"
    assert read_dataclass(Tree, to_values(tree), where="") == tree


@pytest.mark.parametrize(("written", "meant"), [("yes", True), ("On", True), (1, True), ("0", False), ("no", False)])
def test_true_and_false_may_be_written_as_other_words(written, meant):
    assert read_dataclass(Tree, {**FULL, "alive": written}, where="").alive is meant


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@pytest.mark.property
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FULL, plain_values)))
def test_any_value_is_read_or_refused_with_an_error_of_ours(raw):
    try:
        tree = read_dataclass(Tree, raw, where="")
    except ConfigError:
        return
    assert isinstance(tree.leaf.size_m, float)
    assert isinstance(tree.name, str)


KEYS = ("cameras", "modalities", "renderer")


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("cameras[0].widht is unknown. Keys there: width.", "cameras[0].widht"),
        ("cameras=[] is empty. Expected at least one camera. Name one.", "cameras"),
        ("cameras[1]: no such file.", "cameras[1]"),
    ],
)
def test_errors_name_keys_of_a_part_of_a_configuration_by_their_full_key(message, key):
    placed = prefix_error_keys("images", ConfigError(message, key=key), keys=KEYS)
    assert (placed.message, placed.values["key"]) == (f"images.{message}", f"images.{key}")
    words = "task.cameras[0] of my.renderer: the cameras see nothing, file mine/cameras.yaml."
    assert prefix_error_keys("images", ConfigError(words), keys=KEYS).message == words
