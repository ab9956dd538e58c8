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
def test_plain_values_come_back_to_the_last_bit_and_do_not_differ_from_themselves(content):
    data = encode_sealed(content)
    assert open_sealed(decode_json_object(data, where="x.json"), where="x.json") == content
    assert data == encode_sealed(dict(reversed(content.items())))
    assert list(differences(content, content)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("seed", 8), ("seed", 7.5), ("task", {"name": "open", "range": [0, 1]}), ("flag", None), ("t", "")],
)
def test_a_changed_value_breaks_the_seal(key, value):
    content = {"seed": 7, "task": {"name": "open", "range": [0, 2]}, "flag": False, "t": "a"}
    read = decode_json_object(encode_sealed(content), where="x.json")
    assert open_sealed(dict(read), where="x.json") == content
    read[key] = value
    with pytest.raises(RecordingError, match=r"'x\.json' was changed since it was written"):
        open_sealed(read, where="x.json")


class Colour(Enum):
    red = "r"


@dataclass
class Setting:
    tolerance_m: float
    colour: Colour


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (Setting(0.1, Colour.red), {"tolerance_m": 0.1, "colour": "r"}),
        (Path("a/b"), "a/b"),
        (Pose.identity(), {"p": [0.0, 0.0, 0.0], "quat_xyzw": [0.0, 0.0, 0.0, 1.0]}),
        ({"b", "a"}, ["a", "b"]),
        ({3: None, Colour.red: 1}, {"3": None, "r": 1}),
        ([math.nan, math.inf, -math.inf, np.array([np.nan])], ["nan", "inf", "-inf", ["nan"]]),
    ],
)
def test_our_types_have_a_plain_form_and_numbers_that_are_not_finite_become_words(value, expected):
    assert plain({"a": value}) == {"a": expected}


@pytest.mark.parametrize("value", [object(), b"bytes", 1j, Setting])
def test_what_has_no_plain_form_is_refused_with_its_key(value):
    with pytest.raises(RecordingError, match=r"'layout\.a\[1\]' holds a \w+, which has no JSON form") as e:
        plain({"a": [0, value]}, where="layout")
    assert e.value.key == "layout.a[1]"


def test_keys_that_are_no_text_are_refused():
    with pytest.raises(RecordingError, match=r"'layout' has the key \(1, 2\) of type tuple"):
        plain({(1, 2): 0}, where="layout")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        *((data, r"File 'x\.json' is not valid JSON") for data in (b"", b"{", b'{"a": NaN}', b'{"a": Infinity}')),
        *((data, r"File 'x\.json' is not valid JSON") for data in (b"\xff\xfe", b"[" * 100_000)),
        (b"[1]", "holds a list, expected a JSON map"),
    ],
    ids=["empty", "cut", "nan", "infinity", "not utf-8", "deep", "list"],
)
def test_what_is_no_map_of_json_is_refused(data, message):
    with pytest.raises(RecordingError, match=message):
        decode_json_object(data, where="x.json")


def test_lists_of_other_lengths_differ_by_the_names_of_their_entries():
    lists = (
        [{"long": 90 * "x", "name": name} for name in names] for names in (["wrist"], ["wrist_left", "wrist_right"])
    )
    assert list(differences(*lists, key="sensors")) == [
        ("sensors[].name", '["wrist"]', '["wrist_left", "wrist_right"]')
    ]


def test_long_values_differ_by_what_is_about_their_first_difference():
    ((key, old, new),) = differences({"text": 200 * "x" + "old"}, {"text": 200 * "x" + "new"})
    assert (key, old, new) == ("text", f'...{30 * "x"}old"', f'...{30 * "x"}new"')
    assert [key for key, _, _ in differences({"nan": float("nan")}, {"nan": float("nan")})] == ["nan"]


def test_differences_name_every_key_with_both_values():
    old = {"seed": 7, "task": {"name": "open", "range": [0, 1]}, "gone": None, "same": 1, "list": [1, 2], "flag": True}
    new = {"seed": 8, "task": {"name": "open", "range": [0, 2]}, "new": "x", "same": 1.0, "list": [1, 2, 3], "flag": 1}
    assert list(differences(old, new)) == [
        ("flag", "true", "1"),
        ("gone", "null", "absent"),
        ("list", "[1, 2]", "[1, 2, 3]"),
        ("new", "absent", '"x"'),
        ("seed", "7", "8"),
        ("task.range[1]", "1", "2"),
    ]
