"""state.npz: recorded row by row, the same bytes for the same arrays, read to the last bit, and never half-read."""

import importlib.util
import io
import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import unlatch
from tests.simcore.recording.builders import make_record
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import data_set as data_set_module
from unlatch.simcore.recording import episode, episode_reading, state_file
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, FORMAT_VERSION, STATE_FILE
from unlatch.simcore.recording.episode_reading import decode_npz, decode_state
from unlatch.simcore.recording.state_file import EpisodeRecorder, encode_npz, encode_state

ROOT = Path(__file__).parents[3]
KEYS = st.from_regex(r"[a-z0-9_-]{1,4}(\.[a-z0-9_-]{1,4}){0,2}", fullmatch=True)
DTYPES = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_])
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)))


def encode_as_version_3(arrays):
    members = decode_npz(encode_state(arrays), where=STATE_FILE)
    return encode_npz({name.removesuffix("_delta_bytes"): member for name, member in members.items()}, level=6)


ENCODERS = {2: encode_npz, 3: encode_as_version_3, 4: encode_state}
BOTH = pytest.mark.parametrize(
    ("encode", "decode"), [(encode_npz, decode_npz), (encode_state, decode_state)], ids=["plain", "packed"]
)


def smooth_arrays():
    t = np.linspace(0.0, 3.0, 90)
    return {
        "robots.r.a.joint_positions": np.sin(t[:, None] + np.arange(7.0)),
        "robots.r.a.ee_position": np.cos(t[:, None] * np.arange(1.0, 4.0)).astype(np.float32),
        "skills.phase": np.repeat([1, 2, 3], 30),
        "validity.collision_valid": t < 2.0,
        "time": t,
    }


def assert_equal(found, arrays):
    assert found.keys() == arrays.keys()
    for key, array in arrays.items():
        assert (found[key].dtype, found[key].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[key], array)


class TestWrite:
    @pytest.mark.slow
    @pytest.mark.property
    @BOTH
    @given(arrays=st.dictionaries(KEYS, ARRAYS, max_size=4))
    def test_arrays_come_back_to_the_last_bit(self, encode, decode, arrays):
        back = decode(encode(arrays), where="state.npz")
        assert back.keys() == arrays.keys()
        for key, array in arrays.items():
            assert (back[key].dtype, back[key].shape) == (array.dtype, array.shape)
            assert back[key].tobytes() == array.tobytes()
            assert back[key].flags.c_contiguous
            assert back[key].flags.writeable

    @BOTH
    def test_the_same_arrays_give_the_same_bytes_whenever_and_in_whatever_order(self, monkeypatch, encode, decode):
        arrays = smooth_arrays()
        first = encode(arrays)
        monkeypatch.setattr("time.localtime", lambda *_: (2031, 1, 2, 3, 4, 5, 0, 0, 0))
        assert encode({key: np.asfortranarray(arrays[key]) for key in reversed(arrays)}) == first
        assert encode({key: array.astype(array.dtype.newbyteorder(">")) for key, array in arrays.items()}) == first
        assert {info.date_time for info in zipfile.ZipFile(io.BytesIO(first)).infolist()} == {(1980, 1, 1, 0, 0, 0)}

    @BOTH
    @pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.array([1j])])
    def test_only_booleans_and_real_numbers_are_stored(self, encode, decode, array):
        with pytest.raises(RecordingError, match=r"Array 'a' of type .* cannot be recorded"):
            encode({"a": array})

    def test_more_than_is_allowed_is_neither_written_nor_read(self, monkeypatch):
        large, many = {"a": np.zeros(1000)}, dict.fromkeys("abcde", np.zeros(1))
        plain, files = encode_npz(large), [(encode_npz(many), decode_npz), (encode_state(many), decode_state)]
        for module in (state_file, episode_reading):
            monkeypatch.setattr(module, "MAX_STATE_BYTES", 4000)
            monkeypatch.setattr(module, "MAX_KEYS", 4)
        with pytest.raises(RecordingError, match="take 8000 bytes in 1 keys, expected at most 4000"):
            encode_npz(large)
        with pytest.raises(RecordingError, match="more than 4000"):
            decode_npz(plain, where="state.npz")
        for encode, said in ((encode_npz, "in 5 keys"), (encode_state, "has 5 arrays, expected at most 4")):
            with pytest.raises(RecordingError, match=said):
                encode(many)
        for data, decode in files:
            with pytest.raises(RecordingError, match="5 arrays"):
                decode(data, where="state.npz")


