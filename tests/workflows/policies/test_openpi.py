"""openpi's protocol: our client with a server as openpi's, openpi's own client with our server, and both of ours."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("msgpack")
pytest.importorskip("websockets")

import msgpack
import websockets.asyncio.server
import websockets.sync.client
import websockets.sync.server
from websockets.exceptions import ConnectionClosed

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.checks.criteria_source import check_data_set
from unlatch.workflows.commands.check import evaluate_command as evaluate
from unlatch.workflows.commands.collect import collect_command as collect
from unlatch.workflows.gym.config import ActionCfg, ObservationCfg
from unlatch.workflows.policies import catalog, openpi
from unlatch.workflows.policies.openpi import (
    DONE,
    NAME,
    ChunkedActions,
    ObservationMap,
    OpenpiPolicy,
    pack,
    pad_to_square,
    unpack,
)
from unlatch.workflows.policies.processes import PolicyServerError
from unlatch.workflows.policies.serve import PolicyServer
from unlatch.workflows.runs import runner
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.schema import EvaluateCfg
from unlatch.workflows.viewing.page_server import reachable_name

pytestmark = pytest.mark.integration

Array = np.ndarray
TASK = "close_drawer"
COMMON = [f"task={TASK}", "executor=serial", "pictures=0"]


# openpi's documented format, written again: an array is a map of four entries with keys of bytes
def encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    return value


def decode(found: dict[Any, Any]) -> Any:
    if b"__ndarray__" in found:
        return np.ndarray(buffer=found[b"data"], dtype=np.dtype(found[b"dtype"]), shape=found[b"shape"])
    return found


class OpenpiServer:
    """Does what openpi's `WebsocketPolicyServer` does, in a thread: metadata, then an answer for each observation."""

    def __init__(self, infer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._infer = infer
        self.seen: list[dict[str, Any]] = []
        self._loop = asyncio.new_event_loop()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._begun.wait(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._end = asyncio.Event()
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        options = {"compression": None, "max_size": None}
        async with websockets.asyncio.server.serve(self._handle, "127.0.0.1", 0, **options) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._begun.set()
            await self._end.wait()

    async def _handle(self, socket: Any) -> None:
        await socket.send(msgpack.packb({"reset_pose": [0.0]}, default=encode))
        while True:
            try:
                message = msgpack.unpackb(await socket.recv(), object_hook=decode)
                self.seen.append(message)
                answer = {**self._infer(message), "server_timing": {"infer_ms": 1.0}}
                await socket.send(msgpack.packb(answer, default=encode))
            except ConnectionClosed:
                return
            except Exception:  # noqa: BLE001 - as openpi's server does
                await socket.send(traceback.format_exc())
                await socket.close(code=1011, reason="Internal server error.")
                return

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)


@pytest.fixture
def serve() -> Iterator[Callable[..., OpenpiServer]]:
    with contextlib.ExitStack() as stack:

        def start(infer: Callable[[dict[str, Any]], dict[str, Any]]) -> OpenpiServer:
            server = OpenpiServer(infer)
            stack.callback(server.close)
            return server

        yield start


@contextlib.contextmanager
def serving(policy: str, *overrides: str) -> Iterator[PolicyServer]:
    cfg = load_config("evaluate", EvaluateCfg, [*COMMON, f"policy={policy}", *overrides]).cfg
    server = PolicyServer(cfg, host="127.0.0.1", port=0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(10)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


MESSAGE = {
    "text": "open it",
    "number": 2**60,
    "image": np.arange(24, dtype=np.uint8).reshape(2, 4, 3),
    "vector": np.array([1.0, np.nan, -np.inf]),
    "scalar": np.float32(0.5),
    "nested": {"list": [1, 2.5]},
}


def array_of(**entries: Any) -> bytes:
    """Returns a message with one number of 8 bytes, with some entries changed."""
    told = {"dtype": "<f8", "data": b"12345678", "shape": (1,), **entries}
    return msgpack.packb({"x": {b"__ndarray__": True, **{key.encode(): value for key, value in told.items()}}})


def test_a_message_arrives_as_it_was_sent():
    found = unpack(pack(MESSAGE))
    assert list(found) == list(MESSAGE)
    assert found["text"] == "open it"
    assert found["number"] == 2**60
    assert found["nested"] == {"list": [1, 2.5]}
    for key in ("image", "vector", "scalar"):
        assert found[key].dtype == MESSAGE[key].dtype
        np.testing.assert_array_equal(found[key], MESSAGE[key])
    found["image"] += 1  # a policy may write into what it gets


def test_our_bytes_are_those_of_openpis_own_client():
    msgpack_numpy = pytest.importorskip("openpi_client.msgpack_numpy")
    assert pack(MESSAGE) == msgpack_numpy.packb(MESSAGE)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (msgpack.packb([1]), "A message of type list came, expected a map."),
        (msgpack.packb({"x": {b"__ndarray__": True, b"dtype": "|O", b"data": b"", b"shape": ()}}), "expected numbers"),
        (
            msgpack.packb({"x": {b"__ndarray__": True, b"dtype": "<f8", b"data": b"12345678", b"shape": (2,)}}),
            "reshape",
        ),
        ("text", "of type str came, expected bytes"),
        (array_of(data="12345678"), "data of type str came, expected bytes"),
        (array_of(data=None), "data of type NoneType came, expected bytes"),
        (array_of(dtype="<f3"), "cannot be read"),
        (array_of(dtype=None), "expected numbers"),
        (array_of(dtype=[["a", "<f8"]]), "expected numbers"),
        (array_of(shape=None), "expected a list of sizes"),
        (array_of(shape=(-1,)), "expected a list of sizes"),
        (array_of(shape=("1",)), "expected a list of sizes"),
        (array_of(shape=(2**63,)), "imension"),
        (msgpack.packb({"x": {b"__npgeneric__": True, b"dtype": "|u1", b"data": 300}}), "cannot be read"),
        (msgpack.packb({"x": {b"__npgeneric__": True, b"dtype": "<f8", b"data": [1]}}), "expected int or float"),
    ],
)
def test_a_message_that_holds_something_else_is_refused(data, text):
    with pytest.raises(ValueError, match=text):
        unpack(data)


