"""`unlatch serve`: a policy of ours, or the planner, behind openpi's protocol."""

from __future__ import annotations

import threading
import time
import traceback
from contextlib import closing, suppress
from http import HTTPStatus
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.rng import episode_seed
from unlatch.workflows.policies.catalog import SERVERS, Policy, check_server_keys, load_policy, parse_spec
from unlatch.workflows.policies.openpi import DONE, EPISODE, MAX_MESSAGE_BYTES, NAME, PROMPT, SEED, extra, pack, unpack
from unlatch.workflows.runs.evaluate import make_env_of
from unlatch.workflows.runs.schema import EvaluateCfg
from unlatch.workflows.viewing.page_server import reachable_name

Array = np.ndarray


class PolicyServer:
    """Answers observations with one action each; every connection has a policy of its own.

    An episode begins with the first message of a connection, and where `unlatch/episode` or `unlatch/seed` changes.
    """

    def __init__(self, cfg: EvaluateCfg, *, host: str, port: int) -> None:
        """Makes the environment, tries the policy, and listens; port 0 takes a free one.

        Raises:
            ConfigError: The policy cannot be made or is a server itself, a key has no effect, or the port is taken.
            PluginError: websockets or msgpack is not installed.
        """
        kind, _ = parse_spec(cfg.policy)
        if kind in SERVERS:
            raise ConfigError(
                f"policy='{cfg.policy}' is a policy server already. Expected a policy of this computer. Give its "
                "address to `unlatch evaluate`.",
                key="policy",
            )
        check_server_keys(cfg.policy, cfg.action, cfg.observation)
        self._cfg = cfg
        self._env = make_env_of(cfg)
        self._lock = threading.Lock()
        self._open: dict[Any, threading.Thread] = {}
        self._is_closing = False
        self._metadata = {
            NAME: kind,
            "task": cfg.task.name,
            "robot": cfg.robot.name,
            "action_mode": cfg.action.mode.value,
            "frame_hz": cfg.world.record_hz,
            "action_low": self._env.action_space.low,
            "action_high": self._env.action_space.high,
        }
        self._make_policy().close()  # an error comes before anybody connects
        try:
            self._server = extra("websockets.sync.server").serve(
                self._handle,
                host,
                port,
                compression=None,
                max_size=MAX_MESSAGE_BYTES,
                origins=[None],  # programs only: a browser names the page that connects
                process_request=_answer_health_check,
            )
        except (OSError, OverflowError) as exc:
            raise ConfigError(
                f"port={port} of host={host} cannot be opened ({exc}). Expected a free port of this machine. Set "
                "another one.",
                key="port",
            ) from exc
        self.port: int = self._server.socket.getsockname()[1]
        self.address = f"openpi://{reachable_name(host)}:{self.port}"

    def _make_policy(self) -> Policy:
        return load_policy(self._cfg.policy, self._env, timeout_s=self._cfg.policy_timeout_s)

    def serve_forever(self) -> None:
        """Serves until `close` is called."""
        self._server.serve_forever()

    def close(self) -> None:
        """Ends the server and its connections, after the answers that are being made."""
        self._server.shutdown()
        with self._lock:
            self._is_closing = True
            connections = dict(self._open)
        for connection in connections:
            connection.close(1001)  # going away
        for thread in connections.values():
            thread.join()
        self._env.close()

    def _handle(self, socket: Any) -> None:
        with self._lock:
            if self._is_closing:
                return
            self._open[socket] = threading.current_thread()
        try:
            self._answer(socket)
        finally:
            with self._lock:
                del self._open[socket]

    def _answer(self, socket: Any) -> None:
        """Answers the messages of one connection until it is closed."""
        closed = extra("websockets.exceptions").ConnectionClosed
        with suppress(closed), closing(self._make_policy()) as policy:
            socket.send(pack(self._metadata))
            begun: tuple[Any, Any] | None = None
            last_s: float | None = None
            for data in socket:
                start = time.perf_counter()
                try:
                    message = unpack(data)
                    episode = int(message.pop(EPISODE, 0))
                    info = {
                        "episode": episode,
                        "seed": message.pop(SEED, episode_seed(self._cfg.seed, episode)),
                        "language": [message.pop(PROMPT, "")],
                    }
                    if begun != (info["episode"], info["seed"]):
                        begun = info["episode"], info["seed"]
                        policy.reset(message, info)
                    asked = time.perf_counter()
                    answer = _describe(policy.act(message), self._env.action_space.shape[0])
                except Exception:  # noqa: BLE001 - whatever is wrong with a message or a policy, the client is told
                    socket.send(traceback.format_exc())
                    socket.close(1011, "Internal server error. Traceback included in previous frame.")
                    return
                answer["server_timing"] = {"infer_ms": 1e3 * (time.perf_counter() - asked)}
                if last_s is not None:
                    answer["server_timing"]["prev_total_ms"] = 1e3 * last_s
                socket.send(pack(answer))
                last_s = time.perf_counter() - start


def _describe(action: Array | None, size: int) -> dict[str, Any]:
    """Returns the answer of an action: a chunk of one row."""
    if action is None:
        return {"actions": np.zeros((0, size)), DONE: True}
    return {"actions": np.asarray(action, dtype=float)[np.newaxis]}


def _answer_health_check(connection: Any, request: Any) -> Any:
    return connection.respond(HTTPStatus.OK, "OK\n") if request.path == "/healthz" else None
