"""state.npz of an episode: arrays packed into one block of bytes for each type, and unpacked to the last bit."""

import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import pytest

import unlatch
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import state_file
from unlatch.simcore.recording.episode_reading import decode_npz, decode_state
from unlatch.simcore.recording.state_file import encode_npz, encode_state

ROOT = Path(__file__).parents[3]


def smooth_arrays():
    t = np.linspace(0.0, 3.0, 90)
    return {
        "robots.r.a.joint_positions": np.sin(t[:, None] + np.arange(7.0)),
        "robots.r.a.ee_position": np.cos(t[:, None] * np.arange(1.0, 4.0)).astype(np.float32),
        "skills.phase": np.repeat([1, 2, 3], 30),
        "validity.collision_valid": t < 2.0,
        "time": t,
    }


def test_the_same_arrays_give_the_same_bytes_in_whatever_order():
    arrays = smooth_arrays()
    shuffled = {key: np.asfortranarray(arrays[key]) for key in reversed(arrays)}
    assert encode_state(shuffled) == encode_state(arrays)
    swapped = {key: array.astype(array.dtype.newbyteorder(">")) for key, array in arrays.items()}
    assert encode_state(swapped) == encode_state(arrays)


def test_packed_arrays_of_a_smooth_motion_take_less_space_than_plain_ones():
    assert len(encode_state(smooth_arrays())) < len(encode_npz(smooth_arrays()))


def readers():
    page = (ROOT / "docs" / "record_format.md").read_text(encoding="utf-8")
    (code,) = (block.split("```")[0] for block in page.split("```python\n")[1:])
    names = {}
    exec(code, names)
    spec = importlib.util.spec_from_file_location("record_arrays", ROOT / "tests" / "peers" / "record_arrays.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"page": names["read_arrays"], "peers": module.read_arrays, "unlatch": unlatch.read_arrays}


def encode_as_version_3(arrays):
    members = decode_npz(encode_state(arrays), where="state.npz")
    return encode_npz({name.removesuffix("_delta_bytes"): member for name, member in members.items()}, level=6)


ENCODERS = {2: encode_npz, 3: encode_as_version_3, 4: encode_state}


def test_no_member_of_encoded_bytes_has_the_name_of_a_type():
    with np.load(io.BytesIO(encode_state(smooth_arrays()))) as file:
        names = {"bool", "float32", "float64", "int64"}
        assert set(file) == {"layout", *(f"{name}_delta_bytes" for name in names)}


@pytest.mark.parametrize("version", ENCODERS)
@pytest.mark.parametrize("reader", ["page", "peers", "unlatch"])
def test_the_published_reader_gives_the_same_arrays(reader, version, tmp_path):
    arrays = smooth_arrays()
    (tmp_path / "state.npz").write_bytes(ENCODERS[version](arrays))
    found = readers()[reader](tmp_path / "state.npz")
    assert found.keys() == arrays.keys()
    for key, array in arrays.items():
        assert (found[key].dtype, found[key].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[key], array)


@pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.array([1j]), np.array([b"x"])])
def test_only_booleans_and_real_numbers_are_stored(array):
    with pytest.raises(RecordingError, match=r"Array 'a' of type .* cannot be recorded"):
        encode_state({"a": array})


def test_a_key_that_could_be_a_path_is_refused():
    with pytest.raises(RecordingError, match="cannot be recorded"):
        encode_state({"../a": np.zeros(1)})


def test_a_file_that_is_cut_anywhere_is_refused():
    data = encode_state(smooth_arrays())
    for length in range(0, len(data), 7):
        with pytest.raises(RecordingError, match=r"'state\.npz' is damaged or not ours"):
            decode_state(data[:length], where="state.npz")


PLANES = np.zeros((8, 6), dtype=np.uint8)


def packed(layout, **members):
    text = layout if isinstance(layout, bytes) else json.dumps(layout).encode()
    return encode_npz({"layout": np.frombuffer(text, dtype=np.uint8), **members})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (encode_npz({"float64": PLANES}), "it has no member 'layout'"),
        (packed(b"{"), "the member 'layout'"),
        (packed(b"\xff"), "the member 'layout'"),
        (packed([1]), "the member 'layout'"),
        (packed({"a": 3}), "the member 'layout'"),
        (packed({"a": [["float64"], [6]]}, float64=PLANES), "the member 'layout'"),
        (packed({"a": ["float64", 3]}), "the member 'layout'"),
        (packed({"../a": ["float64", [6]]}, float64=PLANES), r"'\.\./a' of shape \[6\]"),
        (packed({"a": ["float64", [-6]]}, float64=PLANES), r"'a' of shape \[-6\]"),
        (packed({"a": ["float64", [6.0]]}, float64=PLANES), r"'a' of shape \[6\.0\]"),
        (packed({"a": ["float64", [7]]}, float64=PLANES), r"'a' has shape \[7\] but too few values of type float64"),
        (packed({"a": ["float64", [10**6]]}, float64=PLANES), "too few values of type float64"),
        (packed({"a": ["float64", [10**30, 0]]}, float64=PLANES), "the member 'layout'"),
        (packed({"a": ["float64", [1] * 9]}, float64=PLANES), "the member 'layout'"),
        (packed({"a": ["float64", ""]}, float64=PLANES), "the member 'layout'"),
        (packed({"a": ["float64", {}]}, float64=PLANES), "the member 'layout'"),
        (packed({"a": ["float32", [6]]}, float64=PLANES), "too few values of type float32"),
        (packed({"a": ["float64", [5]]}, float64=PLANES), "it has more values than its arrays"),
        (packed({"a": ["object", [6]]}, object=PLANES), "the member 'object'"),
        (packed({"a": ["float32", [6]]}, float32=PLANES), "the member 'float32'"),
        (packed({"a": ["float64", [6]]}, float64=PLANES[:, :, None]), "the member 'float64'"),
        (packed({"a": ["float64", [6]]}, float64=PLANES.astype(float)), "the member 'float64'"),
        (packed({"a": ["float64", [6]]}, float64=PLANES, float64_delta_bytes=PLANES), "it has two members of one type"),
        (packed({"a": ["float64", [6]]}, float64_delta_bytes_delta_bytes=PLANES), "the member 'float64_delta_bytes_"),
    ],
)
def test_a_file_that_we_would_not_write_is_refused(data, problem):
    with pytest.raises(RecordingError, match=problem):
        decode_state(data, where="state.npz")


def test_more_than_the_allowed_number_of_arrays_is_neither_written_nor_read(monkeypatch):
    arrays = {f"a{i}": np.zeros(1) for i in range(5)}
    many = encode_state(arrays)
    monkeypatch.setattr(state_file, "MAX_KEYS", 4)
    with pytest.raises(RecordingError, match="has 5 arrays, expected at most 4"):
        encode_state(arrays)
    with pytest.raises(RecordingError, match="5 arrays, more than 4"):
        decode_state(many, where="state.npz")
