"""The state of a running episode: what one worker writes, and what is read of it."""

import dataclasses
import os
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.workflows.runs.live_state import LiveState, StatePublisher, live_files, read_live_state

STATE = LiveState(
    number=3,
    at=1.0,
    time_s=0.5,
    frame=7,
    phase="approach",
    instruction="open the drawer",
    assets={"drawer": "abc"},
    layout={"objects": {}},
    acted_on=[["drawer", "drawer"]],
    values={"objects.drawer.joint_positions": [0.1, 0.2]},
)


def make_episode(number: int = 3) -> SimpleNamespace:
    """What a publisher reads of an episode."""
    state = {
        "time": np.float64(0.5),
        "skills.phase": np.int64(2),
        "objects.drawer.joint_positions": np.array([0.1, 0.2]),
        "objects.drawer.joint_velocities": np.array([1.0, 1.0]),
        "contacts.franka_panda.force_max_n": np.float64(3.0),
    }
    run = SimpleNamespace(object_name="drawer", part="drawer")
    return SimpleNamespace(
        number=number,
        frames=SimpleNamespace(state=state, frame=7),
        judge=SimpleNamespace(runs=[run]),
        language=lambda: ["open the drawer"],
        layout=lambda: {"objects": {}},
        content_hashes=lambda: {"drawer": "abc"},
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        STATE.to_bytes()[:-5],
        dataclasses.replace(STATE, number="3").to_bytes(),
        dataclasses.replace(STATE, values={"objects.drawer.joint_positions": "far"}).to_bytes(),
        STATE.to_bytes().replace(b'"frame"', b'"frames"'),
    ],
)
def test_a_damaged_state_is_refused(content):
    with pytest.raises(RecordingError, match="state of a running episode cannot be read"):
        LiveState.from_bytes(content)


def test_a_worker_writes_positions_and_leaves_nothing_at_the_end(tmp_path):
    with StatePublisher(tmp_path, "host-run-1") as publish:
        publish(make_episode())
        (path,) = live_files(tmp_path)
        found = read_live_state(path)
        assert dataclasses.replace(found, at=STATE.at) == STATE
        (episode := make_episode(4)).frames.frame = 8
        publish(episode)  # a new one is written at once, and its next state later
        episode.frames.frame = 9
        publish(episode)
        assert (read_live_state(path).number, read_live_state(path).frame) == (4, 8)
        assert found.at > 1e9
        np.testing.assert_array_equal(found.arrays()["objects.drawer.joint_positions"], [[0.1, 0.2]])
    assert list((tmp_path / "runs").iterdir()) == []
    assert live_files(tmp_path) == []


def test_one_worker_writes_until_it_ends(tmp_path):
    first = StatePublisher(tmp_path, "host-run-1")
    second: StatePublisher = pickle.loads(pickle.dumps(first))
    first(make_episode(1))
    second(make_episode(2))
    (path,) = live_files(tmp_path)
    assert read_live_state(path).number == 1
    assert first._lock is not None
    os.close(first._lock)  # its process is killed
    first._lock = None
    second._next = 0.0  # it is time to ask again
    second(make_episode(2))
    assert read_live_state(path).number == 2
    second.__exit__()


def test_a_run_removes_what_a_killed_one_left(tmp_path):
    killed, other = StatePublisher(tmp_path, "host-run-1"), StatePublisher(tmp_path, "host-run-2")
    killed(make_episode(1))
    other(make_episode(2))
    path, other_path = live_files(tmp_path)
    os.utime(path, (1.0, 1.0))
    with StatePublisher(tmp_path, "host-run-3"):
        assert live_files(tmp_path) == [other_path]
    for publisher in (killed, other):
        publisher.__exit__()
    assert list((tmp_path / "runs").iterdir()) == []


def test_an_error_of_the_page_does_not_reach_the_episode(tmp_path, caplog):
    (tmp_path / "runs").write_text("a file where the folder should be")
    publish = StatePublisher(tmp_path, "host-run-1")
    publish(make_episode(1))
    publish(make_episode(2))
    assert [record.getMessage() for record in caplog.records] == [
        f"The page does not show episode 1: FileExistsError: [Errno 17] File exists: '{tmp_path}/runs'."
    ]
