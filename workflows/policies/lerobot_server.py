"""A policy of LeRobot behind the server of its asynchronous inference."""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.export.columns import IMAGE, STATE
from unlatch.simcore.registry import import_extra
from unlatch.workflows.policies.openpi import ServedPolicy, check_actions
from unlatch.workflows.policies.processes import PolicyServerError, slow_server

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv

Array = np.ndarray

_import = partial(import_extra, extra="lerobot", needed_by="policy=lerobot://")
_LOADING_S = 600.0
"""Longest time in which a server loads a checkpoint [s]."""
_MOST_ACTIONS = 10_000


class LeRobotServerPolicy(ServedPolicy):
    """Requests chunks of actions from `lerobot.async_inference.policy_server`, which loads the checkpoint.

    Both sides send pickles: a server can run code here, so it must be trusted. It has one policy and one queue for all
    its clients; a lock of this host lets one worker ask at a time.
    """

    def __init__(self, address: str, env: UnlatchEnv, *, timeout_s: float) -> None:
        """Connects, and lets the server load the checkpoint.

        Args:
            address: `host:port/type/checkpoint`: a type of LeRobot's, such as `act`, and a folder of the server or a
                name on the Hub.
            env: The environment.
            timeout_s: How long one answer may take [s].

        Raises:
            ConfigError: The address cannot be read, `observation.state` is not observed, or no server answers.
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
        self._lock = FileLock(Path(tempfile.gettempdir(), f"unlatch-{self._server.replace(':', '-')}.lock"))
        self._grpc: Any = _import("grpc")
        self._messages: Any = _import("lerobot.transport.services_pb2")
        self._transport: Any = _import("lerobot.transport.utils")
        self._helpers: Any = _import("lerobot.async_inference.helpers")
        features: dict[str, Any] = {
            key: {"dtype": "image", "shape": spaces[key].shape, "names": ["height", "width", "channels"]}
            for key in self._images
        }
        features[STATE] = {"dtype": "float32", "shape": spaces[STATE].shape, "names": self._names}
        asked = self._helpers.RemotePolicyConfig(kind, checkpoint, features, env.cfg.action.chunk or _MOST_ACTIONS)
        self._channel = self._grpc.insecure_channel(self._server, self._transport.grpc_channel_options())
        self._stub: Any = _import("lerobot.transport.services_pb2_grpc").AsyncInferenceStub(self._channel)
        try:
            with self._asking(timeout_s):
                self._stub.Ready(self._messages.Empty(), timeout=timeout_s)
        except PolicyServerError as exc:
            self.close()
            raise ConfigError(
                f"policy='lerobot://{address}' does not answer. Start the server first: python -m "
                f"lerobot.async_inference.policy_server --host=127.0.0.1 --port=8080. {exc.message}",
                key="policy",
            ) from exc
        with self._asking(_LOADING_S):
            setup = self._messages.PolicySetup(data=pickle.dumps(asked))
            self._stub.SendPolicyInstructions(setup, timeout=_LOADING_S)

    @contextmanager
    def _asking(self, timeout_s: float) -> Iterator[None]:
        """Lets no other worker ask meanwhile; what goes wrong is an error of the server."""
        with self._lock:
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
        with self._asking(self._timeout_s):
            self._stub.SendObservations(message, timeout=self._timeout_s)
            answer = self._stub.GetActions(self._messages.Empty(), timeout=self._timeout_s)
        if not answer.data:
            raise PolicyServerError(
                f"Policy server {self._server} sent no actions: its policy failed. Look at what it printed; sensors, "
                "observation.state and their sizes must be those of the training."
            )
        actions = pickle.loads(answer.data)
        return check_actions(
            np.stack([item.get_action().numpy() for item in actions]), self._size, f"Policy server {self._server}"
        )

    def close(self) -> None:
        """See `Policy`."""
        self._channel.close()
