"""Plain JSON: what goes in comes back, nothing is executed, and differences are complete."""

import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.json_values import decode_json_object, differences, encode_sealed, open_sealed, plain

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=6).filter(lambda key: key != "sha256"), PLAIN, max_size=4)


@pytest.mark.slow
@pytest.mark.property
@given(content=OBJECTS)
def test_plain_values_come_back_to_the_last_bit(content):
    data = encode_sealed(content)
    assert open_sealed(decode_json_object(data, where="x.json"), where="x.json") == content
    assert data == encode_sealed(dict(reversed(content.items())))


@pytest.mark.property
@given(content=OBJECTS.filter(bool), data=st.data())
def test_a_changed_value_breaks_the_seal(content, data):
    read = decode_json_object(encode_sealed(content), where="x.json")
    key = data.draw(st.sampled_from(sorted(content)))
    read[key] = "changed" if content[key] != "changed" else "changed again"
    with pytest.raises(RecordingError, match=r"'x\.json' was changed since it was written"):
        open_sealed(read, where="x.json")


class Colour(Enum):
    red = "r"


@dataclass
class Setting:
    tolerance_m: float
    colour: Colour


def test_our_types_have_a_plain_form():
    value = {
        "array": np.arange(4).reshape(2, 2),
        "scalar": np.float32(0.5),
        "flag": np.bool_(True),
        "count": np.int8(3),
        "setting": Setting(0.1, Colour.red),
        "path": Path("a/b"),
        "pose": Pose.identity(),
        "tuple": (1, 2.0),
        "set": {"b", "a"},
        3: None,
        Colour.red: 1,
    }
    assert plain(value) == {
        "array": [[0, 1], [2, 3]],
        "scalar": 0.5,
        "flag": True,
        "count": 3,
        "setting": {"tolerance_m": 0.1, "colour": "r"},
        "path": "a/b",
        "pose": {"p": [0.0, 0.0, 0.0], "quat_xyzw": [0.0, 0.0, 0.0, 1.0]},
        "tuple": [1, 2.0],
        "set": ["a", "b"],
        "3": None,
        "r": 1,
    }


def test_numbers_that_are_not_finite_become_words():
    assert plain([math.nan, math.inf, -math.inf, np.array([np.nan])]) == ["nan", "inf", "-inf", ["nan"]]


@pytest.mark.parametrize("value", [object(), b"bytes", 1j, Setting])
def test_what_has_no_plain_form_is_refused_with_its_key(value):
    with pytest.raises(RecordingError, match=r"'layout\.a\[1\]' holds a \w+, which has no JSON form") as e:
        plain({"a": [0, value]}, where="layout")
    assert e.value.key == "layout.a[1]"


def test_keys_that_are_no_text_are_refused():
    with pytest.raises(RecordingError, match=r"'layout' has the key \(1, 2\) of type tuple"):
        plain({(1, 2): 0}, where="layout")


def test_undecodable_text_does_not_lose_the_episode():
    content = {"traceback": "file '\udce4.py'"}
    assert decode_json_object(encode_sealed(content), where="x")["traceback"] == content["traceback"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"a": NaN}', b'{"a": Infinity}', b"\xff\xfe", b"[" * 100_000],
    ids=["empty", "cut", "nan", "infinity", "not utf-8", "deep"],
)
def test_what_is_not_json_is_refused(data):
    with pytest.raises(RecordingError, match=r"File 'x\.json' is not valid JSON"):
        decode_json_object(data, where="x.json")


def test_json_that_is_no_map_is_refused():
    with pytest.raises(RecordingError, match="holds a list, expected a JSON map"):
        decode_json_object(b"[1]", where="x.json")


def test_differences_name_every_key_with_both_values():
    old = {"seed": 7, "task": {"name": "open", "range": [0, 1]}, "gone": None, "same": 1, "list": [1, 2]}
    new = {"seed": 8, "task": {"name": "open", "range": [0, 2]}, "new": "x", "same": 1.0, "list": [1, 2, 3]}
    assert list(differences(old, new)) == [
        ("gone", "null", "absent"),
        ("list", "[1, 2]", "[1, 2, 3]"),
        ("new", "absent", '"x"'),
        ("seed", "7", "8"),
        ("task.range[1]", "1", "2"),
    ]


def test_a_flag_and_a_number_differ():
    assert list(differences({"a": True}, {"a": 1})) == [("a", "true", "1")]


@pytest.mark.property
@given(content=OBJECTS)
def test_a_value_does_not_differ_from_itself(content):
    assert list(differences(content, content)) == []
