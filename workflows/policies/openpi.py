"""Policies behind servers that speak openpi's protocol: a message is a map with arrays in msgpack, sent by websocket.

A server first sends a map that describes it. It answers each observation with a map whose `actions` has one row for
each frame to come, or with text, a traceback, where it failed. https://github.com/Physical-Intelligence/openpi
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from fnmatch import fnmatchcase
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.extras import import_extra
from unlatch.simcore.rng import stream
from unlatch.workflows.episode.criteria import ANSWER_LOST
from unlatch.workflows.policies.catalog import POLICY_PORT, Policy
from unlatch.workflows.policies.processes import PolicyServerError, slow_server

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv

Array = np.ndarray

PROMPT, EPISODE, SEED, DONE = "prompt", "unlatch/episode", "unlatch/seed", "unlatch/done"
"""Keys of messages: the instruction, as in openpi; and, between our client and our server, episode, seed and end."""
NAME = "unlatch"
"""Key by which our server describes itself, with the kind of its policy."""
MAX_MESSAGE_BYTES = 256 << 20
"""Largest message that either side reads."""
_NUMBERS = "biuf"
_DTYPE = re.compile(f"[<>|=][{_NUMBERS}][0-9]{{1,2}}")
_LANGUAGE, _GRIPPER_CLOSED = "language", "gripper_closed"


def extra(module: str) -> ModuleType:
    """Imports a module that the extra `openpi` brings.

    Raises:
        PluginError: It is not installed.
    """
    return import_extra(module, extra="openpi", needed_by="openpi's protocol")


def pack(message: Mapping[str, Any]) -> bytes:
    """Returns a message with arrays as bytes."""
    packed: bytes = extra("msgpack").packb(message, default=_pack_array)
    return packed


def unpack(data: bytes) -> dict[str, Any]:
    """Returns a message of bytes.

    Raises:
        ValueError: It is text or no map, or an array in it has no numbers or another size than it states.
    """
    if not isinstance(data, bytes):
        raise ValueError(f"A message of type {type(data).__name__} came, expected bytes.")
    found = extra("msgpack").unpackb(data, object_hook=_unpack_array)
    if not isinstance(found, dict):
        raise ValueError(f"A message of type {type(found).__name__} came, expected a map.")
    return found


def _pack_array(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in _NUMBERS:
        raise TypeError(f"{type(value).__name__} cannot be sent. Expected numbers, text, or arrays of numbers.")
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}


def _unpack_array(found: dict[Any, Any]) -> Any:
    if b"__ndarray__" not in found and b"__npgeneric__" not in found:
        return found
    kind, data, shape = (found.get(key) for key in (b"dtype", b"data", b"shape"))
    if not isinstance(kind, str) or not _DTYPE.fullmatch(kind):
        raise ValueError(f"An array of {kind!r} came, expected numbers.")
    try:
        dtype = np.dtype(kind)
        if b"__npgeneric__" in found:
            if not isinstance(data, int | float):
                raise ValueError(f"A number with data of type {type(data).__name__} came, expected int or float.")
            return dtype.type(data)
        if not isinstance(data, bytes):
            raise ValueError(f"An array with data of type {type(data).__name__} came, expected bytes.")
        if not isinstance(shape, list) or any(type(size) is not int or size < 0 for size in shape):
            raise ValueError(f"An array of shape {shape!r} came, expected a list of sizes.")
        return np.frombuffer(data, dtype).reshape(shape).copy()  # a view of bytes could not be written
    except (TypeError, OverflowError) as exc:
        raise ValueError(f"An array of {kind!r} and shape {shape!r} cannot be read: {exc}.") from exc


class ObservationMap:
    """Makes the message of an observation, by `observation.map`."""

    def __init__(self, env: UnlatchEnv) -> None:
        """Finds the observed keys of every source.

        Raises:
            ConfigError: A source is no text and no list of texts, is not observed, or matches several keys; or a list
                has a source that is no vector.
        """
        self._env = env
        self._sources = {key: self._find_all(key, source) for key, source in env.cfg.observation.map.items()}

    def _find_all(self, key: str, source: Any) -> list[str]:
        words = source if isinstance(source, list) else [source]
        if not words or not all(isinstance(word, str) for word in words):
            raise ConfigError(
                f"observation.map has '{key}: {source}'. Expected the name of a source, or a list of names. Change it.",
                key="observation.map",
            )
        names = [self._find(key, word) for word in words]
        observed: Any = self._env.observation_space
        for name in names if isinstance(source, list) else []:
            if name == _LANGUAGE or (name != _GRIPPER_CLOSED and len(observed[name].shape) == 3):
                raise ConfigError(
                    f"observation.map has '{name}' in the list of '{key}'. Expected sources with numbers that can be "
                    "joined: no text and no image. Give it a key of its own.",
                    key="observation.map",
                )
        return names

    def _find(self, key: str, word: str) -> str:
        """Returns the observed key that a source names; the words that stand for no key stay as they are."""
        if word in (_LANGUAGE, _GRIPPER_CLOSED):
            return word
        observed: Any = self._env.observation_space
        known = list(observed)
        found = [name for name in known if fnmatchcase(name, word)]
        if len(found) != 1:
            near = "" if found else close_matches(word, known)
            what = f"matches {len(found)} observed keys ({', '.join(found)})" if found else "is not observed"
            raise ConfigError(
                f"observation.map has '{key}: {word}', and '{word}' {what}.{near} "
                f"Expected {_LANGUAGE}, {_GRIPPER_CLOSED} or one of: {', '.join(known)}. Change it, or observe more: "
                "observation.keys, observation.columns, sensors, observation.images.",
                key="observation.map",
            )
        return found[0]

    def message(self, observation: Mapping[str, Array], language: str) -> dict[str, Any]:
        """Returns the message: images as (H, H, 3) uint8, padded to squares, other values as vectors, and texts."""
        if not self._sources:
            return {**observation, PROMPT: language}
        found: dict[str, Any] = {}
        for key, names in self._sources.items():
            values = [self._read(name, observation, language) for name in names]
            is_vector = len(values) > 1 or (isinstance(values[0], np.ndarray) and values[0].ndim < 2)
            found[key] = np.concatenate([np.ravel(value) for value in values]) if is_vector else values[0]
        return found

    def _read(self, name: str, observation: Mapping[str, Array], language: str) -> Array | str:
        if name == _LANGUAGE:
            return language
        if name == _GRIPPER_CLOSED:
            arms = self._env.episode.scene.robot.arms.values()
            return np.array([1.0 - arm.gripper_opening_m / arm.cfg.gripper.max_width_m for arm in arms]).clip(0.0, 1.0)
        value = observation[name]
        return pad_to_square(value) if value.ndim == 3 and value.dtype == np.uint8 else value


def pad_to_square(image: Array) -> Array:
    """Returns an image (H, W, 3) in the middle of a black square, as openpi's clients send it."""
    height, width = image.shape[:2]
    size = max(height, width)
    square = np.zeros((size, size, *image.shape[2:]), image.dtype)
    top, left = (size - height) // 2, (size - width) // 2
    square[top : top + height, left : left + width] = image
    return square


