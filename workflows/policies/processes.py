"""Policies in other processes: one for all workers of an evaluation, or a server over TCP."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import struct
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

import cloudpickle
import numpy as np

from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.policies.catalog import PolicySpaces, ask_batch, find_target, make_object, parse_spec
from unlatch.workflows.policies.lerobot import can_batch, make_batched
from unlatch.workflows.runs.worker_processes import describe_exit, start_child

Array = np.ndarray

PROTOCOL = 1
"""Version of the protocol."""
MAX_HEADER_BYTES = 1 << 20
MAX_ARRAY_BYTES = 256 << 20
_DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")


class PolicyServerError(UnlatchError):
    """A policy server cannot be reached, is too slow, or breaks the protocol."""

    exit_code = 1


def slow_server(address: str, timeout_s: float) -> PolicyServerError:
    """Returns the error of a server that does not answer in time."""
    return PolicyServerError(
        f"Policy server {address} took longer than {timeout_s:g} s for one answer. Set policy_timeout_s, or make it "
        "faster."
    )


def send_message(connection: socket.socket, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Sends one message; the `type` of the header is the kind of message."""
    listed, chunks = [], []
    for name, value in arrays.items():
        array = np.ascontiguousarray(value)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        listed.append({"name": name, "dtype": array.dtype.name, "shape": list(np.shape(value))})
        chunks.append(array.tobytes())
    head = json.dumps({**header, "arrays": listed}).encode()
    connection.sendall(struct.pack(">I", len(head)) + head + b"".join(chunks))


def receive_message(connection: socket.socket) -> tuple[dict[str, Any], dict[str, Array]]:
    """Receives one message; returns its header and its arrays by name.

    Raises:
        PolicyServerError: The message does not follow the protocol.
        OSError: The connection broke or timed out.
    """
    (length,) = struct.unpack(">I", _read_bytes(connection, 4))
    if not 2 <= length <= MAX_HEADER_BYTES:
        raise PolicyServerError(
            f"A message header of {length} bytes came, expected 2 to {MAX_HEADER_BYTES}. Is it a policy server?"
        )
    try:
        header = json.loads(_read_bytes(connection, length))
        listed = [(item["name"], np.dtype(item["dtype"]), tuple(item["shape"])) for item in header["arrays"]]
        sizes = [int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for _, dtype, shape in listed]
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise PolicyServerError(f"A message header cannot be read ({exc}). Is it a policy server?") from exc
    for (name, dtype, shape), size in zip(listed, sizes, strict=True):
        if dtype.name not in _DTYPES or not 0 <= size <= MAX_ARRAY_BYTES:
            raise PolicyServerError(
                f"Array '{name}' is {dtype.name}{list(shape)}, expected at most {MAX_ARRAY_BYTES} bytes of one of "
                f"{', '.join(_DTYPES)}."
            )
    arrays = {
        str(name): np.frombuffer(_read_bytes(connection, size), dtype=dtype.newbyteorder("<"))
        .astype(dtype)
        .reshape(shape)
        for (name, dtype, shape), size in zip(listed, sizes, strict=True)
    }
    return header, arrays


def _read_bytes(connection: socket.socket, count: int) -> bytes:
    chunks = []
    while count:
        chunk = connection.recv(min(count, 1 << 20))
        if not chunk:
            raise ConnectionError("the other side closed the connection")
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)


class PolicyBugError(Exception):
    """A bug of the user in a policy of another process; it ends an episode, not the run."""


class RemoteTracebackError(Exception):
    """The traceback of a bug in another process: as the cause of an exception, it is a part of its traceback."""


