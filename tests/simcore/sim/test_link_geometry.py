"""The arrays for a graphics card are the triangles of the shapes, with few vertices."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.renderers.light import HEADROOM, decode_srgb, encode_srgb, tone_curve, tone_map
from unlatch.simcore.sim.renderers.link_geometry import link_mesh, shape_geometry
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES
from unlatch.simcore.sim.world import World, WorldCfg


def test_a_box_keeps_its_triangles_and_gets_one_vertex_a_side_and_corner() -> None:
    with World(WorldCfg(), visuals=True) as world:
        colour = (0.72, 0.2, 0.17, 1.0)  # Bullet reports 0.72000003
        body = world.add_box("box", size_m=(0.2, 0.3, 0.4), T_world_box=Pose.identity(), rgba=colour)
        body.finish_by_colour = {colour: FINISHES["chrome"]}
        made = shape_geometry(body, body.visual_shapes[0])
        expected = link_mesh(body, body.root_link)
    assert len(made.vertices) == 24
    assert made.finish == FINISHES["chrome"]
    np.testing.assert_allclose(made.vertices[made.faces], expected.triangles, atol=1e-6)
    sides = np.cross(*(made.vertices[made.faces][:, k] - made.vertices[made.faces][:, 0] for k in (1, 2)))
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    np.testing.assert_allclose(made.normals[made.faces], np.repeat(sides[:, None], 3, axis=1), atol=1e-5)


def test_brighter_light_never_looks_darker_and_black_is_black() -> None:
    levels = tone_curve().astype(int)
    assert (np.diff(levels) >= 0).all()
    assert levels[0] == 0
    assert levels[-1] == 255
    assert tone_map(np.array([HEADROOM, 10.0])).tolist() == [255, 255]


@pytest.mark.parametrize("value", [0.0, 0.01, 0.2, 1.0])
def test_srgb_is_the_inverse_of_linear_light(value: float) -> None:
    assert encode_srgb(decode_srgb(np.array(value))) == pytest.approx(value, abs=1e-6)
