"""Distances and volumes against shapes for which they are known."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.meshes.collider_pieces import collider_quality
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

CORNERS = np.array(np.meshgrid((-0.5, 0.5), (-0.5, 0.5), (-0.5, 0.5))).reshape(3, -1).T


def box(size: tuple[float, float, float], centre: tuple[float, float, float] = (0, 0, 0)) -> TriangleMesh:
    return convex_hull(CORNERS * np.asarray(size) + np.asarray(centre))


def test_colliders_that_are_the_surface_are_perfect():
    found = collider_quality([box((1, 1, 1))], [box((1, 1, 1))])
    assert found is not None
    assert (found.parts, found.volume_ratio) == (1, pytest.approx(1.0))
    assert found.hausdorff_m <= found.spacing_m


def test_halves_that_meet_inside_are_perfect_too():
    halves = [box((0.5, 1, 1), (-0.25, 0, 0)), box((0.5, 1, 1), (0.25, 0, 0))]
    found = collider_quality([box((1, 1, 1))], halves)
    assert found is not None
    assert found.hausdorff_m <= found.spacing_m
    assert found.volume_ratio == pytest.approx(1.0)


def test_a_collider_that_is_too_large_stands_out():
    found = collider_quality([box((1, 1, 1))], [box((1.2, 1, 1))])
    assert found is not None
    assert found.protruding_m == pytest.approx(0.1, abs=found.spacing_m)
    assert found.uncovered_m == 0.0
    assert found.volume_ratio == pytest.approx(1.2)


def test_a_collider_that_is_too_small_leaves_the_surface_bare():
    found = collider_quality([box((1, 1, 1))], [box((1, 1, 0.6))])
    assert found is not None
    assert found.uncovered_m == pytest.approx(0.2, abs=found.spacing_m)
    assert found.hausdorff_m == max(found.uncovered_m, found.protruding_m)


def test_a_surface_with_a_hole_has_no_volume_ratio():
    whole = box((1, 1, 1))
    found = collider_quality([TriangleMesh(whole.vertices, whole.faces[1:])], [whole])
    assert found is not None
    assert found.volume_ratio is None
    assert found.volume_m3 == pytest.approx(1.0)


def test_links_without_surface_or_colliders_have_no_quality():
    assert collider_quality([], [box((1, 1, 1))]) is None
    assert collider_quality([box((1, 1, 1))], []) is None


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "stands_out"), [(0.001, False), (0.05, True)])
def test_faces_of_parts_that_nearly_meet_inside_a_solid_do_not_stand_out(gap: float, stands_out: bool):
    # the points are 15 mm apart: a gap of 1 mm is one that CoACD leaves, a hand reaches into neither
    parts = [box((0.5 - gap, 1, 1), (-0.25 - gap / 2, 0, 0)), box((0.5, 1, 1), (0.25, 0, 0))]
    found = collider_quality([box((1, 1, 1))], parts)
    assert found is not None
    assert (found.protruding_m > 0.4) is stands_out
