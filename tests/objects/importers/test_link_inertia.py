"""The face of a plate-like body, from which its least mass follows."""

import numpy as np
import pytest

from unlatch.objects.importers.converted_asset import face_m2, solid_inertial
from unlatch.simcore.meshes.solids import convex_hull


def box(x, y, z, *, at=0.0):
    corners = [[i * x, j * y, k * z + at] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    return convex_hull(np.array(corners))


def test_the_face_of_a_sheet_is_one_of_its_sides():
    assert face_m2([box(0.5, 0.4, 1e-4)]) == pytest.approx(0.2, rel=1e-3)


def test_inner_surfaces_do_not_count_twice():
    assert face_m2([box(0.5, 0.4, 1e-4), box(0.5, 0.4, 1e-4, at=0.001)]) == pytest.approx(0.2, rel=1e-3)


def test_a_frame_of_rods_has_no_face_between_them():
    rods = [box(0.5, 0.01, 0.01), box(0.01, 0.5, 0.01)]
    assert face_m2(rods) == pytest.approx(2 * 0.0101)


def test_the_least_mass_is_for_thin_bodies_and_not_for_stated_masses():
    sheet, block = [box(0.5, 0.4, 0.001)], [box(0.5, 0.4, 0.1)]
    assert solid_inertial((), sheet, density=400.0, least_kg_m2=10.0).mass_kg == pytest.approx(2.0, rel=1e-3)
    assert solid_inertial((), block, density=400.0, least_kg_m2=10.0).mass_kg == pytest.approx(8.0)
    assert solid_inertial((), sheet, mass_kg=0.3, least_kg_m2=10.0).mass_kg == 0.3
