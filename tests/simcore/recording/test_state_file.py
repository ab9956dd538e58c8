"""state.npz: the same bytes for the same arrays, read back to the last bit, and never half-read."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import state_file
from unlatch.simcore.recording.episode_reading import decode_npz, decode_state
from unlatch.simcore.recording.state_file import encode_npz, encode_state

KEYS = st.from_regex(r"[a-z0-9_-]{1,4}(\.[a-z0-9_-]{1,4}){0,2}", fullmatch=True)
DTYPES = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_])
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)))


@pytest.mark.slow
@pytest.mark.property
@pytest.mark.parametrize(("encode", "decode"), [(encode_npz, decode_npz), (encode_state, decode_state)])
@given(arrays=st.dictionaries(KEYS, ARRAYS, max_size=4))
def test_arrays_come_back_to_the_last_bit(encode, decode, arrays):
    back = decode(encode(arrays), where="state.npz")
    assert back.keys() == arrays.keys()
    for key, array in arrays.items():
        assert (back[key].dtype, back[key].shape) == (array.dtype, array.shape)
        assert back[key].tobytes() == array.tobytes()
        assert back[key].flags.c_contiguous
        assert back[key].flags.writeable


def test_the_same_arrays_give_the_same_bytes_whenever_and_in_whatever_order(monkeypatch):
    rng = np.random.default_rng(0)
    arrays = {f"robots.r{i}.q": rng.normal(size=(50, 7)) for i in range(5)}
    first = encode_npz(arrays)
    monkeypatch.setattr("time.localtime", lambda *_: (2031, 1, 2, 3, 4, 5, 0, 0, 0))
    shuffled = {key: np.asfortranarray(arrays[key]) for key in reversed(arrays)}
    assert encode_npz(shuffled) == first
    assert {info.date_time for info in zipfile.ZipFile(io.BytesIO(first)).infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_byte_order_of_the_machine_does_not_matter():
    array = np.arange(5.0)
    assert encode_npz({"a": array.astype(">f8")}) == encode_npz({"a": array})


def test_numpy_reads_the_file_too():
    arrays = {"objects.microwave.joint_positions": np.arange(6.0).reshape(3, 2), "time": np.arange(3.0)}
    with np.load(io.BytesIO(encode_npz(arrays)), allow_pickle=False) as loaded:
        assert set(loaded.files) == set(arrays)
        np.testing.assert_array_equal(loaded["objects.microwave.joint_positions"], arrays[loaded.files[0]])


@pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.array([1j]), np.array([b"x"])])
def test_only_booleans_and_real_numbers_are_stored(array):
    with pytest.raises(RecordingError, match=r"Array 'a' of type .* cannot be recorded"):
        encode_npz({"a": array})


@pytest.mark.parametrize("key", ["", "a/b", "../a", "a..b", ".a", "a b", "a\n"])
def test_a_key_that_could_be_a_path_is_refused(key):
    with pytest.raises(RecordingError, match="cannot be recorded"):
        encode_npz({key: np.zeros(1)})


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return encode_npz({"a.b": rng.normal(size=(40, 3)), "flag": np.ones(40, dtype=bool), "time": np.arange(40.0)})


def test_a_file_that_is_cut_anywhere_is_refused(data):
    for length in range(0, len(data), 7):
        with pytest.raises(RecordingError, match=r"'state\.npz' is damaged or not ours"):
            decode_npz(data[:length], where="state.npz")


def test_a_flipped_bit_gives_an_error_or_the_true_arrays(data):
    # some bytes of a zip mean nothing; the checksum in episode.json finds those too
    true = decode_npz(data, where="state.npz")
    refused = 0
    for position in range(0, len(data), 5):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        try:
            read = decode_npz(bytes(flipped), where="state.npz")
        except RecordingError:
            refused += 1
            continue
        assert sum(np.array_equal(read.get(key), true[key]) for key in true) >= len(true) - 1
    assert refused > 0.8 * len(range(0, len(data), 5))


def member(name, body):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, body)
    return out.getvalue()


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def test_a_pickle_inside_is_never_loaded():
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was executed",))

    body = npy(np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(RecordingError, match="a header that we never write"):
        decode_npz(member("a.npy", body), where="state.npz")


def test_a_header_that_claims_a_huge_shape_is_refused_before_memory_is_taken():
    body = npy(np.zeros(10)).replace(b"(10,), }" + b" " * 10, b"(100000000000,), }")
    with pytest.raises(RecordingError, match=r"'a' has shape \[100000000000\] but 80 bytes"):
        decode_npz(member("a.npy", body), where="state.npz")


@pytest.mark.parametrize("name", ["a.txt", "../a.npy", "/etc/a.npy", "a b.npy", ".npy"])
def test_a_member_that_we_would_not_write_is_refused(name):
    with pytest.raises(RecordingError, match="the member name"):
        decode_npz(member(name, npy(np.zeros(2))), where="state.npz")


def test_an_array_in_fortran_order_or_another_version_is_refused():
    with pytest.raises(RecordingError, match="a header that we never write"):
        decode_npz(member("a.npy", npy(np.asfortranarray(np.zeros((2, 3))))), where="x")
    with pytest.raises(RecordingError, match="a header that we never write"):
        decode_npz(member("a.npy", npy(np.zeros(2), version=(2, 0))), where="x")


def test_more_than_the_allowed_size_is_neither_written_nor_unpacked(monkeypatch):
    big = encode_npz({"a": np.zeros(1000)})
    monkeypatch.setattr(state_file, "MAX_STATE_BYTES", 4000)
    with pytest.raises(RecordingError, match="take 8000 bytes in 1 keys, expected at most 4000"):
        encode_npz({"a": np.zeros(1000)})
    with pytest.raises(RecordingError, match="more than 4000"):
        decode_npz(big, where="state.npz")


def test_more_than_the_allowed_number_of_arrays_is_refused(monkeypatch):
    many = encode_npz({f"a{i}": np.zeros(1) for i in range(5)})
    monkeypatch.setattr(state_file, "MAX_KEYS", 4)
    with pytest.raises(RecordingError, match="in 5 arrays"):
        decode_npz(many, where="state.npz")
