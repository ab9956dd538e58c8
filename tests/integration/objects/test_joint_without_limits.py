"""A tray that turns without end, held by its friction where it is."""

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_object
from unlatch.objects.scene_object import SceneObject
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration

SHAPE = '<{tag}><origin xyz="0 0 {z}"/><geometry><cylinder radius="{r}" length="0.02"/></geometry></{tag}>'


def shape(radius_m, z_m):
    return "".join(SHAPE.format(tag=tag, r=radius_m, z=z_m) for tag in ("visual", "collision"))


def test_a_held_joint_without_limits_stays_where_it_is(tmp_path):
    path = tmp_path / "tray.urdf"
    path.write_text(
        f'<robot name="tray"><link name="foot">{shape(0.1, 0.01)}</link><link name="tray">{shape(0.15, 0.03)}</link>'
        '<joint name="turn" type="continuous"><parent link="foot"/><child link="tray"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    cfg = ObjectCfg(name="object", source=ObjectSource.urdf, root=str(path), cache_dir=str(tmp_path / "cache"))
    asset = load_object(cfg, rng=np.random.default_rng(0))
    with World(WorldCfg()) as world:
        item = SceneObject(
            world.load_urdf(asset.urdf_path, name="object", T_world_root=Pose.identity()), asset, world=world
        )
        item.set_joints({"turn": 1.1})
        for _ in range(30):
            item.hold(frozenset(("turn",)))
            for _ in range(8):
                world.step()
        assert item.joint_position("turn") == pytest.approx(1.1, abs=1e-3)