class ChunkedActions:
    """Executes answers that hold several actions, with the delays and losses of `action`.

    The arms hold their targets between an observation and the arrival of its answer, `action.latency_s` of simulated
    time later, rounded up to whole frames. A lost answer never arrives: the next observation is sent after as long, one
    frame at least.
    """

    def __init__(self, env: UnlatchEnv) -> None:
        """Makes it for an environment."""
        self._env = env
        self._wait = math.ceil(env.cfg.action.latency_s * env.cfg.world.record_hz - 1e-9)
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Forgets all actions; the seed of the episode decides which answers are lost."""
        self._rng = stream(seed, "policy.answers")
        self._actions: deque[Array] = deque()
        self._coming: Array | None = None
        self._left = 0

    def next(self, ask: Callable[[], Array | None]) -> Array | None:
        """Returns the action of the next frame.

        Args:
            ask: Returns the answer to the present observation: actions (T, n), or None if the policy is done.
        """
        if self._actions:
            return self._actions.popleft()
        cfg = self._env.cfg.action
        if self._coming is None and self._left == 0:
            answer = ask()
            if answer is None:
                return None
            self._left = self._wait
            if cfg.lost_share and self._rng.random() < cfg.lost_share:
                self._left = max(1, self._wait)
                self._env.episode.events.append({"event": ANSWER_LOST, "frame": self._env.episode.frames.frame})
            else:
                self._coming = answer[: cfg.chunk]
        if self._left:
            self._left -= 1
            return self._env.hold_action()
        self._actions.extend(self._coming if self._coming is not None else ())
        self._coming = None
        return self._actions.popleft()


class ServedPolicy(Policy):
    """Requests chunks of actions from a server."""

    def __init__(self, env: UnlatchEnv) -> None:
        self._size = env.action_space.shape[0]
        self._chunks = ChunkedActions(env)
        self._info: Mapping[str, Any] = {}

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`."""
        self._info = info
        self._chunks.begin(int(info["seed"]))

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """See `Policy`."""
        return self._chunks.next(lambda: self._ask(observation))

    @property
    def _instruction(self) -> str:
        """The first phrasing of the instruction; empty if there is none."""
        return next(iter(self._info["language"]), "")

    @abstractmethod
    def _ask(self, observation: Mapping[str, Array]) -> Array | None:
        """Returns the answer to an observation: actions (T, n), or None if the policy is done."""


