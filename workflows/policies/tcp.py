"""A policy in another process, on another host or in another Python, over TCP; see `docs/policies.md`.

A message is the length of the header (4 bytes, big-endian), the header (JSON), and the bytes of the arrays that the
header lists (C order, little-endian). Nothing is pickled: neither side executes what the other sends.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.workflows.gym.env import UnlatchEnv

Array = np.ndarray

PROTOCOL = 1
"""Version of the protocol."""
MAX_HEADER_BYTES = 1 << 20
MAX_ARRAY_BYTES = 256 << 20
_DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")


class PolicyServerError(UnlatchError):
    """A policy server cannot be reached, is too slow, or breaks the protocol."""

    exit_code = 1


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
            raise PolicyServerError(
                f"Policy server {self._address} took longer than {self._connection.gettimeout():g} s for one answer. "
                "Set policy_timeout_s, or make it faster."
            ) from exc
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
