"""LeRobot's asynchronous inference, its protocol made again; `make check-lerobot` tests it with LeRobot's server."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.workflows.policies import lerobot_server
from unlatch.workflows.policies.catalog import check_one_worker, check_server_keys, load_policy, parse_spec
from unlatch.workflows.policies.processes import PolicyServerError

Array = np.ndarray
SIZE, SIDE = 3, (4, 5)
SPEC = "lerobot://127.0.0.1:8080/act/outputs/drawers"


class RpcError(Exception):
    """An error of gRPC, as its client raises it."""

    def __init__(self, code: str) -> None:
        self._code = code

    def code(self) -> str:
        return self._code

    def details(self) -> str:
        return "it is gone"


@dataclass
class PolicyConfig:
    policy_type: str
    pretrained_name_or_path: str
    lerobot_features: dict[str, Any]
    actions_per_chunk: int


@dataclass
class TimedObservation:
    timestamp: float
    timestep: int
    observation: dict[str, Any]
    must_go: bool = False


@dataclass
class TimedAction:
    action: Any

    def get_action(self) -> Any:
        return SimpleNamespace(numpy=lambda: self.action)


@dataclass
class Server:
    """Answers the mean of each image and the states, one row for each frame to come."""

    asked: list[TimedObservation] = field(default_factory=list)
    setup: PolicyConfig | None = None
    rows: int = 6
    fails: str | None = None
    """Code of the error of every call; empty: an answer without actions."""
    loads: bool = True
    """Whether it can load the checkpoint."""
    answer: bytes | None = None
    """What it sends in place of actions."""
    channels: int = 0
    """Those that are open."""

    def open_channel(self, *_: Any) -> Any:
        self.channels += 1
        return self

    def close(self) -> None:
        self.channels -= 1

    def __call__(self, channel: Any) -> Server:
        return self

    def _check(self) -> None:
        if self.fails:
            raise RpcError(self.fails)

    def Ready(self, message: Any, timeout: float) -> None:
        self._check()

    def SendPolicyInstructions(self, message: Any, timeout: float) -> None:
        if not self.loads:
            raise RpcError("gone")
        self.setup = pickle.loads(message.data)

    def SendObservations(self, messages: Iterator[Any], timeout: float) -> None:
        self._check()
        self.asked.append(pickle.loads(b"".join(message.data for message in messages)))

    def GetActions(self, message: Any, timeout: float) -> Any:
        if self.fails == "":
            return SimpleNamespace(data=b"")
        if self.answer is not None:
            return SimpleNamespace(data=self.answer)
        seen = self.asked[-1].observation
        row = np.array([seen[f"state_{i}"] for i in range(SIZE)]) + seen["front"].mean()
        return SimpleNamespace(data=pickle.dumps([TimedAction(row + k) for k in range(self.rows)]))


def split(data: bytes, message: Any) -> Iterator[Any]:
    yield message(data=data[:7])
    yield message(data=data[7:])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    found, message = Server(), lambda data=b"": SimpleNamespace(data=data)
    codes = SimpleNamespace(DEADLINE_EXCEEDED="late")
    modules: dict[str, Any] = {
        "grpc": SimpleNamespace(RpcError=RpcError, StatusCode=codes, insecure_channel=found.open_channel),
        "lerobot.transport.services_pb2": SimpleNamespace(Empty=message, PolicySetup=message, Observation=message),
        "lerobot.transport.services_pb2_grpc": SimpleNamespace(AsyncInferenceStub=found),
        "lerobot.transport.utils": SimpleNamespace(grpc_channel_options=list, send_bytes_in_chunks=split),
        "lerobot.async_inference.helpers": SimpleNamespace(
            RemotePolicyConfig=PolicyConfig, TimedObservation=TimedObservation
        ),
    }
    monkeypatch.setattr(lerobot_server, "_import", modules.__getitem__)
    monkeypatch.setattr(lerobot_server, "_RELEASE_S", 0.01)
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))
    return found


def env(chunk: int | None = None, *, actions: int = SIZE, state: str = "observation.state") -> Any:
    spaces = {
        state: Box(-9.0, 9.0, (SIZE,)),
        "observation.images.front": Box(0, 255, (*SIDE, 3), np.uint8),
        "observation.environment_state": Box(-9.0, 9.0, (2,)),
    }
    action = SimpleNamespace(chunk=chunk, latency_s=0.0, lost_share=0.0)
    cfg = SimpleNamespace(action=action, world=SimpleNamespace(record_hz=30))
    return SimpleNamespace(cfg=cfg, action_space=Box(-9.0, 9.0, (actions,)), observation_space=Dict(spaces))


def seen(state: float) -> dict[str, Array]:
    return {
        "observation.state": np.arange(SIZE) + state,
        "observation.images.front": np.full((*SIDE, 3), 2, np.uint8),
        "observation.environment_state": np.zeros(2),
    }


def begin(made: Any) -> Any:
    made.reset(seen(0.0), {"episode": 0, "seed": 7, "language": ["Close it."]})
    return made


def test_actions_are_those_of_the_server_which_is_asked_when_a_chunk_is_used_up(server):
    policy = begin(load_policy(SPEC, env(chunk=2)))
    given = [policy.act(seen(float(frame)))[0] for frame in range(4)]
    assert given == [2.0, 3.0, 4.0, 5.0]  # of the observations of frames 0 and 2
    assert [(item.timestep, item.must_go, item.observation["task"]) for item in server.asked] == [
        (1, True, "Close it."),
        (2, True, "Close it."),
    ]
    policy.close()


def test_the_server_learns_which_checkpoint_it_loads_and_what_it_gets(server):
    load_policy(SPEC, env()).close()
    asked = server.setup
    assert (asked.policy_type, asked.pretrained_name_or_path) == ("act", "outputs/drawers")
    assert {key: (item["dtype"], item["shape"]) for key, item in asked.lerobot_features.items()} == {
        "observation.state": ("float32", (SIZE,)),
        "observation.images.front": ("image", (*SIDE, 3)),
    }


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"fails": "gone"}, "Policy server 127.0.0.1:8080 reports:\nit is gone"),
        ({"fails": "late"}, "took longer than 60 s for one answer. Set policy_timeout_s"),
        ({"fails": ""}, "sent no actions: its policy failed. Look at what it printed"),
        ({"answer": pickle.dumps([])}, "sent no actions: its policy failed"),
        ({"answer": b"no pickle"}, r"sent actions that cannot be read \(UnpicklingError: .*Install the same version"),
        ({"answer": pickle.dumps([3])}, r"sent actions that cannot be read \(AttributeError: "),
        ({"rows": 6}, r"shape \[6, 3\], expected an array of shape \[T, 8\]"),
    ],
)
def test_what_goes_wrong_in_the_server_is_said(server, broken, said):
    policy = begin(load_policy(SPEC, env(actions=8 if "rows" in broken else SIZE)))
    vars(server).update(broken)
    with pytest.raises(PolicyServerError, match=said):
        policy.act(seen(0.0))


def test_a_server_has_one_policy_at_a_time_under_each_of_its_names(server):
    policy = load_policy(SPEC, env())
    with pytest.raises(ConfigError, match=r"Policy server localhost:8080 is in use .* Set workers=1"):
        load_policy(SPEC.replace("127.0.0.1", "localhost"), env())
    load_policy(SPEC.replace("8080", "8081"), env()).close()
    policy.close()
    server.loads = False  # a checkpoint that cannot be loaded leaves the server free
    with pytest.raises(PolicyServerError, match="it is gone"):
        load_policy(SPEC, env())
    server.loads = True
    load_policy(SPEC, env()).close()
    assert server.channels == 0


def test_a_cache_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "cache").write_text("")
    with pytest.raises(ConfigError, match=r"policy_servers cannot be locked \("):
        load_policy(SPEC, env())


@pytest.mark.parametrize(("workers", "said"), [(None, "one for each CPU core"), (2, "2")])
def test_several_workers_are_refused(workers, said):
    with pytest.raises(ConfigError, match=f"Expected workers=1, got {said}"):
        check_one_worker(SPEC, workers)
    check_one_worker(SPEC, 1)
    check_one_worker("openpi://localhost:1", workers)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("lerobot://127.0.0.1:8080/act", "Expected lerobot://host:port/type/checkpoint"),
        ("lerobot://127.0.0.1/act/x", "Expected lerobot://host:port/type/checkpoint"),
        ("lerobot_server://127.0.0.1:8080/act/x", "cannot be read. Expected one of: .*lerobot://host:port/type"),
    ],
)
def test_an_address_without_port_type_or_checkpoint_is_refused(server, spec, said):
    with pytest.raises(ConfigError, match=said):
        load_policy(spec, env())


def test_a_state_that_is_not_observed_and_a_server_that_does_not_answer_are_named(server):
    with pytest.raises(ConfigError, match=r"needs 'observation\.state', which is not observed"):
        load_policy(SPEC, env(state="robots.joints"))
    server.fails = "gone"
    with pytest.raises(ConfigError, match=r"does not answer. Start the server first: python -m lerobot\.async_infer"):
        load_policy(SPEC, env())


def test_without_lerobot_the_error_names_the_extra(monkeypatch):
    for name in ("grpc", "lerobot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PluginError, match=r"lerobot"):
        load_policy(SPEC, env())


def test_it_is_a_server_of_chunks_and_a_folder_is_none():
    assert parse_spec(SPEC) == ("lerobot_server", "127.0.0.1:8080/act/outputs/drawers")
    assert parse_spec("lerobot:outputs/drawers") == ("lerobot", "outputs/drawers")
    action = SimpleNamespace(server_keys=lambda: ["action.chunk=3"])
    check_server_keys(SPEC, action, SimpleNamespace(map={}))
    with pytest.raises(ConfigError, match=r"action\.chunk=3 has no effect"):
        check_server_keys("lerobot:outputs/drawers", action, SimpleNamespace(map={}))