def test_what_is_no_number_is_not_sent():
    with pytest.raises(TypeError, match="cannot be sent"):
        pack({"x": np.array([object()])})


def env_of(observation_map: dict[str, Any] | None = None, **action: Any) -> Any:
    """Returns what a client needs of an environment with one arm of seven joints and a gripper."""
    cfg = SimpleNamespace(
        observation=ObservationCfg(map=observation_map or {}),
        action=ActionCfg(**action),
        world=SimpleNamespace(record_hz=15),
    )
    shapes = {"q": (7,), "points": (4, 3), "front": (8, 8, 3)}
    spaces = {key: SimpleNamespace(shape=shape) for key, shape in shapes.items()}
    size = SimpleNamespace(shape=(8,))
    return SimpleNamespace(cfg=cfg, observation_space=spaces, action_space=size, hold_action=lambda: np.zeros(8))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ([], "'state: []'. Expected the name of a source"),
        (3, "'state: 3'. Expected the name of a source"),
        (None, "'state: None'. Expected the name of a source"),
        (["q", 3], "Expected the name of a source"),
        ({"q": 1}, "Expected the name of a source"),
        (["q", "language"], "'language' in the list of 'state'"),
        (["front"], "'front' in the list of 'state'"),
    ],
)
def test_a_map_with_a_source_that_cannot_be_sent_is_refused(source, text):
    with pytest.raises(ConfigError, match=re.escape(text)) as caught:
        ObservationMap(env_of({"state": source}))
    assert caught.value.values["key"] == "observation.map"


