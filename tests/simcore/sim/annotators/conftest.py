"""Shots of small scenes whose geometry can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotation import AnnotatedFrame, AnnotationCfg, take_annotated_frame
from unlatch.simcore.sim.renderers.software import SoftwareRenderer
from unlatch.simcore.sim.world import World, WorldCfg

PINHOLE = Pinhole(160, 120, 150.0, 140.0, 77.0, 61.0)
URDF_FOLDER = Path(__file__).parents[3] / "data" / "urdf"
T_WORLD_CAMERA = Pose.from_rpy((0.3, -0.2, 0.5), (-1.9, 0.1, 0.3))


@pytest.fixture
def T_world_camera() -> Pose:
    return T_WORLD_CAMERA


@pytest.fixture
def world() -> Iterator[World]:
    """A world whose images the software renderer makes; `test_renderers.py` compares it with the others."""
    with World(WorldCfg(), visuals=True, renderer=SoftwareRenderer()) as opened:
        yield opened


@pytest.fixture
def take(world: World) -> Callable[..., AnnotatedFrame]:
    """A shot from `T_WORLD_CAMERA` by `PINHOLE` or another lens; fields of the configuration by name."""

    def of(*, keypoints=None, optics=PINHOLE, **cfg) -> AnnotatedFrame:
        options = {"near_m": 0.02, "far_m": 10.0, "cfg": AnnotationCfg(**cfg), "keypoints": keypoints}
        return take_annotated_frame(world, optics, T_WORLD_CAMERA, **options)

    return of


@pytest.fixture
def cupboard(world: World):
    """A cupboard 1 m before the camera, turned 20 degrees about the vertical, its door on the camera's side."""
    T_camera_body = Pose([[1, 0, 0], [0, 0, -1], [0, 1, 0]], (0.0, 0.0, 1.0)) @ Pose.from_rpy((0, 0, 0), (0, 0, 0.35))
    body = world.load_urdf(URDF_FOLDER / "cupboard.urdf", name="cupboard", T_world_root=T_WORLD_CAMERA @ T_camera_body)
    body.semantic_class = "furniture"
    body.part_names = {"leaf": "door"}
    return body