def member(name, body):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, body)
    return out.getvalue()


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def packed(layout, **members):
    text = layout if isinstance(layout, bytes) else json.dumps(layout).encode()
    return encode_npz({"layout": np.frombuffer(text, dtype=np.uint8), **members})


PLANES = np.zeros((8, 6), dtype=np.uint8)
OURS = np.zeros(2)


class TestDamage:
    @BOTH
    def test_a_file_that_is_cut_anywhere_is_refused(self, encode, decode):
        data = encode(smooth_arrays())
        for length in range(0, len(data), 7):
            with pytest.raises(RecordingError, match=r"'state\.npz' is damaged or not ours"):
                decode(data[:length], where="state.npz")

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            # a pickle is never loaded
            (member("a.npy", npy(np.array([Bomb()], dtype=object), allow_pickle=True)), "a header that we never write"),
            # before memory is taken
            (
                member("a.npy", npy(np.zeros(10)).replace(b"(10,), }" + b" " * 10, b"(100000000000,), }")),
                r"'a' has shape \[100000000000\] but 80 bytes",
            ),
            *(
                (member(name, npy(OURS)), "the member name")
                for name in ("a.txt", "../a.npy", "/a.npy", "a b.npy", ".npy")
            ),
            (member("a.npy", npy(np.asfortranarray(np.zeros((2, 3))))), "a header that we never write"),
            (member("a.npy", npy(OURS, version=(2, 0))), "a header that we never write"),
        ],
    )
    def test_a_plain_file_that_we_would_not_write_is_refused(self, data, problem):
        with pytest.raises(RecordingError, match=problem):
            decode_npz(data, where="state.npz")

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (packed(b"{"), "the member 'layout'"),
            (packed([1]), "the member 'layout'"),
            (packed({"a": ["float64", 3]}), "the member 'layout'"),
            (packed({"a": ["float64", [-6]]}, float64=PLANES), r"'a' of shape \[-6\]"),
            (
                packed({"a": ["float64", [7]]}, float64=PLANES),
                r"'a' has shape \[7\] but too few values of type float64",
            ),
            (packed({"a": ["float64", [10**30, 0]]}, float64=PLANES), "the member 'layout'"),
            (packed({"a": ["float64", {}]}, float64=PLANES), "the member 'layout'"),
            (packed({"a": ["float32", [6]]}, float64=PLANES), "too few values of type float32"),
            (packed({"a": ["float64", [5]]}, float64=PLANES), "it has more values than its arrays"),
            (packed({"a": ["object", [6]]}, object=PLANES), "the member 'object'"),
            (packed({"a": ["float32", [6]]}, float32=PLANES), "the member 'float32'"),
            (packed({"a": ["float64", [6]]}, float64=PLANES.astype(float)), "the member 'float64'"),
            (packed({"a": ["float64", [6]]}, float64=PLANES, float64_delta_bytes=PLANES), "two members of one type"),
            (packed({"a": ["float64", [6]]}, float64_delta_bytes_delta_bytes=PLANES), "the member 'float64_delta_byte"),
        ],
    )
    def test_a_packed_file_that_we_would_not_write_is_refused(self, data, problem):
        with pytest.raises(RecordingError, match=problem):
            decode_state(data, where="state.npz")


@pytest.fixture
def folder(tmp_path):
    """The folder of episode 3 of a data set."""
    with DataSet.create_or_resume(tmp_path / "data", header={}) as data_set:
        data_set.write(make_record(3))
        return data_set.folder_of(3)


