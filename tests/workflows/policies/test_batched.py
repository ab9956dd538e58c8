"""One process that runs a policy for all workers: which requests are batched, and what happens if something breaks."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.gym.config import ActionMode
from unlatch.workflows.policies.catalog import PolicySpaces
from unlatch.workflows.policies.processes import (
    InferenceProcess,
    PolicyBugError,
    PolicyServerError,
    TcpPolicy,
    is_batched,
    open_inference_process,
    receive_message,
    send_message,
)

# by name, a process would import another package's `tests`, if there is one: draccus, which LeRobot needs, installs it
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Array = np.ndarray
SPACES = PolicySpaces("observations", "actions")
ENV: Any = SimpleNamespace(
    cfg=SimpleNamespace(
        task=SimpleNamespace(name="t"),
        robot=SimpleNamespace(name="r"),
        action=SimpleNamespace(mode=ActionMode.joint_position),
        world=SimpleNamespace(record_hz=30),
    ),
    action_space=SimpleNamespace(shape=(2,), low=np.zeros(2), high=np.ones(2)),
)


class Doubler:
    """Answers twice the observation, then the slot; ends an episode at -1 and breaks at -2."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        assert (observation_space, action_space) == ("observations", "actions")
        self.episodes: dict[int, int] = {}

    def reset(self, slot: int, observation: dict[str, Array], info: dict[str, Any]) -> None:
        self.episodes[slot] = info["episode"]

    def act_batch(self, observations: dict[str, Array], slots: Array) -> list[Array | None]:
        values = observations["x"]
        if (values == -2).any():
            raise KeyError("wrist")
        if (values == -3).any():
            os.kill(os.getpid(), signal.SIGKILL)
        return [
            None if x == -1 else np.array([2 * x, self.episodes[int(k)]]) for x, k in zip(values, slots, strict=True)
        ]


class Refuser:
    def act(self, observation: dict[str, Array]) -> Array:
        return np.zeros(2)


def connect(running: InferenceProcess) -> TcpPolicy:
    return TcpPolicy(running.address.removeprefix("tcp://"), ENV, timeout_s=30.0)


def begin(policy: TcpPolicy, episode: int) -> None:
    policy.reset({"x": np.array(0.0)}, {"episode": episode, "seed": 0, "language": []})


@pytest.fixture(scope="module")
def running() -> Iterator[InferenceProcess]:
    with open_inference_process(Doubler, SPACES) as process:
        yield process


def test_each_worker_gets_the_action_of_its_own_observation(running):
    first, second = connect(running), connect(running)
    begin(first, 7)
    begin(second, 9)
    # both requests are sent before either answer is read
    for policy, x in ((first, 1.0), (second, 5.0)):
        send_message(policy._connection, {"type": "act"}, {"x": np.array(x)})
    answers = [receive_message(policy._connection)[1]["action"].tolist() for policy in (first, second)]
    assert answers == [[2.0, 7.0], [10.0, 9.0]]


@pytest.mark.slow
def test_the_process_counts_batches_and_actions_and_tells_them_at_its_end():
    with open_inference_process(Doubler, SPACES) as running:
        policy = connect(running)
        begin(policy, 0)
        for _ in range(3):
            policy.act({"x": np.array(1.0)})
    assert running.statistics is not None
    assert (running.statistics.batches, running.statistics.actions) == (3, 3)
    assert 0.0 < running.statistics.share < 1.0


def test_a_policy_may_end_an_episode_and_its_bug_reaches_the_episode_and_not_the_process(running):
    policy = connect(running)
    begin(policy, 4)
    assert policy.act({"x": np.array(-1.0)}) is None
    with pytest.raises(PolicyBugError, match="KeyError: 'wrist'"):
        policy.act({"x": np.array(-2.0)})
    assert policy.act({"x": np.array(3.0)}).tolist() == [6.0, 4.0]


def test_a_worker_that_dies_frees_its_slot(running):
    stays, dies = connect(running), connect(running)
    begin(stays, 1)
    begin(dies, 2)
    dies._connection.shutdown(socket.SHUT_RDWR)
    dies.close()
    assert stays.act({"x": np.array(1.0)}).tolist() == [2.0, 1.0]
    again = connect(running)
    begin(again, 3)
    assert again.act({"x": np.array(1.0)}).tolist() == [2.0, 3.0]
    assert stays.act({"x": np.array(1.0)}).tolist() == [2.0, 1.0]


@pytest.mark.parametrize("token", ["", "wrong@"])
def test_a_stranger_of_this_computer_is_answered_nothing_and_gets_no_slot(running, token):
    place = running.address.rpartition("@")[2]
    with pytest.raises(PolicyServerError, match=rf"^Policy server {place} is gone"):
        TcpPolicy(f"{token}{place}", ENV, timeout_s=30.0)
    with socket.create_connection(("127.0.0.1", int(place.rpartition(":")[2])), timeout=30.0) as stranger:
        send_message(stranger, {"type": "act"}, {"x": np.array(1.0)})
        assert stranger.recv(1) == b""
    policy = connect(running)
    begin(policy, 5)
    assert policy.act({"x": np.array(1.0)}).tolist() == [2.0, 5.0]


def run_until_the_process_dies() -> None:
    with open_inference_process(Doubler, SPACES) as running:
        policy = connect(running)
        begin(policy, 0)
        policy.act({"x": np.array(-3.0)})


@pytest.mark.slow
def test_a_process_that_dies_is_named_with_its_cause():
    with pytest.raises(PolicyServerError, match=r"process of the policy is gone \(killed by SIGKILL\)"):
        run_until_the_process_dies()


class Broken:
    def __init__(self, observation_space: Any, action_space: Any) -> None:
        raise ValueError("no weights")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "message"),
    [(Refuser(), "has no method act_batch"), (Broken, "The policy cannot be made: ValueError: no weights")],
)
def test_a_policy_that_cannot_be_made_is_refused(policy, message):
    with pytest.raises(ConfigError, match=message), open_inference_process(policy, SPACES):
        pass


@pytest.mark.parametrize(("policy", "batched"), [(Doubler, True), (Refuser, False), (Refuser(), False), (len, False)])
def test_only_a_policy_with_act_batch_is_batched(policy, batched):
    assert is_batched(policy) == batched


def test_messages_arrive_as_they_were_sent():
    ours, theirs = socket.socketpair()
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(True), "c": np.zeros((0, 4), dtype=np.uint8)}
    with ours, theirs:
        threading.Thread(target=send_message, args=(ours, {"type": "act"}, arrays)).start()
        header, received = receive_message(theirs)
    assert header["type"] == "act"
    assert received.keys() == arrays.keys()
    for name, array in arrays.items():
        assert received[name].dtype == array.dtype
        assert np.array_equal(received[name], array)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02[]",
        b"\x00\x00\x00\x04nope",
        b'\x00\x00\x00\x3e{"arrays": [{"name": "a", "dtype": "object", "shape": [1]}]}   ',
        b'\x00\x00\x00\x45{"arrays": [{"name": "a", "dtype": "uint8", "shape": [99999999999]}]}',
    ],
)
def test_malformed_messages_raise_an_error(data):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(data)
        ours.close()
        with pytest.raises((PolicyServerError, ConnectionError)):
            receive_message(theirs)
