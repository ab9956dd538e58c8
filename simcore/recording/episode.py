"""The record of one attempt: `episode.json` for what happened, `state.npz` for the arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.json_values import encode_sealed, plain
from unlatch.simcore.recording.keys import STATE, kind_of
from unlatch.simcore.recording.success_rules import FAILURE_CODES

Array = np.ndarray

EPISODE_FORMAT = "unlatch-episode"
FORMAT_VERSION = 4
"""Version of the format of data sets and episodes that is written."""
READ_VERSIONS = (2, 3, FORMAT_VERSION)
"""Versions that are read. A file `state.npz` of version 2 has the arrays themselves, all floats in double precision.
Version 3 differs from 4 in the names of the members of `state.npz` only."""
EPISODE_FILE = "episode.json"
STATE_FILE = "state.npz"
MAX_JSON_BYTES = 64 << 20
"""Largest `episode.json` that is read [bytes]."""

RECORD_FIELDS = (
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
    state_sha256: str | None = field(default=None, compare=False, repr=False)
    """Checksum of its `state.npz`; None: it was neither written nor read."""

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
        return {name: plain(getattr(self, name), where=name) for name in RECORD_FIELDS}

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
