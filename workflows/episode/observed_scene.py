"""The scene that observations are computed from: of a record, or of a running episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import KEYPOINT_NAMES, HandleType, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.part_geometry import object_geometry
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.observed.acted_part import ActedPart
from unlatch.simcore.recording.observed.object_geometry import ObjectGeometry
from unlatch.simcore.recording.observed.scene import ObservedScene
from unlatch.simcore.rng import stream
from unlatch.workflows.episode.assets import load_assets
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.planner_models import base_of

SKILL_KINDS = ("open", "close", "rotate", "hold", "pick", "place", "home")
"""Skills that move an arm, in the order of the column `skill`. A skill of a plugin has no number there."""

MOTIONLESS = "artpreplan"
"""The skill that only searches for a layout."""


def observed_scene(robot: RobotCfg, assets: Callable[[], Mapping[str, ObjectAsset]], *, seed: int) -> ObservedScene:
    """Returns the scene of an episode with a seed: a robot and the objects that `assets` loads when first needed."""
    loaded: dict[str, ObjectAsset] = {}
    geometries: dict[str, ObjectGeometry] = {}

    def load_geometry(name: str) -> ObjectGeometry:
        if not loaded:
            loaded.update(assets())
        if name not in geometries:
            geometries[name] = object_geometry(loaded[name])
        return geometries[name]

    return ObservedScene(
        bases={arm.name: base_of(robot, arm) for arm in robot.arms},
        skills=SKILL_KINDS,
        motionless_skills=(MOTIONLESS,),
        keypoints=KEYPOINT_NAMES,
        part_kinds=tuple(kind.name for kind in PartKind),
        grip_types=tuple(kind.name for kind in HandleType),
        seed=seed,
        load_object=load_geometry,
    )


def recorded_scene(cfg: EpisodeCfg, record: EpisodeRecord) -> ObservedScene:
    """Returns the scene of a recorded episode.

    A column that needs an object raises an `AssetError` if the object does not exist, and a `RecordingError` if it is
    not the one that was recorded.
    """
    rng = stream(record.seed, "layout")
    return observed_scene(cfg.robot, lambda: load_assets(cfg, record.number, record, rng), seed=record.seed)


def acted_parts(episode: Episode) -> list[ActedPart]:
    """Returns the part of every skill of a running episode: of those that have begun, then of those to come."""
    begun = [run.chain_index for run in episode.judge.runs]
    to_come = [index for index in range(len(episode.cfg.skills)) if index not in begun]
    return [_acted_part(episode, index) for index in (*begun, *to_come)]


def _acted_part(episode: Episode, index: int) -> ActedPart:
    name, part = episode.planner.acted_on[index]
    if part is None:
        raise RecordingError(
            f"Skill {index} ({episode.cfg.skills[index].name}) carries '{name}' and moves no part, which the columns "
            "of the task need. Choose other values of `columns`.",
            number=episode.number,
        )
    item = episode.scene.objects[name]
    found = item.asset.articulation.part(part)
    return ActedPart(
        skill=episode.cfg.skills[index].name,
        object=name,
        part=part,
        joint_index=item.joint_index(found.joint),
        closed=found.openness.closed,
        open=found.openness.open,
    )
