"""Names and sizes of the arrays that a record must have, by the configuration and the objects."""

from __future__ import annotations

from collections.abc import Mapping

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.keys import (
    FINGER_JOINTS,
    FREE_OBJECTS,
    HOLDS,
    JUDGED_OBJECTS,
    LABELS,
    PUSHES,
    REGIONS,
    SENSORS,
    SEVERAL_ARMS,
    ArrayNames,
    Names,
    match_key,
)
from unlatch.simcore.recording.observed.object_geometry import movable_joints
from unlatch.workflows.episode.actor import Actor
from unlatch.workflows.episode.assets import recorded_regions

_SENSOR_POSE = ("position", "quat_xyzw")
"""Values that every sensor records."""


def array_names(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], record: EpisodeRecord, actor: Actor) -> ArrayNames:
    """Returns the names of an episode by group, see `ArrayNames`.

    Which values a sensor has beside its pose, only its class knows: they are read from the record.

    Args:
        cfg: The episode, with its derived task.
        assets: The episode's objects by name.
        record: The record.
        actor: What moves the arms.
    """
    robot = cfg.robot.name
    arms: list[Names] = [
        {"robot": robot, "arm": arm.name, "n": len(arm.joints), "k": len(arm.gripper.joints)} for arm in cfg.robot.arms
    ]
    objects: list[Names] = [{"object": name, "m": len(movable_joints(assets[name].model))} for name in assets]
    points: list[Names] = [
        {"object": name, "part": part, "keypoint": point}
        for name, asset in assets.items()
        for part, found in asset.articulation.parts.items()
        for point in found.keypoints
    ]
    all_joints: list[Names] = [{"j": sum(len(movable_joints(asset.model)) for asset in assets.values())}]
    acted_on = dict.fromkeys(entry.objects[0] for entry in cfg.skills)
    sensors = [sensor.name for sensor in cfg.all_sensors().values()]
    measured = [match[1] for key in record.arrays if (match := match_key(key)) is not None and "sensor" in match[1]]
    values = [(name, value) for name in sensors for value in _SENSOR_POSE]
    values += [(found["sensor"], found["value"]) for found in measured if found["sensor"] in sensors]
    return {
        "": [{}],
        "robot": [{"robot": robot}],
        "robot arm": arms,
        "object": objects,
        "object part keypoint": points,
        "robot arm object": [{**arm, "object": name} for arm in arms for name in acted_on],
        "body": [{"body": name} for name in (robot, *assets)],
        FINGER_JOINTS: arms,
        FREE_OBJECTS: [each for each in objects if assets[str(each["object"])].free],
        JUDGED_OBJECTS: objects if any(skill.scene_force_threshold_n is not None for skill in cfg.skills) else [],
        REGIONS: [{"object": name, "region": region} for name, region in recorded_regions(cfg, assets)],
        SENSORS: [{"sensor": name, "value": value} for name, value in dict.fromkeys(values)],
        SEVERAL_ARMS: arms if len(arms) > 1 else [],
        HOLDS: all_joints,
        PUSHES: all_joints if actor.may_push(cfg) else [],
        LABELS: arms if actor.records_labels(cfg) else [],
    }
