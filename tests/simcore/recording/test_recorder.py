"""The recorder keeps order, shapes and types, and gives T actions with T+1 states."""

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.state_file import EpisodeRecorder

STATE = {"time": 0.0, "objects.m.joint_positions": np.zeros(2), "validity.process_valid": True, "skills.index": 0}
ACTION = {"actions.panda.left.joint_targets": np.zeros(7)}
INTERVAL = {"speeds.panda.max": 0.0}


@pytest.fixture
def recorder():
    return EpisodeRecorder()


def record(recorder, n_actions):
    recorder.add_frame(STATE)
    for t in range(1, n_actions + 1):
        recorder.add_action({"actions.panda.left.joint_targets": np.full(7, float(t))})
        recorder.add_frame({**STATE, "time": t / 30, "skills.index": t}, {"speeds.panda.max": float(t)})


@pytest.mark.parametrize("n_actions", [0, 1, 5, 255, 256, 700])
def test_t_actions_and_one_state_more(recorder, n_actions):
    record(recorder, n_actions)
    arrays = recorder.arrays()
    assert (recorder.n_states, recorder.n_actions) == (n_actions + 1, n_actions)
    assert arrays["objects.m.joint_positions"].shape == (n_actions + 1, 2)
    np.testing.assert_array_equal(arrays["skills.index"], np.arange(n_actions + 1))
    if n_actions:
        assert arrays["actions.panda.left.joint_targets"].shape == (n_actions, 7)
        np.testing.assert_array_equal(arrays["speeds.panda.max"], np.arange(1.0, n_actions + 1))


def test_types_are_those_of_the_table_whatever_was_given_first(recorder):
    recorder.add_frame({**STATE, "time": 0, "objects.m.joint_positions": np.zeros(2, dtype=np.float32)})
    recorder.add_action(ACTION)
    recorder.add_frame({**STATE, "time": 0.5}, INTERVAL)
    arrays = recorder.arrays()
    assert {key: array.dtype.name for key, array in arrays.items()} == {
        "time": "float64",
        "objects.m.joint_positions": "float64",
        "validity.process_valid": "bool",
        "skills.index": "int64",
        "actions.panda.left.joint_targets": "float64",
        "speeds.panda.max": "float64",
    }
    assert arrays["time"][1] == 0.5


def test_values_are_copied(recorder):
    state = {**STATE, "objects.m.joint_positions": np.zeros(2)}
    recorder.add_frame(state)
    state["objects.m.joint_positions"][:] = 9.0
    arrays = recorder.arrays()
    arrays["time"][:] = 7.0
    assert recorder.arrays()["objects.m.joint_positions"].max() == 0.0
    assert recorder.arrays()["time"][0] == 0.0


def test_an_action_whose_frame_never_came_is_left_out(recorder):
    record(recorder, 3)
    recorder.add_action(ACTION)
    assert len(recorder.arrays()["actions.panda.left.joint_targets"]) == 3
    assert len(recorder.arrays()["time"]) == 4


def test_nothing_recorded_gives_no_arrays(recorder):
    assert recorder.arrays() == {}


class TestOrder:
    def test_a_frame_comes_before_the_first_action(self, recorder):
        with pytest.raises(RecordingError, match="add_action out of order after 0 states and 0 actions"):
            recorder.add_action(ACTION)

    def test_the_first_frame_has_no_interval(self, recorder):
        with pytest.raises(RecordingError, match="add_frame out of order"):
            recorder.add_frame(STATE, INTERVAL)

    def test_two_frames_without_an_action_are_refused(self, recorder):
        recorder.add_frame(STATE)
        with pytest.raises(RecordingError, match="add_frame out of order after 1 states and 0 actions"):
            recorder.add_frame(STATE, INTERVAL)

    def test_two_actions_without_a_frame_are_refused(self, recorder):
        recorder.add_frame(STATE)
        recorder.add_action(ACTION)
        with pytest.raises(RecordingError, match="add_action out of order after 1 states and 1 actions"):
            recorder.add_action(ACTION)

    def test_a_later_frame_needs_what_was_measured(self, recorder):
        recorder.add_frame(STATE)
        recorder.add_action(ACTION)
        with pytest.raises(RecordingError, match="add_frame out of order"):
            recorder.add_frame(STATE)


class TestRows:
    def second_frame(self, recorder, **changes):
        recorder.add_frame(STATE)
        recorder.add_action(ACTION)
        recorder.add_frame({**STATE, **changes}, INTERVAL)

    def test_a_new_key_is_refused(self, recorder):
        with pytest.raises(RecordingError, match=r"state row 1 has other keys than the first: \['skills.phase'\]"):
            self.second_frame(recorder, **{"skills.phase": 1})

    def test_a_missing_key_is_refused_and_the_frame_can_be_added_again(self, recorder):
        recorder.add_frame(STATE)
        recorder.add_action(ACTION)
        with pytest.raises(RecordingError, match=r"\['skills.index', 'validity.process_valid'\]"):
            recorder.add_frame({"time": 1.0, "objects.m.joint_positions": np.zeros(2)}, INTERVAL)
        recorder.add_frame(STATE, INTERVAL)
        assert recorder.n_actions == 1
        assert {len(array) for array in recorder.arrays().values()} == {1, 2}

    @pytest.mark.parametrize("value", [np.zeros(3), 0.0, np.zeros((1, 2))])
    def test_another_shape_is_refused_even_if_it_would_broadcast(self, recorder, value):
        with pytest.raises(
            RecordingError, match=r"'objects.m.joint_positions' of state row 1 is float64.* expected .*\[2\]"
        ):
            self.second_frame(recorder, **{"objects.m.joint_positions": value})

    @pytest.mark.parametrize(
        ("key", "value"),
        [("skills.index", 0.5), ("validity.process_valid", 1), ("time", None), ("time", "1"), ("skills.index", None)],
    )
    def test_another_type_is_refused_and_not_rounded(self, recorder, key, value):
        with pytest.raises(RecordingError, match=f"'{key}' of state row 1 is"):
            self.second_frame(recorder, **{key: value})

    @pytest.mark.parametrize("key", ["actions.hold", "speeds.panda.max", "robot.panda.q", "Time"])
    def test_a_key_of_another_kind_is_refused(self, recorder, key):
        with pytest.raises(RecordingError, match=f"'{key}' is not a key of state rows"):
            recorder.add_frame({**STATE, key: 0.0})

    def test_a_value_that_is_no_number_is_refused(self, recorder):
        with pytest.raises(RecordingError, match="'time' has type object, expected booleans, integers or floats"):
            recorder.add_frame({"time": None})

    def test_a_refused_first_frame_leaves_the_recorder_as_it_was(self, recorder):
        with pytest.raises(RecordingError):
            recorder.add_frame({"time": 0.0, "skills.index": "a"})
        recorder.add_frame(STATE)
        assert set(recorder.arrays()) == set(STATE)