def test_a_list_of_sources_is_joined_to_one_vector():
    observation = {"q": np.arange(7.0), "points": np.ones((4, 3))}
    found = ObservationMap(env_of({"state": ["q", "points"], "image": "front"})).message(
        {**observation, "front": np.zeros((8, 8, 3), np.uint8)}, "open it"
    )
    assert (found["state"].shape, found["image"].shape) == ((19,), (8, 8, 3))


@pytest.mark.parametrize(("latency_s", "frames"), [(0.0, 0), (0.01, 1), (1 / 15, 1), (0.08, 2), (0.2, 3), (0.201, 4)])
def test_a_latency_is_rounded_up_to_whole_frames(latency_s, frames):
    chunks = ChunkedActions(env_of(latency_s=latency_s))
    found = [chunks.next(lambda: np.ones((5, 8)))[0] for _ in range(frames + 1)]
    assert found == [0.0] * frames + [1.0]


def test_a_server_that_answers_no_pings_while_it_infers_is_waited_for(serve, monkeypatch):
    def infer(message: dict[str, Any]) -> dict[str, Any]:
        time.sleep(1.0)  # in the event loop, as policies do
        return {"actions": np.ones((1, 8))}

    connect = websockets.sync.client.connect
    quick = {"ping_interval": 0.1, "ping_timeout": 0.1}
    monkeypatch.setattr(websockets.sync.client, "connect", lambda uri, **given: connect(uri, **{**quick, **given}))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with contextlib.closing(OpenpiPolicy(f"127.0.0.1:{serve(infer).port}", env_of(), timeout_s=10.0)) as policy:
        policy.reset({}, {"seed": 0, "episode": 0, "language": []})
        np.testing.assert_array_equal(policy.act({}), np.ones(8))


