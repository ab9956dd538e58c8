"""A policy of LeRobot behind the server of its asynchronous inference."""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock, Timeout

from unlatch.simcore.cache import cache_root, make_cache_folder
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.recording.export.columns import IMAGE, STATE
from unlatch.workflows.policies.openpi import ServedPolicy, check_actions
from unlatch.workflows.policies.processes import PolicyServerError, slow_server

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv

Array = np.ndarray

_import = partial(import_extra, extra="lerobot", needed_by="policy=lerobot://")
_LOADING_S = 600.0
"""Longest time in which a server loads a checkpoint [s]."""
_MOST_ACTIONS = 10_000
_RELEASE_S = 1.0
"""How long a policy waits for a server that another one of this user is about to leave [s]."""


class LeRobotServerPolicy(ServedPolicy):
    """Requests chunks of actions from `lerobot.async_inference.policy_server`, which loads the checkpoint.

    Both sides send pickles: a server can run code here, so it must be trusted. It has one policy and one queue for all
    its clients, so a second policy of this user and host is refused until this one is closed.
    """

    def __init__(self, address: str, env: UnlatchEnv, *, timeout_s: float) -> None:
        """Connects, and lets the server load the checkpoint.

        Args:
            address: `host:port/type/checkpoint`: a type of LeRobot's, such as `act`, and a folder of the server or a
                name on the Hub.
            env: The environment.
            timeout_s: How long one answer may take [s].

        Raises:
            ConfigError: The address cannot be read, `observation.state` is not observed, no server answers, or another
                policy uses it.
            PolicyServerError: It cannot load the checkpoint.
            PluginError: LeRobot or gRPC is not installed.
        """
        super().__init__(env)
        self._server, _, policy = address.partition("/")
        kind, _, checkpoint = policy.partition("/")
        if not self._server.rpartition(":")[2].isdigit() or not kind or not checkpoint:
            raise ConfigError(
                f"policy='lerobot://{address}' cannot be read. Expected lerobot://host:port/type/checkpoint, such as "
                "lerobot://127.0.0.1:8080/act/outputs/drawers/checkpoints/last/pretrained_model.",
                key="policy",
            )
        observed: Any = env.observation_space
        spaces = observed.spaces
        if STATE not in spaces:
            raise ConfigError(
                f"policy='lerobot://{address}' needs '{STATE}', which is not observed. Set observation.columns=true.",
                key="observation.columns",
            )
        self._names = [f"state_{i}" for i in range(spaces[STATE].shape[0])]
        self._images = [key for key in spaces if key.startswith(IMAGE)]
        self._timeout_s, self._asked = timeout_s, 0
        self._grpc: Any = _import("grpc")
        self._messages: Any = _import("lerobot.transport.services_pb2")
        self._transport: Any = _import("lerobot.transport.utils")
        self._helpers: Any = _import("lerobot.async_inference.helpers")
        services: Any = _import("lerobot.transport.services_pb2_grpc")
        features: dict[str, Any] = {
            key: {"dtype": "image", "shape": spaces[key].shape, "names": ["height", "width", "channels"]}
            for key in self._images
        }
        features[STATE] = {"dtype": "float32", "shape": spaces[STATE].shape, "names": self._names}
        asked = self._helpers.RemotePolicyConfig(kind, checkpoint, features, env.cfg.action.chunk or _MOST_ACTIONS)
        setup = self._messages.PolicySetup(data=pickle.dumps(asked))
        self._lock = _lock_server(self._server)
        self._channel = self._grpc.insecure_channel(self._server, self._transport.grpc_channel_options())
        with ExitStack() as on_error:
            on_error.callback(self.close)
            self._stub: Any = services.AsyncInferenceStub(self._channel)
            try:
                with self._reporting(timeout_s):
                    self._stub.Ready(self._messages.Empty(), timeout=timeout_s)
            except PolicyServerError as exc:
                raise ConfigError(
                    f"policy='lerobot://{address}' does not answer. Start the server first: python -m "
                    f"lerobot.async_inference.policy_server --host=127.0.0.1 --port=8080. {exc.message}",
                    key="policy",
                ) from exc
            with self._reporting(_LOADING_S):
                self._stub.SendPolicyInstructions(setup, timeout=_LOADING_S)
            on_error.pop_all()

    @contextmanager
    def _reporting(self, timeout_s: float) -> Iterator[None]:
        """Makes what goes wrong in the server an error of it."""
        try:
            yield
        except self._grpc.RpcError as exc:
            if exc.code() is self._grpc.StatusCode.DEADLINE_EXCEEDED:
                raise slow_server(self._server, timeout_s) from exc
            raise PolicyServerError(f"Policy server {self._server} reports:\n{exc.details()}") from exc

    def _ask(self, observation: Mapping[str, Array]) -> Array:
        seen = dict(zip(self._names, map(float, observation[STATE]), strict=True))
        seen |= {key.removeprefix(IMAGE): observation[key] for key in self._images}
        self._asked += 1
        timed = self._helpers.TimedObservation(
            timestamp=time.time(),
            timestep=self._asked,
            observation={**seen, "task": self._instruction},
            must_go=True,
        )
        message = self._transport.send_bytes_in_chunks(pickle.dumps(timed), self._messages.Observation)
        with self._reporting(self._timeout_s):
            self._stub.SendObservations(message, timeout=self._timeout_s)
            answer = self._stub.GetActions(self._messages.Empty(), timeout=self._timeout_s)
        who = f"Policy server {self._server}"
        try:
            rows = [item.get_action().numpy() for item in pickle.loads(answer.data)] if answer.data else []
            actions = np.stack(rows) if rows else None
        except Exception as exc:  # a pickle may raise anything
            raise PolicyServerError(
                f"{who} sent actions that cannot be read ({type(exc).__name__}: {exc}). Expected a list of LeRobot's "
                "TimedAction. Install the same version of LeRobot on both sides."
            ) from exc
        if actions is None:
            raise PolicyServerError(
                f"{who} sent no actions: its policy failed. Look at what it printed; sensors, observation.state and "
                "their sizes must be those of the training."
            )
        return check_actions(actions, self._size, who)

    def close(self) -> None:
        """See `Policy`."""
        self._channel.close()
        self._lock.release()


def _lock_server(server: str) -> FileLock:
    """Returns a held lock of this user and host for a server, whichever name of its host the address has.

    Raises:
        ConfigError: Another policy uses the server, or the cache cannot be written.
    """
    host, _, port = server.rpartition(":")
    with suppress(OSError, UnicodeError):  # the call of the server says so
        host = socket.gethostbyname(host)
    folder = cache_root() / "policy_servers"
    try:
        make_cache_folder(folder)
        lock = FileLock(folder / f"{host}-{port}.lock", timeout=_RELEASE_S, thread_local=False)
        lock.acquire()
    except Timeout as exc:
        raise ConfigError(
            f"Policy server {server} is in use by another evaluation, and has one policy for all. Set workers=1, wait "
            "for the other one, or start a second server at another port.",
            key="policy",
        ) from exc
    except OSError as exc:
        raise ConfigError(f"{folder} cannot be locked ({exc}). Expected a folder that you can write to.") from exc
    return lock