class TcpPolicy:
    """Requests every action from a server; each worker has a connection of its own."""

    def __init__(self, address: str, env: UnlatchEnv, *, timeout_s: float) -> None:
        """Connects and sends task, robot and action bounds.

        Args:
            address: `host:port`, or `token@host:port` for the process of a batched policy.
            env: The environment.
            timeout_s: How long one answer may take [s].

        Raises:
            ConfigError: The address cannot be read, or no server answers.
        """
        token, _, address = address.rpartition("@")  # no message shows the token
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ConfigError(f"policy='tcp://{address}' cannot be read. Expected tcp://host:port.", key="policy")
        self._address = address
        self._size = env.action_space.shape[0]
        try:
            self._connection = socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s)
        except (OSError, OverflowError) as exc:
            raise ConfigError(
                f"policy='tcp://{address}' does not answer ({exc}). Start the policy server first, for instance "
                "examples/policy_server.py.",
                key="policy",
            ) from exc
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hello = {
            "type": "hello",
            "protocol": PROTOCOL,
            "task": env.cfg.task.name,
            "robot": env.cfg.robot.name,
            "action_mode": env.cfg.action.mode.value,
            "frame_hz": env.cfg.world.record_hz,
        }
        if token:
            hello["token"] = token
        self._request(
            hello, {"action_low": env.action_space.low, "action_high": env.action_space.high}, expected="ready"
        )

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`."""
        header = {"type": "reset", **{key: info[key] for key in ("episode", "seed", "language")}}
        self._request(header, observation, expected="ready")

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """See `Policy`."""
        header, arrays = self._request({"type": "act"}, observation, expected="action")
        if header.get("done"):
            return None
        if "action" not in arrays:
            raise PolicyServerError(
                f"Policy server {self._address} sent no array 'action'. Expected {self._size} values."
            )
        return arrays["action"]

    def close(self) -> None:
        """See `Policy`."""
        self._connection.close()

    def _request(
        self, header: Mapping[str, Any], arrays: Mapping[str, Array], *, expected: str
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        try:
            send_message(self._connection, header, arrays)
            answer, values = receive_message(self._connection)
        except TimeoutError as exc:
            raise slow_server(self._address, self._connection.gettimeout() or 0.0) from exc
        except OSError as exc:
            raise PolicyServerError(f"Policy server {self._address} is gone: {exc}.") from exc
        if answer.get("type") == "error":
            raise PolicyServerError(f"Policy server {self._address} reports: {answer.get('message')}")
        if answer.get("type") == "bug":
            raise PolicyBugError(answer.get("message")) from RemoteTracebackError(f"\n{answer.get('traceback', '')}")
        if answer.get("type") != expected:
            raise PolicyServerError(
                f"Policy server {self._address} answered '{answer.get('type')}', expected '{expected}'."
            )
        return answer, values


_STOP_S = 5.0
"""Time in which the process ends by itself [s]."""


@dataclass
class InferenceStatistics:
    """How a policy was asked in an evaluation."""

    batches: int = 0
    """Calls of `act_batch`."""
    actions: int = 0
    """Actions that they returned."""
    busy_s: float = 0.0
    """Wall time in these calls [s]."""
    total_s: float = 0.0
    """Wall time from the first request to the last answer [s]."""

    @property
    def mean_batch(self) -> float:
        """Mean number of observations in a batch."""
        return self.actions / self.batches if self.batches else 0.0

    @property
    def share(self) -> float:
        """Share of the wall time in which the policy computed, 0 to 1."""
        return self.busy_s / self.total_s if self.total_s else 0.0

    def __str__(self) -> str:
        return (
            f"{self.actions} actions in batches of {self.mean_batch:.1f} on average, "
            f"{100 * self.share:.0f} % of the time in the policy"
        )


@dataclass
class InferenceProcess:
    """The running process."""

    address: str
    """`tcp://token@host:port`, the policy of the workers."""
    statistics: InferenceStatistics | None = None
    """How it was asked; None before it has ended, and if it died."""


def is_batched(policy: Any) -> bool:
    """Returns whether a policy (a spec, or an object or class) can act for all workers in one process.

    Raises:
        ConfigError: The module, name or checkpoint does not exist.
    """
    kind, address = parse_spec(policy) if isinstance(policy, str) else ("module", "")
    if kind == "lerobot":
        return can_batch(address)
    return kind == "module" and callable(getattr(find_target(policy), "act_batch", None))


@contextmanager
def open_inference_process(policy: Any, spaces: PolicySpaces) -> Iterator[InferenceProcess]:
    """Starts the process for a policy (`module:name`, `lerobot:PATH`, or an object or class) and ends it on exit.

    Raises:
        ConfigError: The policy cannot be made or has no `act_batch`.
        PolicyServerError: The process died.
    """
    process, ours = start_child(_run_process, cloudpickle.dumps((policy, spaces)), name="policy")
    try:
        running = InferenceProcess(_receive_address(ours))
        try:
            yield running
        except PolicyServerError as exc:
            process.join(1.0)
            if process.exitcode is None:
                raise
            reason = describe_exit(process.exitcode).removeprefix("worker ")
            raise PolicyServerError(
                f"The process of the policy is gone ({reason}). Run the same command again to make the missing "
                "episodes."
            ) from exc
        with suppress(OSError, EOFError):
            ours.send(None)
            if ours.poll(_STOP_S):
                running.statistics = ours.recv()
    finally:
        ours.close()
        process.join(_STOP_S)
        if process.is_alive():
            process.terminate()
            process.join()


def _receive_address(connection: Connection) -> str:
    try:
        # longest time in which the process makes its policy [s]
        answer = connection.recv() if connection.poll(600.0) else None
    except EOFError:
        answer = None
    if isinstance(answer, tuple):
        error, trace = answer
        raise error from RemoteTracebackError(f"\n{trace}")
    if not isinstance(answer, str):
        raise PolicyServerError("The process of the policy died or hung while it made the policy.")
    return answer


