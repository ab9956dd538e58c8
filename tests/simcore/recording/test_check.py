"""The check of a data set finds what is damaged, foreign, incomplete or claimed wrongly, and names it."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from tests.simcore.recording.builders import DOOR, ENVIRONMENT, attempt, make_record, never_began, stopped
from unlatch.simcore.recording import check
from unlatch.simcore.recording.check import check_dataset, check_record
from unlatch.simcore.recording.data_set import DataSet

QUAT = "objects.microwave.root_quat_xyzw"
FILES = pytest.mark.parametrize("name", ["episode.json", "state.npz"])


@pytest.fixture
def data_set(tmp_path):
    with DataSet.create_or_resume(tmp_path / "data", header={"seed": 7}) as made:
        made.write(make_record(0))
        made.write(never_began("error", 1))
        yield made


def messages(data_set):
    return [str(problem) for problem in check_dataset(data_set.path)]


class TestFiles:
    def test_a_whole_data_set_has_no_problems_whatever_pictures_and_reports_are_in_it(self, data_set):
        (data_set.path / "renders" / "front").mkdir(parents=True)
        (data_set.path / "report.html").write_text("x")
        seen = []
        assert check_dataset(data_set.path, on_episode=lambda done, total: seen.append((done, total))) == []
        assert seen == [(1, 2), (2, 2)]

    def test_what_is_no_data_set_is_one_problem(self, tmp_path):
        assert len(check_dataset(tmp_path / "nothing")) == 1
        assert "is not a data set" in str(check_dataset(tmp_path)[0])

    @FILES
    def test_a_file_that_is_cut_anywhere_is_named(self, data_set, name):
        path = data_set.folder_of(0) / name
        whole = path.read_bytes()
        for length in np.linspace(0, len(whole) - 2, 25).astype(int):
            path.write_bytes(whole[:length])
            (found,) = messages(data_set)
            assert found.startswith("Episode 0: "), length
            assert name in found

    @FILES
    def test_a_flipped_bit_anywhere_is_found(self, data_set, name):
        path = data_set.folder_of(0) / name
        whole = path.read_bytes()
        for position in np.linspace(0, len(whole) - 3, 60).astype(int):
            if whole[position : position + 1].isspace() or whole[position - 1 : position + 1] in (b": ", b", "):
                continue  # between two values of JSON
            flipped = bytearray(whole)
            flipped[position] ^= 1 << (position % 6)
            path.write_bytes(flipped)
            assert len(messages(data_set)) == 1, position

    @FILES
    def test_a_missing_file_is_named(self, data_set, name):
        (data_set.folder_of(0) / name).unlink()
        assert f"{name}' is missing" in messages(data_set)[0]

    def test_foreign_files_and_episodes_in_a_wrong_place_are_named_and_the_rest_is_checked(self, data_set):
        foreign = ["notes.txt", "thumbs.db", "0000000/5", "0000001/0000000000", "0000000001"]
        (data_set.folder_of(0) / "notes.txt").write_text("x")
        (data_set.path / "episodes" / "thumbs.db").write_text("x")
        (data_set.path / "episodes" / "0000000" / "5").mkdir()
        (data_set.path / "episodes" / "0000001").mkdir()
        shutil.copytree(data_set.folder_of(0), data_set.path / "episodes" / "0000001" / "0000000000")
        shutil.move(data_set.folder_of(1), data_set.path / "elsewhere")
        data_set.folder_of(1).symlink_to(data_set.path / "elsewhere")
        found = [text for text in messages(data_set) if "does not belong" in text]
        assert len(found) == len(foreign)
        assert all(any(f"{name}' does not belong" in text for text in found) for name in foreign)

    @pytest.mark.parametrize(("said", "wrong"), [('"seed": 1000', '"seed": 5'), ('"n_actions": 20', '"n_actions": 21')])
    def test_an_index_that_contradicts_a_folder_is_named(self, data_set, said, wrong):
        path = data_set.path / "index" / "main.jsonl"
        path.write_text(path.read_text().replace(said, wrong))
        assert messages(data_set) == ["Episode 0: its line in the index contradicts its folder. Rebuild the index."]

    def test_an_episode_whose_folder_was_deleted_is_named(self, data_set):
        shutil.rmtree(data_set.folder_of(0))
        assert messages(data_set) == [
            "Episode 0: the index lists it, but its folder is missing. The command that made the data makes it again."
        ]

    def test_a_device_in_place_of_a_file_is_not_read(self, data_set):
        path = data_set.folder_of(0) / "state.npz"
        path.unlink()
        path.symlink_to("/dev/zero")
        assert "cannot be read" in messages(data_set)[0]


class TestArrays:
    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("time", np.arange(20.0), "'time' has shape [20], expected 21 rows (20 actions)"),
            ("skills.phase", np.zeros(21), "'skills.phase' is float64, expected int64"),
            ("time", np.zeros((21, 1)), "'time' has rows of shape [1], expected []"),
            (QUAT, np.zeros((21, 3)), f"'{QUAT}' has rows of shape [3], expected [4]"),
            (QUAT, np.tile([0, 0, 0, 1.001], (21, 1)), "is not of unit length: off by 1.0e-03, expected at most 1e-06"),
            ("time", np.zeros(21), "'time' does not grow from frame 0"),
            ("objects.microwave.joint_velocities", np.zeros((21, 3)), "joint_velocities' has rows of 3, expected 2"),
            ("actions.panda.left.joint_targets", np.zeros((20, 6)), "has rows of"),
            ("robots.panda.elbow", np.zeros(21), "'robots.panda.elbow' is not in the table of keys"),
            (DOOR, np.full((21, 2), np.nan), f"'{DOOR}' holds values that are not finite"),
        ],
    )
    def test_an_array_that_is_not_as_the_table_says_is_named(self, key, value, message):
        record = make_record()
        record.arrays[key] = value
        found = check_record(record)
        assert any(key in text for text in found)
        assert message in " ".join(found)

    @pytest.mark.parametrize(
        "key",
        [
            QUAT,
            "contacts.panda.left.fingers.force_sustained_n",
            "speeds.microwave.max",
        ],
    )
    def test_a_missing_array_is_named(self, key):
        record = make_record()
        del record.arrays[key]
        assert check_record(record) == [f"array '{key}' is missing."]

    def test_values_that_are_not_finite_belong_to_diverged_attempts_only(self):
        record = stopped("diverged", {"frame": 20}, skill={"frame_end": 20, "success": False, "s_end": 0.8})
        record.arrays["robots.panda.left.joint_efforts"][20, 0] = np.inf
        assert check_record(record) == []

    def test_a_sensor_of_a_plugin_and_an_object_that_nobody_acts_on_need_nothing_else(self):
        record = make_record()
        record.arrays["sensors.wrist_imu.acceleration"] = np.zeros((21, 3))
        for key in ("root_position", "root_quat_xyzw", "joint_positions", "joint_velocities"):
            record.arrays[f"objects.mug.{key}"] = record.arrays[f"objects.microwave.{key}"]
        record.arrays["speeds.mug.max"] = np.zeros(20)
        assert check_record(record) == []

    def test_only_an_attempt_that_never_began_may_lack_arrays(self):
        said = "it has no arrays, but only an attempt that never began has none (code 'slipped')."
        assert check_record(make_record(success=False, code="slipped", arrays={}, skills=[], settle=None)) == [said]


VIOLATION = {"view": "panda.environment", "pair": ["hand", "table/"], "force_n": 3.0, "physics_step": 48, "time_s": 0.2}
INVALID = {"validity.collision_valid": dict.fromkeys(range(6, 21), False)}


LATE = {"frame_start": 20, "frame_end": 20}
STOPS = {frame: min(0.04 * max(frame - 5, 0), 0.4) for frame in range(21)}
HIT = {"success": False, "first_violation": VIOLATION}
LEFT = {"validity.collision_valid": {9: False, 10: False}, "validity.process_valid": {4: False}}
OPEN = "skill 0 (open) has"


class TestVerdict:
    @pytest.mark.parametrize(
        ("record", "said"),
        [
            (
                attempt({"s_end": 0.4}, door=STOPS),
                ["success is True (code None) in the", f"{OPEN} success=True in the rec"],
            ),
            (
                attempt(HIT, rows={ENVIRONMENT: {5: 3.0}, **INVALID}, success=False, code="not_reached"),
                ["code is 'not_reached' in the record, recomputed 'collision'"],
            ),
            (
                attempt({"s0": 0.01, "s_end": 0.9}),
                [
                    f"{OPEN} s0=0.01, the states at frames 2 and 0 are",
                    f"{OPEN} s_end=0.9, the state at frame 17 is 0.8.",
                ],
            ),
            (
                attempt(rows=LEFT),
                [f"{OPEN} validity.{key}=False at frame" for key in ("collision_valid", "process_valid")],
            ),
            (attempt({"first_violation": VIOLATION}), [f"{OPEN} first_violation=.* exceed the threshold nowhere"]),
            (attempt({"success_threshold": None}), ["it cannot be checked, because its values do not fit together: T"]),
            (
                replace(attempt(), layout={"objects": {}, "q_home": {"right": [0.0]}}),
                ["layout.q_home of episode.json is of right, state.npz has "],
            ),
            # an attempt that was broken off is consistent
            (stopped("plan_infeasible", skill={**LATE, "success": False, "s0": 0.8, "s_end": 0.8}), []),
        ],
    )
    def test_what_the_arrays_contradict_is_named(self, record, said):
        found = check_record(record)
        assert len(found) == len(said)
        for text, start in zip(found, said, strict=True):
            assert re.match(re.escape(start).replace(r"\.\*", ".*"), text), text


class TestNamedArrays:
    def test_sizes_and_names_are_those_of_the_episode(self):
        record = make_record()
        record.arrays = {key: array for key, array in record.arrays.items() if key.startswith("objects.")}
        names = {"object": [{"object": "microwave", "m": 3}, {"object": "mug", "m": 0}]}
        found = list(check.unexpected_arrays(record, names))
        assert "'objects.microwave.joint_positions' has rows of shape [2], expected [3] by the configuration." in found
        assert "array 'objects.mug.root_position' is missing, expected by the configuration." in found
