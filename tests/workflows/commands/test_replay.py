"""Replays of recorded episodes: they are exact, and deviations are reported."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import episode
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, STATE_FILE, EpisodeRecord, encode_episode
from unlatch.simcore.recording.state_file import encode_npz
from unlatch.workflows.checks.criteria_source import check_data_set
from unlatch.workflows.commands.check import replay_arrays
from unlatch.workflows.runs import earlier_code
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.replay import ReplayMode, largest_deviation, replay_deviation, replay_record
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

Run = Callable[..., tuple[int, str, str]]
ACTIONS = "actions.franka_panda.left.joint_targets"
VELOCITIES = "robots.franka_panda.left.joint_velocities"


@pytest.fixture(scope="module")
def data_set(collected) -> DataSet:
    return DataSet.open(collected("close_drawer", episodes=3))


@pytest.fixture
def run(run_command) -> Run:
    return partial(run_command, "replay")


def test_an_episode_without_a_frame_has_nothing_to_replay(data_set, tmp_path, run):
    shutil.copytree(data_set.path, tmp_path / "data")
    with DataSet.open(tmp_path / "data") as copy:
        copy.write(EpisodeRecord(number=9, seed=9, success=False, code="error"))
    code, out, _ = run(str(tmp_path / "data"), "episode=9")
    assert code == 0
    assert out == "episode 9 (error): it ended before its first frame, so there is nothing to replay\n"


def test_an_episode_that_is_not_there_is_one_line(data_set, assert_refused):
    assert_refused("replay", data_set.path, "episode=77", text="Episode 77 is not in", folder=data_set.path)


@pytest.mark.parametrize("mode", ["action", "state"])
@pytest.mark.parametrize("fixture", ["data_set", "data_set_of_version_2"])
def test_a_recorded_episode_replays_to_the_bit(fixture, request, run, mode):
    code, out, _ = run(request.getfixturevalue(fixture).path, "episode=1", f"mode={mode}", "check=true")
    assert code == 0
    assert "largest deviation 0 in" in out


@pytest.mark.slow
def test_every_array_that_the_world_fills_is_replayed(data_set):
    record = data_set.read(0)
    with EpisodeRunner(config_of(data_set)) as runner:
        replayed = replay_record(runner, record)
    left_out = {key for key in record.arrays if key not in replayed}
    assert all(key.startswith(("skills.", "validity.")) for key in left_out)
    assert all(
        np.array_equal(record.arrays[key], value.astype(record.arrays[key].dtype)) for key, value in replayed.items()
    )


@pytest.fixture(scope="module")
def data_set_of_version_2(data_set, tmp_path_factory) -> DataSet:
    """Episode 1 of the data set as version 2 wrote it: every array a member of its own, all floats in 64 bits."""
    path, record = tmp_path_factory.mktemp("replay") / "earlier", data_set.read(1)
    with EpisodeRunner(config_of(data_set)) as runner:
        record.arrays |= replay_record(runner, record)
    assert record.arrays[VELOCITIES].dtype == np.float64
    state = encode_npz(record.arrays)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(episode, "FORMAT_VERSION", 2)
        with DataSet.create_or_resume(path, header=data_set.header, info=data_set.info) as earlier:
            folder = earlier.folder_of(1)
            folder.mkdir(parents=True)
            (folder / STATE_FILE).write_bytes(state)
            (folder / EPISODE_FILE).write_bytes(encode_episode(record, state))
    assert '"format_version": 2' in (path / "dataset.json").read_text()
    return DataSet.open(path)


@pytest.mark.slow
def test_an_episode_of_version_2_is_compared_in_64_bits(data_set, data_set_of_version_2):
    record = data_set_of_version_2.read(1)
    rounded = record.arrays[VELOCITIES].astype(np.float32)
    assert np.array_equal(rounded, data_set.read(1).arrays[VELOCITIES])
    record.arrays = {**record.arrays, VELOCITIES: rounded.astype(np.float64)}
    with EpisodeRunner(config_of(data_set)) as runner:
        deviation = replay_deviation(runner, record, ReplayMode.action)
    assert deviation.key == VELOCITIES
    assert 0.0 < deviation.value < 1e-6


@pytest.mark.slow
def test_an_episode_of_version_2_passes_the_check_beside_one_of_this_version(data_set, data_set_of_version_2, tmp_path):
    shutil.copytree(data_set_of_version_2.path, tmp_path / "mixed")
    with DataSet.create_or_resume(tmp_path / "mixed", header=data_set.header) as mixed:
        assert mixed.write(data_set.read(2))
        versions = [(mixed.folder_of(n) / EPISODE_FILE).read_text().count('"format_version": 2') for n in (1, 2)]
    assert versions == [1, 0]
    mixed = DataSet.open(tmp_path / "mixed")
    assert check_data_set(mixed) == []
    assert [outcome.problems for outcome in replay_arrays(mixed, workers=1)] == [(), ()]


@pytest.mark.slow
def test_failed_episodes_replay_too(collected, run):
    overrides = ("skills.0.contact_force_threshold_n=0", "task.max_duration_s=2.0")
    failures = DataSet.open(collected("close_drawer", *overrides, episodes=2))
    assert {failures.read(n).code for n in failures.numbers()} <= {"timeout", "collision"}
    code, out, _ = run(failures.path, "all=true", "check=true", "workers=1")
    assert code == 0
    assert "2 episodes" in out
    assert "2 exact" in out


def test_a_changed_action_is_detected(data_set):
    record = data_set.read(0)
    changed = record.arrays[ACTIONS].copy()
    changed[40, 1] += 1e-3
    record.arrays = {**record.arrays, ACTIONS: changed}
    with EpisodeRunner(config_of(data_set)) as runner:
        deviation = replay_deviation(runner, record, ReplayMode.action)
    assert deviation.value > 1e-5
    assert deviation.frame >= 40


def test_an_impossible_state_is_detected(data_set):
    record = data_set.read(0)
    key = "keypoints.drawer.drawer.link_contact_point"
    moved = record.arrays[key].copy()
    moved[7] += 0.01
    record.arrays = {**record.arrays, key: moved}
    with EpisodeRunner(config_of(data_set)) as runner:
        deviation = replay_deviation(runner, record, ReplayMode.state)
    assert deviation.value == pytest.approx(0.01)
    assert (deviation.key, deviation.frame) == (key, 7)


def test_a_replay_with_another_object_raises_an_error(data_set):
    record = replace(data_set.read(0), assets={"drawer": "0" * 64})
    with (
        EpisodeRunner(config_of(data_set)) as runner,
        pytest.raises(RecordingError, match="not the one that was recorded"),
    ):
        replay_record(runner, record)


@pytest.mark.slow
def test_a_damaged_episode_is_named_and_the_others_are_replayed(data_set, tmp_path, run):
    copy = tmp_path / "copy"
    shutil.copytree(data_set.path, copy)
    state = DataSet.open(copy).folder_of(1) / "state.npz"
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content)
    code, out, _ = run(copy, "all=true", "check=true", "workers=1")
    assert code == 1
    assert "episode 1: " in out
    assert "is damaged" in out
    assert "2 exact" in out


@pytest.mark.slow
def test_differing_versions_are_named(data_set, run, monkeypatch):
    monkeypatch.setattr(earlier_code, "versions_of", lambda names: dict.fromkeys(names, "0.0.1"))
    code, _, err = run(data_set.path, "episode=0")
    assert code == 0
    assert "here is 0.0.1; replays may deviate" in err


@pytest.mark.parametrize(
    ("found", "wanted", "value", "frame"),
    [
        ([1.0, np.nan], [1.0, np.nan], 0.0, 0),
        ([1.0, np.nan], [1.0, 2.0], np.inf, 1),
        ([1.0], [1.0, 2.0], np.inf, 0),
        ([True, False], [True, True], 1.0, 1),
        ([1.5], [1], 0.5, 0),  # integers of a record are not rounded to
    ],
)
def test_the_largest_deviation_is_found(found, wanted, value, frame):
    deviation = largest_deviation({"x": np.array(found)}, {"x": np.array(wanted), "y": np.zeros(3)})
    assert (deviation.value, deviation.frame) == (value, frame)


def test_the_frames_of_the_first_and_of_the_largest_difference_are_told():
    found, wanted = ({"x": np.array(values)} for values in ([1.0, 2.0, 3.0], [1.0, 2.25, 3.5]))
    deviation = largest_deviation(found, wanted)
    assert (deviation.value, deviation.first_frame, deviation.frame) == (0.5, 1, 2)


def test_what_a_record_has_in_32_bits_is_compared_in_32_bits():
    recorded = np.array([0.1, 0.2], dtype=np.float32)
    assert largest_deviation({"x": np.array([0.1, 0.2])}, {"x": recorded}).value == 0.0
    deviation = largest_deviation({"x": np.array([0.1, 0.2])}, {"x": np.nextafter(recorded, np.float32(1.0))})
    assert 0.0 < deviation.value < 1e-7