class TestRead:
    @staticmethod
    def readers():
        page = (ROOT / "docs" / "record_format.md").read_text(encoding="utf-8")
        (code,) = (block.split("```")[0] for block in page.split("```python\n")[1:])
        names = {}
        exec(code, names)
        spec = importlib.util.spec_from_file_location("record_arrays", ROOT / "tests" / "peers" / "record_arrays.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return {"page": names["read_arrays"], "peers": module.read_arrays, "unlatch": unlatch.read_arrays}

    @pytest.mark.parametrize("version", ENCODERS)
    @pytest.mark.parametrize("reader", ["page", "peers", "unlatch"])
    def test_the_published_readers_give_the_same_arrays(self, reader, version, tmp_path):
        (tmp_path / "state.npz").write_bytes(ENCODERS[version](smooth_arrays()))
        assert_equal(self.readers()[reader](tmp_path / "state.npz"), smooth_arrays())

    @pytest.mark.parametrize("version", [2, 3])
    def test_a_data_set_of_an_earlier_version_is_read_and_continued(self, version, tmp_path, monkeypatch):
        record = make_record(3)
        with monkeypatch.context() as patch:
            patch.setattr(episode, "FORMAT_VERSION", version)
            patch.setattr(data_set_module, "encode_state", ENCODERS[version])
            with DataSet.create_or_resume(tmp_path / "data", header={}) as earlier:
                earlier.write(record)
        with DataSet.create_or_resume(tmp_path / "data", header={}) as data_set:
            data_set.write(replace(record, number=4))
            for number in (3, 4):
                assert_equal(data_set[number].arrays, record.arrays)
                assert_equal(unlatch.read_arrays(data_set.folder_of(number)), record.arrays)
            texts = [path.read_text() for path in (data_set.path / "dataset.json", *data_set.path.rglob(EPISODE_FILE))]
        stated = sorted(re.search(r'"format_version": (\d+)', text)[1] for text in texts)
        assert stated == [str(version), str(version), str(FORMAT_VERSION)]

    def test_a_changed_file_in_the_folder_of_an_episode_is_refused(self, folder):
        arrays = make_record(3).arrays
        (folder / STATE_FILE).write_bytes(encode_state({**arrays, "time": arrays["time"] + 1.0}))
        with pytest.raises(RecordingError, match="is damaged: its SHA-256 is"):
            unlatch.read_arrays(folder)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("absent", "absent' does not exist. Expected a state.npz, or the folder of an episode"),
            ("data", "data' has no episode.json. Expected a state.npz, or the folder of an episode"),
            ("data/dataset.json", "dataset.json' is not an .npz file. Expected a state.npz"),
            ("foreign.npz", "foreign.npz' has the array 'weights', which no episode has. Expected a state.npz"),
            ("cut.npz", "cut.npz' is damaged or not ours: "),
            ("a\0b", "does not exist"),
        ],
    )
    def test_a_wrong_path_is_named_with_what_is_expected(self, name, message, folder, tmp_path):
        np.savez(tmp_path / "foreign.npz", weights=np.zeros(3))
        shutil.copy(folder / STATE_FILE, tmp_path / "cut.npz")
        (tmp_path / "cut.npz").write_bytes((folder / STATE_FILE).read_bytes()[:-30])
        with pytest.raises(RecordingError, match=re.escape(message)):
            unlatch.read_arrays(tmp_path / name)

    @pytest.mark.parametrize("read", [unlatch.read_arrays, unlatch.open_dataset])
    @pytest.mark.parametrize("path", [None, 3])
    def test_a_value_that_is_no_path_is_refused(self, read, path):
        with pytest.raises(RecordingError, match=f"'{path}' is not a path: .* Expected a folder"):
            read(path)


STATE = {"time": 0.0, "objects.m.joint_positions": np.zeros(2), "validity.process_valid": True, "skills.index": 0}
ACTION = {"actions.panda.left.joint_targets": np.zeros(7)}
INTERVAL = {"speeds.panda.max": 0.0}


