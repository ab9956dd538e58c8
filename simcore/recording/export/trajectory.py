"""An episode as trainers see it: flat, named arrays of states and actions, made from a record by one convention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.columns import AXES, Column, ObservationColumns, Part, array_of, joined, named
from unlatch.simcore.recording.export.config import ActionKind, DeltaFrom, ExportCfg
from unlatch.simcore.recording.export.images import Images
from unlatch.simcore.recording.export.rotation import COMPONENTS, change_between, in_form

Array = np.ndarray

ACTION = "action"


@dataclass(frozen=True)
class Trajectory:
    """An attempt of T actions and T+1 states."""

    number: int
    """Number of its episode in the data set that it comes from."""
    seed: int
    """Seed of the episode."""
    success: bool
    """Whether it succeeded."""
    code: str | None
    """Why it failed; None on success."""
    language: str
    """The instruction of this episode."""
    phrasings: tuple[str, ...]
    """All phrasings of it, this one first."""
    robot: str
    """Name of the robot."""
    objects: tuple[str, ...]
    """`name=category:instance` of every object."""
    parts: tuple[str, ...]
    """`object.part` acted on, in the order of the skills; `part0` of a column's names is the first."""
    columns: dict[str, Column]
    """By key: `observation.state`, `observation.environment_state`, `observation.keypoints` and `action`."""
    images: Mapping[str, Images] = field(default_factory=dict)
    """By camera, its T+1 images."""

    @property
    def n_actions(self) -> int:
        """T."""
        return len(self.columns[ACTION].values)


class TrajectoryMaker:
    """Makes trajectories of the records of one data set."""

    def __init__(self, cfg: ExportCfg, config: Mapping[str, Any]) -> None:
        """Makes a maker.

        Args:
            cfg: What is exported, and how.
            config: Configuration of the data set, from its header.
        """
        self._cfg = cfg
        self._observed = ObservationColumns(cfg, config)

    def make(self, record: EpisodeRecord) -> Trajectory:
        """The trajectory of a record.

        Args:
            record: The attempt, with its arrays.

        Raises:
            RecordingError: It has no states, or lacks what was asked for.
        """
        robot, arms = _arms_of(record)
        parts = _parts_of(record)
        columns = self._observed.make(record.arrays, robot=robot, arms=arms, parts=parts, number=record.number)
        columns[ACTION] = joined([self._action(record, robot, arm) for arm in arms])
        return Trajectory(
            number=record.number,
            seed=record.seed,
            success=record.success,
            code=record.code,
            language=record.language[0] if record.language else "",
            phrasings=tuple(record.language),
            robot=robot,
            objects=_object_words(record),
            parts=tuple(f"{name}.{part}" for name, part, _ in parts),
            columns=columns,
        )

    def _action(self, record: EpisodeRecord, robot: str, arm: str) -> Column:
        read = partial(array_of, record.arrays, number=record.number)
        asked, measured = f"actions.{robot}.{arm}", f"robots.{robot}.{arm}"
        gripper = Column((f"{arm}.gripper",), read(f"{asked}.gripper_target"))
        kind = self._cfg.action
        if not kind.has_rotation:
            values = read(f"{asked}.joint_targets")
            if kind is ActionKind.joint_delta:
                values = values - self._reference(values, read(f"{measured}.joint_positions"))
            what = "position" if kind is ActionKind.joint_position else "delta"
            return joined([Column(self._observed.joint_names(arm, values.shape[1], what), values), gripper])
        position = read(f"{asked}.ee_target_position")
        quats = read(f"{asked}.ee_target_quat_xyzw")
        what = "ee"
        if kind is ActionKind.ee_delta:
            what = "ee_delta"
            position = position - self._reference(position, read(f"{measured}.ee_position"))
            quats = change_between(self._reference(quats, read(f"{measured}.ee_quat_xyzw")), quats)
        form = self._cfg.action_rotation
        names = named(f"{arm}.{what}", (*AXES, *COMPONENTS[form]))
        return joined([Column(names, np.hstack([position, in_form(quats, form)])), gripper])

    def _reference(self, targets: Array, measured: Array) -> Array:
        """(T, n) what the changes to (T, n) targets are counted from, of (T+1, n) measured values."""
        if self._cfg.delta_from is DeltaFrom.state:
            return measured[:-1]
        return np.vstack([measured[:1], targets[:-1]])


def _arms_of(record: EpisodeRecord) -> tuple[str, list[str]]:
    """Name of the robot, and of its arms in order."""
    found = [key.split(".") for key in record.arrays if key.startswith("actions.") and key.endswith(".joint_targets")]
    robots = {words[1] for words in found}
    if len(robots) != 1:
        raise RecordingError(
            f"Episode {record.number} has actions of {len(robots)} robots ({', '.join(sorted(robots)) or 'none'}), "
            "expected one. Leave it out by only=[...].",
            number=record.number,
        )
    return robots.pop(), sorted(words[2] for words in found)


def _parts_of(record: EpisodeRecord) -> list[Part]:
    """Object, part and joint index of every part acted on, each once, in the order of the skills."""
    found: dict[tuple[str, str], int] = {}
    for skill in record.skills:
        name, part, index = skill.get("object"), skill.get("part"), skill.get("joint_index")
        if isinstance(name, str) and isinstance(part, str) and isinstance(index, int):
            found.setdefault((name, part), index)
    return [(name, part, index) for (name, part), index in found.items()]


def _object_words(record: EpisodeRecord) -> tuple[str, ...]:
    instances = record.layout.get("instances", {})
    return tuple(
        f"{name}={instance.get('category', '?')}:{instance.get('instance', '?')}"
        for name, instance in sorted(instances.items())
    )
