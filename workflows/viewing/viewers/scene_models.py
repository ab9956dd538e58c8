"""The robot and the objects of an episode as models: their visible links, posed by values of the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.description import RobotCfg, base_pose
from unlatch.robots.model import model_path
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.episode.assets import pin_side
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh, box_mesh, link_meshes

Array = np.ndarray

_TABLE_RGBA = (0.83, 0.79, 0.72, 1.0)
_PLINTH_RGBA = (0.45, 0.47, 0.5, 1.0)


@dataclass(frozen=True)
class SceneModel:
    """A robot or an object; valid while its world is open."""

    name: str
    """`robot/<robot>` or `object/<object>`."""
    meshes: Mapping[str, list[ColouredMesh]]
    """Visible triangles of each link."""
    body: Body

    def link_poses(self, joints: list[str], positions: Array, root: Pose | None = None) -> dict[str, Pose]:
        """Returns the pose of every visible link in the world frame.

        Args:
            joints: Names of n joints.
            positions: (n,) their positions [rad or m].
            root: Pose of the root link in the world frame; None: it stays.
        """
        if root is not None:
            self.body.set_root_pose(root)
        self.body.set_joint_positions(joints, positions)
        return {link: self.body.link_pose(link) for link in self.meshes}


@contextmanager
def open_robot(robot: RobotCfg) -> Iterator[SceneModel]:
    """Opens the model of a robot.

    Raises:
        AssetError: The robot is not available.
    """
    path = model_path(robot)
    meshes = _robot_meshes(path)
    with World(WorldCfg()) as world:
        body = world.load_urdf(path, name=robot.name, T_world_root=base_pose(robot))
        yield SceneModel(f"robot/{robot.name}", meshes, body)


@contextmanager
def open_object(name: str, asset: ObjectAsset) -> Iterator[SceneModel]:
    """Opens the model of an object.

    Raises:
        AssetError: A mesh cannot be read.
    """
    meshes = link_meshes(read_urdf(asset.drawn_urdf()))
    with World(WorldCfg()) as world:
        yield SceneModel(
            f"object/{name}", meshes, world.load_urdf(asset.urdf_path, name=name, T_world_root=Pose.identity())
        )


@lru_cache(maxsize=4)
def _robot_meshes(path: Path) -> Mapping[str, list[ColouredMesh]]:
    return link_meshes(read_urdf(path, packages=True))


def robot_joints(robot: RobotCfg, arrays: Mapping[str, Array]) -> tuple[list[str], Array]:
    """Returns the names of n joints of the arms and fingers, and their positions (T, n) from arrays of the record."""
    names: list[str] = []
    columns: list[Array] = []
    for arm in robot.arms:
        prefix = f"robots.{robot.name}.{arm.name}"
        names += [*arm.joints, *arm.gripper.joints]
        columns.append(arrays[f"{prefix}.joint_positions"])
        shared = np.array([arm.gripper.positions(float(opening)) for (opening,) in arrays[f"{prefix}.gripper_opening"]])
        columns.append(arrays.get(f"{prefix}.gripper_joint_positions", shared))
    return names, np.concatenate(columns, axis=1)


def object_joints(model: SceneModel, name: str, arrays: Mapping[str, Array]) -> tuple[list[str], Array, list[Pose]]:
    """Returns the names of n joints of an object, their positions (T, n) and the T poses of its root.

    Raises:
        RecordingError: The record has another number of joints.
    """
    joints = [joint.name for joint in model.body.movable_joints]
    prefix = f"objects.{name}"
    positions = arrays[f"{prefix}.joint_positions"]
    if positions.shape[1] != len(joints):
        raise RecordingError(
            f"Object '{name}' has {len(joints)} movable joints here ({', '.join(joints)}), the record has "
            f"{positions.shape[1]}. Expected the object that was recorded. Restore it.",
            object=name,
        )
    pairs = zip(arrays[f"{prefix}.root_position"], arrays[f"{prefix}.root_quat_xyzw"], strict=True)
    return joints, positions, [Pose.from_quat_xyzw(*pair) for pair in pairs]


def fixed_meshes(layout: Mapping[str, Any]) -> Iterator[tuple[str, ColouredMesh, Pose]]:
    """Yields name, mesh and pose in the world frame of the table and of the plinths in the layout of a record."""
    yield "table", box_mesh(np.array(TABLE_SIZE_M), _TABLE_RGBA), Pose.from_translation(TABLE_CENTER_M)
    for name, place in layout.get("objects", {}).items():
        size, position = place.get("plinth_size_m"), place.get("plinth_position")
        if size is not None and position is not None:
            pose = Pose.from_quat_xyzw(position, place["plinth_quat_xyzw"])
            yield f"plinth/{name}", box_mesh(np.array(size), _PLINTH_RGBA), pose


def load_assets(
    objects: list[ObjectCfg], layout: Mapping[str, Any], hashes: Mapping[str, str], *, number: int
) -> tuple[dict[str, ObjectAsset], list[str]]:
    """Loads the objects of an episode; returns them by name, and a line for each that has changed since.

    Args:
        objects: The objects of the configuration.
        layout: The layout of the record.
        hashes: The content hash of each object in the record.
        number: Number of the episode.
    """
    instances = layout.get("instances", {})
    assets, notices = {}, []
    for cfg in objects:
        drawn = instances.get(cfg.name, {}).get("instance", cfg.instance)
        # the generator draws nothing: the instance is known
        named = pin_side(cfg if drawn is None else cfg.with_instance(drawn), instances)
        asset = load_object(named, rng=np.random.default_rng(0), number=number)
        assets[cfg.name] = asset
        if hashes.get(cfg.name) != asset.content_hash:
            notices.append(
                f"object '{cfg.name}' ({asset.source} {asset.category} {asset.instance}) differs from the recorded "
                "one: it was changed, or another version made it; its shape may differ"
            )
    return assets, notices


def choose_view(assets: Mapping[str, ObjectAsset], arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Returns eye and target (3,) [m]: from behind the robot's right shoulder, which shows hand and object."""
    middles = []
    for name, asset in assets.items():
        pose = Pose.from_quat_xyzw(
            arrays[f"objects.{name}.root_position"][0], arrays[f"objects.{name}.root_quat_xyzw"][0]
        )
        middles.append(pose @ asset.bounds_obj.mean(axis=0))
    target = 0.6 * np.mean(middles, axis=0) + 0.4 * np.array([0.12, 0.0, 0.5])
    return target + np.array([-0.72, -1.3, 0.7]), target