class OpenpiPolicy(ServedPolicy):
    """Requests chunks of actions from a server of openpi's protocol; each worker has a connection of its own."""

    def __init__(self, address: str, env: UnlatchEnv, *, timeout_s: float) -> None:
        """Connects to `host:port`, port `POLICY_PORT` if none is named.

        Raises:
            ConfigError: `observation.map` does not fit, or no server answers.
            PluginError: websockets or msgpack is not installed.
        """
        super().__init__(env)
        self._map = ObservationMap(env)
        _, colon, port = address.rpartition(":")
        self._address = address if colon and port.isdigit() else f"{address}:{POLICY_PORT}"
        self._timeout_s = timeout_s
        self._errors = (OSError, ValueError, extra("websockets.exceptions").WebSocketException)
        try:
            # a server that infers answers no ping: policy_timeout_s alone ends the wait
            self._socket = extra("websockets.sync.client").connect(
                f"ws://{self._address}",
                compression=None,
                max_size=MAX_MESSAGE_BYTES,
                open_timeout=timeout_s,
                ping_interval=None,
                proxy=None,
            )
            with ExitStack() as on_error:
                on_error.callback(self._socket.close)
                self._metadata = unpack(self._socket.recv(timeout=timeout_s))
                on_error.pop_all()
        except self._errors as exc:
            raise ConfigError(
                f"policy='openpi://{address}' does not answer as a policy server ({exc}). Start it first, with "
                "openpi's scripts/serve_policy.py or `unlatch serve`.",
                key="policy",
            ) from exc

    def close(self) -> None:
        """See `Policy`."""
        self._socket.close()

    def _ask(self, observation: Mapping[str, Array]) -> Array | None:
        message = self._map.message(observation, self._instruction)
        if NAME in self._metadata:
            message |= {EPISODE: int(self._info["episode"]), SEED: int(self._info["seed"])}
        try:
            self._socket.send(pack(message))
            answer = self._socket.recv(timeout=self._timeout_s)
            if isinstance(answer, str):
                raise PolicyServerError(f"Policy server {self._address} reports:\n{answer}")
            found = unpack(answer)
        except TimeoutError as exc:
            raise slow_server(self._address, self._timeout_s) from exc
        except self._errors as exc:
            raise PolicyServerError(f"Policy server {self._address} is gone, or breaks the protocol: {exc}.") from exc
        if found.get(DONE):
            return None
        return check_actions(found.get("actions"), self._size, f"Policy server {self._address}")


def check_actions(actions: Any, size: int, who: str) -> Array:
    """Returns actions as (T, size) numbers.

    Raises:
        PolicyServerError: They are none.
    """
    if isinstance(actions, np.ndarray):
        rows = np.atleast_2d(actions)
        if rows.ndim == 2 and rows.shape[0] and rows.shape[1] == size and rows.dtype.kind in _NUMBERS:
            return rows.astype(float)
    shape = f" of shape {list(actions.shape)}" if isinstance(actions, np.ndarray) else ""
    raise PolicyServerError(
        f"{who} answered 'actions' of type {type(actions).__name__}{shape}, expected an array of shape [T, {size}]. "
        "Set the robot and action.mode that its policy was trained with."
    )
