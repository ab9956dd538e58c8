"""The record of one attempt: `episode.json` for what happened, `state.npz` for the arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded
from unlatch.simcore.recording.episode_folders import absolute_folder
from unlatch.simcore.recording.episode_structure import has_form, kind_problems
from unlatch.simcore.recording.json_values import encode_sealed, plain, read_sealed
from unlatch.simcore.recording.keys import STATE, kind_of
from unlatch.simcore.recording.state_file import MAX_STATE_BYTES, decode_any_state, decode_npz, decode_state
from unlatch.simcore.recording.success_rules import FAILURE_CODES

Array = np.ndarray

EPISODE_FORMAT = "unlatch-episode"
FORMAT_VERSION = 4
"""Version of the format of data sets and episodes that is written."""
READ_VERSIONS = (2, 3, FORMAT_VERSION)
"""Versions that are read. A file `state.npz` of version 2 has the arrays themselves, all floats in double precision.
Version 3 differs from 4 in the names of the members of `state.npz` only."""
_PLAIN_VERSION = 2
EPISODE_FILE = "episode.json"
STATE_FILE = "state.npz"
MAX_JSON_BYTES = 64 << 20
"""Largest `episode.json` that is read [bytes]."""

_FIELDS = (
    *("number", "seed", "success", "code", "evidence", "language", "assets", "layout", "applied", "skills", "goal"),
    *("settle", "events", "timings_ms"),
)
"""Keys of `episode.json` that are attributes of a record; `episode_json.fields` has their types."""


@dataclass
class EpisodeRecord:
    """The record of one attempt, successful or failed."""

    number: int
    """Episode number, from 0."""
    seed: int
    """Seed of the episode."""
    success: bool
    """Whether every skill succeeded and the goal lasted."""
    code: str | None = None
    """Its failure code, one of `FAILURE_CODES`; None on success."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """The numbers behind the code: the constraint, the pair of links, reached and wanted values."""
    language: list[str] = field(default_factory=list)
    """Phrasings of the instruction, without placeholders; the first is that of this episode."""
    assets: dict[str, str] = field(default_factory=dict)
    """Content hash of every asset by name."""
    layout: dict[str, Any] = field(default_factory=dict)
    """The values of the reset: poses, joint openness, start joints, drawn object parameters."""
    applied: dict[str, Any] = field(default_factory=dict)
    """Randomization values applied, at reset and at each firing."""
    skills: list[dict[str, Any]] = field(default_factory=list)
    """One map per skill of the chain; its keys are in `episode_json.fields.SKILL_FIELDS`."""
    goal: dict[str, Any] = field(default_factory=dict)
    """`{"conditions": [...]}`: conditions at the end; their keys are in `episode_json.fields.GOAL_FIELDS`."""
    settle: dict[str, Any] | None = None
    """`{"frame_start", "frame_end", "max_change"}`, or None if the episode ended before settling."""
    events: list[dict[str, Any]] = field(default_factory=list)
    """Other events, in order of time."""
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Wall time of plan, reset, execute and write [ms].

    If you make the same episode again, only these times differ, and those of the planner (`plan.timings_ms` of each
    entry of `skills`)."""
    arrays: dict[str, Array] = field(default_factory=dict)
    """The arrays of `state.npz` by key; see `docs/record_format.md`."""
    data_set: Path | None = field(default=None, compare=False, repr=False)
    """Folder of the data set from which it was read; None: it was not read from one."""

    def __post_init__(self) -> None:
        if self.success != (self.code is None) or (self.code is not None and self.code not in FAILURE_CODES):
            raise RecordingError(
                f"Episode {self.number} has success={self.success} with code={self.code!r}. Expected no code on "
                f"success and one of {', '.join(FAILURE_CODES)} on failure. Set one of them.",
                number=self.number,
                code=self.code,
            )

    @property
    def outcome(self) -> str:
        """`success`, or the failure code."""
        return self.code or "success"

    @property
    def instruction(self) -> str:
        """The instruction of this episode; empty if it has none."""
        return self.language[0] if self.language else ""

    @property
    def message(self) -> str:
        """What happened in a failure, in words; empty on success."""
        return str(self.evidence.get("message", ""))

    @property
    def n_actions(self) -> int:
        """T, the number of actions; there are T+1 states, or none at all."""
        return max((len(a) - 1 for k, a in self.arrays.items() if kind_of(k) == STATE and a.ndim), default=0)

    def state_at(self, index: int) -> dict[str, Array]:
        """Returns the state of a frame, 0 to `n_actions`, by key, for `Module.load_state_dict`.

        Negative frames count from the end.

        Raises:
            RecordingError: There is no such frame.
        """
        n_states = self.n_actions + 1
        if not -n_states <= index < n_states:
            raise RecordingError(
                f"Episode {self.number} has no frame {index}. Expected {-n_states} to {n_states - 1}.",
                number=self.number,
                index=index,
            )
        return {key: array[index] for key, array in self.arrays.items() if kind_of(key) == STATE}

    def to_json(self) -> dict[str, Any]:
        """Returns everything except the arrays, as plain JSON."""
        return {name: plain(getattr(self, name), where=name) for name in _FIELDS}

    def __repr__(self) -> str:
        outcome = "success" if self.success else f"code={self.code}"
        return f"EpisodeRecord(number={self.number}, {outcome}, n_actions={self.n_actions}, arrays={len(self.arrays)})"