class TestRecorder:
    """The recorder keeps order, shapes and types, and gives T actions with T + 1 states."""

    @pytest.fixture
    def recorder(self):
        return EpisodeRecorder()

    def test_types_are_those_of_the_table_whatever_was_given_first(self, recorder):
        recorder.add_frame({**STATE, "time": 0, "objects.m.joint_positions": np.zeros(2, dtype=np.float32)})
        recorder.add_action(ACTION)
        recorder.add_frame({**STATE, "time": 0.5}, INTERVAL)
        arrays = recorder.arrays()
        types = dict.fromkeys((*STATE, *ACTION, *INTERVAL), "float64")
        types |= {"validity.process_valid": "bool", "skills.index": "int64"}
        assert {key: array.dtype.name for key, array in arrays.items()} == types
        assert arrays["time"][1] == 0.5

    def test_values_are_copied(self, recorder):
        state = {**STATE, "objects.m.joint_positions": np.zeros(2)}
        recorder.add_frame(state)
        state["objects.m.joint_positions"][:] = 9.0
        recorder.arrays()["time"][:] = 7.0
        assert recorder.arrays()["objects.m.joint_positions"].max() == recorder.arrays()["time"][0] == 0.0

    @pytest.mark.parametrize(
        ("calls", "message"),
        [
            ("a", "add_action out of order after 0 states and 0 actions"),
            ("i", "add_frame out of order"),  # the first frame has no interval
            ("fi", "add_frame out of order after 1 states and 0 actions"),
            ("faa", "add_action out of order after 1 states and 1 actions"),
            ("faf", "add_frame out of order"),  # a later frame needs what was measured
        ],
    )
    def test_frames_and_actions_come_in_turn(self, recorder, calls, message):
        make = {
            "a": lambda: recorder.add_action(ACTION),
            "f": lambda: recorder.add_frame(STATE),
            "i": lambda: recorder.add_frame(STATE, INTERVAL),
        }
        for call in calls[:-1]:
            make[call]()
        with pytest.raises(RecordingError, match=message):
            make[calls[-1]]()

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("skills.phase", 1, r"state row 1 has other keys than the first: \['skills.phase'\]"),
            ("objects.m.joint_positions", np.zeros((1, 2)), r"of state row 1 is float64.* expected .*\[2\]"),
            ("objects.m.joint_positions", 0.0, r"of state row 1 is float64.* expected .*\[2\]"),  # it would broadcast
            ("skills.index", 0.5, "'skills.index' of state row 1 is"),  # another type is not rounded
            ("validity.process_valid", 1, "'validity.process_valid' of state row 1 is"),
            ("time", None, "'time' of state row 1 is"),
            ("time", "1", "'time' of state row 1 is"),
        ],
    )
    def test_a_row_of_other_keys_shapes_or_types_is_refused(self, recorder, key, value, message):
        recorder.add_frame(STATE)
        recorder.add_action(ACTION)
        with pytest.raises(RecordingError, match=message):
            recorder.add_frame({**STATE, key: value}, INTERVAL)

    def test_a_missing_key_is_refused_and_the_frame_can_be_added_again(self, recorder):
        recorder.add_frame(STATE)
        recorder.add_action(ACTION)
        with pytest.raises(RecordingError, match=r"\['skills.index', 'validity.process_valid'\]"):
            recorder.add_frame({"time": 1.0, "objects.m.joint_positions": np.zeros(2)}, INTERVAL)
        recorder.add_frame(STATE, INTERVAL)
        assert recorder.n_actions == 1
        assert {len(array) for array in recorder.arrays().values()} == {1, 2}

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({**STATE, "speeds.panda.max": 0.0}, "'speeds.panda.max' is not a key of state rows"),
            ({**STATE, "Time": 0.0}, "'Time' is not a key of state rows"),
            ({"time": None}, "'time' has type object, expected booleans, integers or floats"),
        ],
    )
    def test_a_refused_first_frame_leaves_the_recorder_as_it_was(self, recorder, row, message):
        with pytest.raises(RecordingError, match=message):
            recorder.add_frame(row)
        recorder.add_frame(STATE)
        assert set(recorder.arrays()) == set(STATE)
