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
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.episode.assets import pin_side
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh, link_meshes

Array = np.ndarray


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