def encode_episode(record: EpisodeRecord, state: bytes) -> bytes:
    """Returns the bytes of `episode.json`; `state` are those of `state.npz`.

    Raises:
        RecordingError: A value cannot be stored.
    """
    digest = hashlib.sha256(state).hexdigest()
    about_state = {"file": STATE_FILE, "sha256": digest, "bytes": len(state), "n_actions": record.n_actions}
    head = {"format": EPISODE_FORMAT, "format_version": FORMAT_VERSION, "state": about_state}
    data = encode_sealed({**record.to_json(), **head})
    if len(data) > MAX_JSON_BYTES:
        raise RecordingError(
            f"{EPISODE_FILE} of episode {record.number} would take {len(data)} bytes, expected at most "
            f"{MAX_JSON_BYTES}. Record long values as arrays.",
            number=record.number,
        )
    return data


def verify_episode(folder: Path) -> None:
    """Raises unless the record in a folder is complete: both files exist and are unchanged.

    Raises:
        FormatVersionError: It was written in a format that this version does not read.
        RecordingError: A file is missing, damaged, truncated or not ours.
    """
    _read_state_bytes(folder, _read_content(folder)[1]["state"])


def read_episode(folder: Path, *, arrays: bool = True) -> EpisodeRecord:
    """Reads and verifies the record in a folder, without its arrays if `arrays` is false.

    Raises:
        FormatVersionError: It was written in a format that this version does not read.
        RecordingError: A file is missing, damaged, truncated or not ours.
    """
    record, content = _read_content(folder)
    if arrays:
        decode = decode_npz if content["format_version"] == _PLAIN_VERSION else decode_state
        record.arrays = decode(_read_state_bytes(folder, content["state"]), where=str(folder / STATE_FILE))
    return record