@pytest.mark.parametrize("answer", [b"\x01", "a text", array_of(data=None)])
def test_a_server_that_breaks_the_protocol_is_named_and_its_connection_closed(answer):
    ended = threading.Event()

    def handle(socket: Any) -> None:
        socket.send(answer)
        with contextlib.suppress(ConnectionClosed):
            socket.recv(timeout=5)
        ended.set()

    with websockets.sync.server.serve(handle, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        with pytest.raises(ConfigError, match="does not answer as a policy server") as caught:
            OpenpiPolicy(f"127.0.0.1:{port}", env_of(), timeout_s=5.0)
        assert ended.wait(2), caught
        server.shutdown()
        thread.join(10)


def test_an_answer_that_cannot_be_read_is_an_error_of_the_server(serve):
    server = serve(lambda message: {"actions": {b"__ndarray__": True, b"dtype": "<f8"}})
    with contextlib.closing(OpenpiPolicy(f"127.0.0.1:{server.port}", env_of(), timeout_s=5.0)) as policy:
        policy.reset({}, {"seed": 0, "episode": 0, "language": []})
        with pytest.raises(PolicyServerError, match="breaks the protocol: An array with data of type NoneType"):
            policy.act({})


def test_a_message_that_is_too_large_is_not_read(serve, monkeypatch):
    monkeypatch.setattr(openpi, "MAX_MESSAGE_BYTES", 1000)
    server = serve(lambda message: {"actions": np.ones((100, 8))})
    with contextlib.closing(OpenpiPolicy(f"127.0.0.1:{server.port}", env_of(), timeout_s=5.0)) as policy:
        policy.reset({}, {"seed": 0, "episode": 0, "language": []})
        with pytest.raises(PolicyServerError, match="1009"):
            policy.act({})


def test_an_image_stands_in_the_middle_of_a_black_square_as_openpis_client_puts_it():
    image = np.random.default_rng(0).integers(1, 255, (126, 224, 3), dtype=np.uint8)
    square = pad_to_square(image)
    np.testing.assert_array_equal(square[49:175], image)
    assert not square[:49].any()
    assert not square[175:].any()
    tools = pytest.importorskip("openpi_client.image_tools")
    np.testing.assert_array_equal(square, tools.resize_with_pad(image, 224, 224))


@pytest.mark.slow
def test_droid_messages_have_the_keys_shapes_and_units_of_droid(serve, here):
    def infer(message: dict[str, Any]) -> dict[str, Any]:
        return {"actions": np.tile([0.0] * 7 + [1.0], (10, 1)).astype(np.float32)}

    server = serve(infer)
    words = ["experiment=droid", "episodes=1", "task.max_duration_s=2", "out=eval", "workers=1"]
    assert evaluate([*COMMON, *words, f"policy=openpi://127.0.0.1:{server.port}"]) == 0
    message = server.seen[0]
    images = ("observation/exterior_image_1_left", "observation/wrist_image_left")
    numbers = {"observation/joint_position": (7,), "observation/gripper_position": (1,)}
    assert set(message) == {*images, *numbers, "prompt"}
    assert all((message[key].shape, message[key].dtype) == ((224, 224, 3), np.uint8) for key in images)
    assert {key: message[key].shape for key in numbers} == numbers
    assert isinstance(message["prompt"], str)
    assert "drawer" in message["prompt"]
    record = DataSet.open("eval").read(0)
    # of each answer, 8 actions are executed; the reset has made 3 frames before
    assert len(server.seen) == -(-(record.n_actions - 3) // 8)
    # 1 closes the gripper, so that DROID's number of a gripper rises from 0 to 1
    assert record.arrays["actions.franka_panda.left.gripper_target"][-1] == 0.0
    grippers = [float(message["observation/gripper_position"][0]) for message in server.seen]
    assert grippers[0] == pytest.approx(0.0, abs=0.01)
    assert grippers[-1] == pytest.approx(1.0, abs=0.01)
    # changes of 0 keep the joint targets
    targets = record.arrays["actions.franka_panda.left.joint_targets"]
    np.testing.assert_array_equal(targets[4:], np.tile(targets[3], (len(targets) - 4, 1)))


@pytest.mark.slow
def test_libero_messages_have_the_keys_and_shapes_of_libero(serve, here):
    server = serve(lambda message: {"actions": np.zeros((5, 7))})
    words = ["experiment=libero", "episodes=1", "task.max_duration_s=1", "out=eval"]
    assert evaluate([*COMMON, *words, f"policy=openpi://127.0.0.1:{server.port}"]) == 0
    shapes = {key: value.shape for key, value in server.seen[0].items() if key != "prompt"}
    image = (224, 224, 3)
    assert shapes == {"observation/image": image, "observation/wrist_image": image, "observation/state": (8,)}


def ramp(message: dict[str, Any]) -> dict[str, Any]:
    """Returns five actions, of which each turns the last joint on by 0.01 rad from where it is."""
    q = message["robots.franka_panda.left.joint_positions"]
    actions = np.tile([*q, 0.08], (5, 1))
    actions[:, 6] += 0.01 * np.arange(1, 6)
    return {"actions": actions}


@pytest.mark.slow
def test_the_arms_hold_their_targets_until_an_answer_arrives(serve, here):
    server = serve(ramp)
    words = ["action.chunk=3", "action.latency_s=0.1", "episodes=1", "task.max_duration_s=1", "out=eval"]
    assert evaluate([*COMMON, *words, f"policy=openpi://127.0.0.1:{server.port}"]) == 0
    targets = DataSet.open("eval").read(0).arrays["actions.franka_panda.left.joint_targets"][:, 6]
    moves = np.diff(targets[4:]) != 0.0
    # 3 frames in which the answer comes (0.1 s), then 3 actions of it
    np.testing.assert_array_equal(moves[:12], [False] * 3 + [True] * 3 + [False] * 3 + [True] * 3)
    assert DataSet.open("eval").header["evaluate"]["action"]["latency_s"] == 0.1
    assert check_dataset("eval") == []


@pytest.mark.slow
def test_lost_answers_are_recorded_and_the_same_in_a_second_run(serve, here):
    server = serve(ramp)
    words = ["action.lost_share=0.5", "action.latency_s=0.1", "episodes=2", "task.max_duration_s=2"]
    policy = f"policy=openpi://127.0.0.1:{server.port}"
    assert [evaluate([*COMMON, *words, policy, f"out={out}"]) for out in ("first", "second")] == [0, 0]
    first, second = ([DataSet.open(out).read(k).events for k in range(2)] for out in ("first", "second"))
    assert first == second
    assert first[0] != first[1]
    assert {event["event"] for events in first for event in events} == {"answer_lost"}
    asked = len(server.seen) / 2
    assert 0.2 < sum(map(len, first)) / asked < 0.8
    assert check_dataset("first") == []


@pytest.mark.slow
def test_a_correction_may_lose_answers_before_the_planner_takes_over(serve, here):
    server = serve(ramp)
    words = ["action.lost_share=0.5", "action.latency_s=0.1", "episodes=1", "takeover=40", "out=corrected"]
    collect([*COMMON, *words, f"policy=openpi://127.0.0.1:{server.port}"])
    events = [event["event"] for event in DataSet.open("corrected").read(0).events]
    assert events[0] == "answer_lost"
    assert "takeover" in events
    assert check_data_set(DataSet.open("corrected")) == []


@pytest.mark.slow
def test_keys_of_a_server_are_refused_for_a_correction_without_one(run_command, here):
    code, _, said = run_command("collect", *COMMON, "policy=random", "action.chunk=3", "out=corrected")
    assert (code, "action.chunk=3 has no effect" in said) == (2, True)


@pytest.mark.slow
def test_a_server_that_fails_ends_the_run_with_its_traceback(serve, here, capsys):
    def infer(message: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("no checkpoint")

    server = serve(infer)
    assert evaluate([*COMMON, "episodes=1", "out=eval", f"policy=openpi://127.0.0.1:{server.port}"]) == 1
    assert "KeyError: 'no checkpoint'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"actions": np.zeros((5, 7))}, "of shape [5, 7], expected an array of shape [T, 8]"),
        ({"actions": np.zeros((0, 8))}, "of shape [0, 8], expected an array of shape [T, 8]"),
        ({}, "'actions' of type NoneType, expected an array of shape [T, 8]"),
    ],
)
def test_an_answer_of_another_form_ends_the_run_and_says_what_was_expected(serve, here, capsys, answer, text):
    server = serve(lambda message: answer)
    assert evaluate([*COMMON, "episodes=1", "out=eval", f"policy=openpi://127.0.0.1:{server.port}"]) == 1
    assert text in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["policy=openpi://127.0.0.1:1"], "policy='openpi://127.0.0.1:1' does not answer as a policy server"),
        (["policy=random", "action.chunk=3"], "action.chunk=3 has no effect: the policy is no server"),
        (["policy=openpi://x", "observation.map={state: joints}"], "'state: joints', and 'joints' is not observed."),
        (["policy=openpi://x", "observation.map={state: robots.*}"], "and 'robots.*' matches 1"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(assert_refused, here, words, text):
    assert_refused("evaluate", *COMMON, *words, "out=eval", text=text, folder=here)


def test_a_collection_of_corrections_is_refused_before_anything_is_written(assert_refused, here):
    words = [f"task={TASK}", "policy=random", "action.chunk=3", "out=set"]
    assert_refused("collect", *words, text="action.chunk=3 has no effect", folder=here)


@pytest.fixture(scope="module")
def demonstrations(collected) -> Path:
    return collected(TASK, seed=3, episodes=2)


@pytest.mark.slow
def test_recorded_actions_through_a_server_reach_the_recorded_states_and_success(demonstrations, here):
    with serving(f"recorded:{demonstrations}", "seed=3") as server:
        words = ["seed=3", "episodes=2", "success_when=still", "out=eval"]
        assert evaluate([*COMMON, *words, f"policy=openpi://127.0.0.1:{server.port}"]) == 0
    made, played = DataSet.open(demonstrations), DataSet.open("eval")
    assert [item.success for item in played.summaries()] == [item.success for item in made.summaries()] == [True, True]
    for number in range(2):
        key = "objects.drawer.joint_positions"
        np.testing.assert_array_equal(played.read(number).arrays[key], made.read(number).arrays[key])
    assert check_dataset("eval") == []


@pytest.mark.slow
def test_recorded_actions_of_another_seed_are_refused_by_the_server(demonstrations, here, capsys):
    with serving(f"recorded:{demonstrations}", "seed=3") as server:
        assert evaluate([*COMMON, "episodes=1", "out=eval", f"policy=openpi://127.0.0.1:{server.port}"]) == 1
    assert "Set the seed of the run with which it was made." in capsys.readouterr().err


@pytest.mark.slow
def test_the_planner_as_a_policy_makes_the_episodes_of_collect(demonstrations, here):
    assert evaluate([*COMMON, "seed=3", "episodes=2", "policy=planner", "out=eval"]) == 0
    for number in range(2):
        made, played = (DataSet.open(path).read(number).arrays for path in (demonstrations, "eval"))
        key = "robots.franka_panda.left.joint_positions"
        np.testing.assert_array_equal(played[key], made[key])


@pytest.mark.slow
def test_an_error_of_the_planner_is_an_error_of_the_episode_and_no_failure(here, monkeypatch):
    def run(attempt: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(runner.Attempt, "run", run)
    evaluate([*COMMON, "seed=3", "episodes=1", "policy=planner", "out=eval"])
    record = DataSet.open("eval").read(0)
    assert record.code == "error"
    assert "The planner's own episode 0 ended as error: KeyError: 'a bug'" in str(record.evidence)


@pytest.mark.slow
def test_a_policy_that_never_looks_does_what_the_planner_does_in_another_episode(demonstrations, here):
    assert evaluate([*COMMON, "seed=3", "episodes=1", "policy=never_looks", "task.max_duration_s=3", "out=eval"]) == 0
    made, played = (DataSet.open(path).read(0) for path in (demonstrations, "eval"))
    assert made.layout["objects"] == played.layout["objects"]
    first, other = (record.arrays["actions.franka_panda.left.joint_targets"] for record in (made, played))
    np.testing.assert_array_equal(first[:5], other[:5])  # the reset
    assert np.abs(first[60:80] - other[60:80]).max() > 0.01
    assert check_dataset("eval") == []


STILL = """
import numpy as np
episodes = []
class Still:
    def __init__(self, observation_space, action_space):
        self.n = 0
    def reset(self, observation, info):
        episodes.append((info["episode"], info["language"]))
        self.n = 0
    def act(self, observation):
        self.n += 1
        return None if self.n > 2 else np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)
def fails(observation):
    raise KeyError("wrist")
"""


def test_openpis_own_client_works_with_our_server(here):
    client_module = pytest.importorskip("openpi_client.websocket_client_policy")
    (here / "still_policy.py").write_text(STILL)
    with serving("still_policy:Still") as server:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz", timeout=10) as answer:
            assert (answer.status, answer.read()) == (200, b"OK\n")
        client = client_module.WebsocketClientPolicy("127.0.0.1", server.port)
        metadata = client.get_server_metadata()
        assert (metadata[NAME], metadata["task"], metadata["action_low"].shape) == ("module", TASK, (8,))
        q = np.linspace(0.0, 0.6, 7)
        message = {"robots.franka_panda.left.joint_positions": q, "prompt": "close the drawer"}
        first, second, third = (client.infer(message) for _ in range(3))
        np.testing.assert_array_equal(first["actions"], [[*q, 0.04]])
        assert first["server_timing"]["infer_ms"] >= 0.0
        assert "prev_total_ms" in second["server_timing"]
        assert (third["actions"].shape, third[DONE]) == ((0, 8), True)
        assert sys.modules["still_policy"].episodes == [(0, ["close the drawer"])]
        assert client.infer({**message, "unlatch/episode": 1})["actions"].shape == (1, 8)


def test_a_server_that_is_closed_ends_its_connections_before_its_environment(here, monkeypatch):
    (here / "still_policy.py").write_text(STILL)
    cfg = load_config("evaluate", EvaluateCfg, [*COMMON, "policy=still_policy:Still"]).cfg
    server = PolicyServer(cfg, host="127.0.0.1", port=0)
    closed: list[str] = []
    close = server._env.close
    monkeypatch.setattr(server._env, "close", lambda: (closed.append("environment"), close()))
    monkeypatch.setattr(catalog.UserPolicy, "close", lambda policy: closed.append("policy"))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with websockets.sync.client.connect(f"ws://127.0.0.1:{server.port}", proxy=None) as socket:
        assert unpack(socket.recv(timeout=5))[NAME] == "module"
        server.close()
        assert closed == ["policy", "environment"]
        with pytest.raises(ConnectionClosed) as caught:
            socket.recv(timeout=5)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1001
    thread.join(10)
    assert not thread.is_alive()


def test_a_page_of_a_browser_cannot_connect(here):
    with serving("random") as server, pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
        websockets.sync.client.connect(f"ws://127.0.0.1:{server.port}", proxy=None, origin="http://evil.example")


def test_the_address_that_is_printed_can_be_reached():
    assert [reachable_name(host) for host in ("0.0.0.0", "::")] == 2 * [socket.gethostname()]
    assert [reachable_name(host) for host in ("127.0.0.1", "::1")] == ["127.0.0.1", "[::1]"]


def test_openpis_own_client_gets_the_traceback_of_a_policy_that_fails(here, monkeypatch):
    client_module = pytest.importorskip("openpi_client.websocket_client_policy")
    monkeypatch.delitem(sys.modules, "still_policy", raising=False)
    (here / "still_policy.py").write_text(STILL)
    with serving("still_policy:fails") as server:
        client = client_module.WebsocketClientPolicy("127.0.0.1", server.port)
        with pytest.raises(RuntimeError, match=r"KeyError: 'wrist'"):
            client.infer({"prompt": ""})


@pytest.mark.slow
def test_the_command_serves_the_planner_until_ctrl_c(here, demonstrations):
    command = [sys.executable, "-u", "-m", "unlatch", "serve", "planner", f"task={TASK}", "seed=3", "port=0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("serving planner at openpi://127.0.0.1:"), (said, process.stderr)
        address = said.split()[3].rstrip(";")
        words = ["seed=3", "episodes=2", "success_when=still", "out=eval"]
        assert evaluate([*COMMON, *words, f"policy={address}"]) == 0
        with websockets.sync.client.connect(address.replace("openpi", "ws"), proxy=None):  # a client that stays
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
    assert [item.success for item in DataSet.open("eval").summaries()] == [True, True]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "serve got 0 policies (none), expected one."),
        (["random", "planner"], "serve got 2 policies (random planner), expected one."),
        (["random", "port=70000"], "port=70000"),
        (["openpi://127.0.0.1:8000"], "policy='openpi://127.0.0.1:8000' is a policy server already"),
        (["tcp://127.0.0.1:5555"], "policy='tcp://127.0.0.1:5555' is a policy server already"),
        (["random", "action.latency_s=0.1"], "action.latency_s=0.1 has no effect"),
        (
            ["someone"],
            "Expected one of: lerobot:PATH, lerobot://host:port/type/checkpoint, module:name, never_looks, "
            "openpi://host:port, planner, random",
        ),
    ],
)
def test_serve_refuses_what_it_cannot_serve(assert_refused, here, words, text):
    assert_refused("serve", *words, f"task={TASK}", text=text, folder=here)


@pytest.mark.slow
def test_a_port_that_is_taken_is_named():
    cfg = load_config("evaluate", EvaluateCfg, [*COMMON, "policy=random"]).cfg
    with serving("random") as server, pytest.raises(ConfigError, match=f"port={server.port} of host=127.0.0.1"):
        PolicyServer(cfg, host="127.0.0.1", port=server.port)