def _run_process(control: Connection, packed: bytes) -> None:
    """Makes the policy, tells its address, and serves it until the driver says so or is gone."""
    try:
        policy, spaces = cloudpickle.loads(packed)
        kind, address = parse_spec(policy) if isinstance(policy, str) else ("module", "")
        target = make_batched(address, spaces) if kind == "lerobot" else make_object(find_target(policy), spaces)
        if not callable(getattr(target, "act_batch", None)):
            raise ConfigError("The policy has no method act_batch(observations, slots). Set batch=false.", key="batch")
    except Exception as exc:  # noqa: BLE001 - code of a user: the driver reports whatever is wrong with it
        what = (
            exc.message if isinstance(exc, UnlatchError) else f"The policy cannot be made: {type(exc).__name__}: {exc}."
        )
        control.send((ConfigError(what, key="policy"), traceback.format_exc()))
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        token = secrets.token_urlsafe()  # every user of this computer reaches the port
        control.send(f"tcp://{token}@127.0.0.1:{listener.getsockname()[1]}")
        server = BatchServer(target, listener, token)
        with suppress(EOFError, OSError):
            server.serve(control)
            control.recv()
            control.send(server.statistics)
        if hasattr(target, "close"):
            target.close()


@dataclass(eq=False)
class _Client:
    connection: socket.socket
    slot: int
    """Lowest number that no other connected worker has; negative before it has sent the token."""


@dataclass
class BatchServer:
    """Answers the requests of all workers in batches."""

    target: Any
    """The policy: `act_batch(observations, slots)`, optionally `reset(slot, observation, info)` and `close()`."""
    listener: socket.socket
    """Where workers connect."""
    token: str
    """What the first message of a worker must hold."""
    statistics: InferenceStatistics = field(default_factory=InferenceStatistics)
    """How the policy was asked so far."""
    _clients: list[_Client] = field(default_factory=list)
    _first_s: float | None = None

    def serve(self, control: Connection) -> None:
        """Serves until `control` has a message or its other end is gone."""
        try:
            while True:
                sockets = [self.listener, *(client.connection for client in self._clients)]
                ready = wait([control, *sockets])
                if control in ready:
                    return
                if self.listener in ready:
                    connection, _ = self.listener.accept()
                    # time in which a client must send the token; others wait that long for one that sends nothing [s]
                    connection.settimeout(1.0)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._clients.append(_Client(connection, -1))
                requests = [
                    found
                    for client in [*self._clients]
                    if client.connection in ready
                    for found in self._receive(client)
                ]
                if requests:
                    self._answer(requests)
        finally:
            for client in self._clients:
                client.connection.close()

    def _admit(self, client: _Client, header: Mapping[str, Any]) -> bool:
        """Gives a client its slot if its first message holds the token; returns whether it has one."""
        if client.slot >= 0:
            return True
        if not hmac.compare_digest(str(header.get("token", "")).encode(errors="replace"), self.token.encode()):
            return False
        # time in which a worker must send the rest of a message that it has begun, and take an answer [s]
        client.connection.settimeout(30.0)
        taken = {other.slot for other in self._clients}
        client.slot = next(number for number in range(len(taken) + 1) if number not in taken)
        return True

    def _receive(self, client: _Client) -> Iterator[tuple[_Client, dict[str, Array]]]:
        """Reads one message; answers it unless it asks for an action, which it yields as a request."""
        try:
            header, arrays = receive_message(client.connection)
        except (OSError, UnlatchError):  # the worker has ended or died
            self._drop(client)
            return
        if not self._admit(client, header):
            self._drop(client)
            return
        if header.get("type") == "act":
            if self._first_s is None:
                self._first_s = time.perf_counter()
            yield client, arrays
            return
        answer: dict[str, Any] = {"type": "ready"}
        if header.get("type") == "reset" and hasattr(self.target, "reset"):
            info = {key: header.get(key) for key in ("episode", "seed", "language")}
            try:
                self.target.reset(client.slot, arrays, info)
            except Exception as exc:  # noqa: BLE001 - code of a user: a bug in it ends this episode, not the run
                answer = _describe_bug(exc)
        self._send(client, answer, {})

    def _answer(self, requests: Sequence[tuple[_Client, dict[str, Array]]]) -> None:
        """Asks the policy once for all requests and answers them."""
        start = time.perf_counter()
        slots = np.array([client.slot for client, _ in requests])
        try:
            observations = {key: np.stack([arrays[key] for _, arrays in requests]) for key in requests[0][1]}
            actions = ask_batch(self.target, observations, slots)
            answers: list[tuple[dict[str, Any], dict[str, Array]]] = [
                ({"type": "action", "done": True}, {})
                if action is None
                else ({"type": "action"}, {"action": np.asarray(action, dtype=float)})
                for action in actions
            ]
        except Exception as exc:  # noqa: BLE001 - code of a user: a bug in it ends these episodes, not the run
            answers = [(_describe_bug(exc), {})] * len(requests)
        end = time.perf_counter()
        self.statistics.batches += 1
        self.statistics.actions += len(requests)
        self.statistics.busy_s += end - start
        self.statistics.total_s = end - (self._first_s or start)
        for (client, _), (header, arrays) in zip(requests, answers, strict=True):
            self._send(client, header, arrays)

    def _send(self, client: _Client, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        try:
            send_message(client.connection, header, arrays)
        except OSError:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        client.connection.close()
        self._clients.remove(client)


def _describe_bug(exc: Exception) -> dict[str, Any]:
    return {"type": "bug", "message": f"{type(exc).__name__}: {exc}", "traceback": traceback.format_exc()[-100_000:]}