def read_arrays(path: str | Path) -> dict[str, Array]:
    """Reads the arrays of one episode; use it instead of `numpy.load`, as `state.npz` has encoded bytes.

    Args:
        path: A `state.npz`, or the folder of an episode, which has one. Every version of the format that
            `open_dataset` reads is read.

    Returns:
        The arrays by key: T+1 rows of states, T rows of actions. `docs/record_format.md` has shapes, units and frames.

    Raises:
        FormatVersionError: The episode was written in a format that this version does not read.
        RecordingError: The path does not exist, or is neither a `state.npz` nor the folder of an episode, or a file is
            damaged.

    Example:
        >>> arrays = unlatch.read_arrays("data/demo/episodes/0000000/0000000003/state.npz")
        >>> arrays["robots.franka_panda.left.joint_positions"].shape  # (T+1, 7) [rad]
        (128, 7)
    """
    found = absolute_folder(path)
    if (found / EPISODE_FILE).is_file():
        return read_episode(found).arrays
    if not found.is_file():
        raise _path_error(path, f"has no {EPISODE_FILE}" if found.is_dir() else "does not exist")
    data = read_bounded(found.resolve(), limit=MAX_STATE_BYTES)  # a cache of the Hub has links
    if not data.startswith(b"PK"):
        raise _path_error(path, "is not an .npz file")
    arrays = decode_any_state(data, where=str(path))
    foreign = next((key for key in arrays if kind_of(key) is None), None)
    if foreign is not None:
        raise _path_error(path, f"has the array '{foreign}', which no episode has")
    return arrays


def _path_error(path: str | Path, what: str) -> RecordingError:
    return RecordingError(
        f"'{path}' {what}. Expected a {STATE_FILE}, or the folder of an episode, such as "
        "DATA/episodes/0000000/0000000003. Name one, or read a data set by unlatch.open_dataset(DATA).",
        path=str(path),
    )


def content_problems(folder: Path, record: EpisodeRecord) -> Iterator[str]:
    """Yields what `episode.json` in a folder states that `read_episode` does not return, where it is wrong.

    Raises:
        FormatVersionError, RecordingError: See `read_episode`.
    """
    from unlatch.simcore.recording.episode_fields import EPISODE_FIELDS

    head = {key: value for key, value in _read_content(folder)[1].items() if key not in _FIELDS}
    fields = {key: EPISODE_FIELDS[key] for key in ("format", "format_version", "state")}
    yield from kind_problems(head, fields, "", complete=True)
    about = {"bytes": (folder / STATE_FILE).stat().st_size, "n_actions": record.n_actions}
    for key, value in about.items():
        if head["state"].get(key) != value:
            yield f"state.{key} is {head['state'].get(key)!r} in the record, its arrays have {value}."


def _read_content(folder: Path) -> tuple[EpisodeRecord, dict[str, Any]]:
    """Returns the record without its arrays, and all that `episode.json` holds."""
    path = folder / EPISODE_FILE
    content = read_sealed(path, expected=EPISODE_FORMAT, versions=READ_VERSIONS, limit=MAX_JSON_BYTES)
    from unlatch.simcore.recording.episode_fields import EPISODE_FIELDS

    for name in _FIELDS:
        if name not in content or not has_form(content[name], EPISODE_FIELDS[name].kind):
            raise _field_error(path, name, content.get(name))
    state = content.get("state")
    if not isinstance(state, dict) or state.get("file") != STATE_FILE or not isinstance(state.get("sha256"), str):
        raise _field_error(path, "state", state)
    try:
        record = EpisodeRecord(**{name: content[name] for name in _FIELDS})
    except RecordingError as exc:
        raise RecordingError(f"File '{path}' contradicts itself: {exc}", path=str(path)) from exc
    return record, content


def _read_state_bytes(folder: Path, state: dict[str, Any]) -> bytes:
    state_path = folder / STATE_FILE
    data = read_bounded(state_path, limit=MAX_STATE_BYTES)
    digest = hashlib.sha256(data).hexdigest()
    if digest != state["sha256"]:
        raise RecordingError(
            f"File '{state_path}' is damaged: its SHA-256 is {digest[:12]}..., expected {state['sha256'][:12]}... "
            f"({len(data)} bytes, expected {state.get('bytes')}). Run the same `unlatch collect` again to remake it.",
            path=str(state_path),
        )
    return data


def _field_error(path: Path, name: str, value: Any) -> RecordingError:
    return RecordingError(
        f"File '{path}' has {name}={str(value)[:60]!r} of type {type(value).__name__}, which is missing or of "
        "the wrong type. It is damaged or not ours. Remove the episode's folder: the command that made it makes it "
        "again.",
        path=str(path),
        key=name,
    )
