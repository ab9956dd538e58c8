"""The forces of a catch and of a gasket."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.closing_profile import catch_force, gasket_force


def catch(opening: float) -> float:
    return catch_force(opening, leave=30.0, enter=12.0, reach=0.005)


def test_a_catch_holds_at_the_stop_and_resists_on_the_way_in():
    assert catch(-0.001) == catch(0.0) == 30.0
    assert catch(0.005) == pytest.approx(0.0, abs=1e-9)
    assert catch(0.0075) == pytest.approx(-12.0)
    assert catch(0.01) == catch(0.3) == 0.0


def test_a_catch_without_a_force_to_get_in_never_pushes_open():
    forces = [catch_force(x, leave=30.0, enter=0.0, reach=0.005) for x in np.linspace(0.0, 0.02, 200)]
    assert min(forces) == pytest.approx(0.0, abs=1e-12)


def test_the_force_has_no_jump_and_no_kink():
    openings = np.linspace(-0.002, 0.012, 14001)  # a micrometre apart
    forces = np.array([catch(x) for x in openings])
    slopes = np.diff(forces) / np.diff(openings)
    assert np.max(np.abs(np.diff(forces))) < 0.05
    assert np.max(np.abs(np.diff(slopes))) < 50.0  # of at most 15000 N/m


def test_a_gasket_acts_over_its_reach_and_may_push():
    assert gasket_force(0.0, pull=-4.0, reach=0.01) == -4.0
    assert gasket_force(0.005, pull=-4.0, reach=0.01) == pytest.approx(-2.0)
    assert gasket_force(0.01, pull=-4.0, reach=0.01) == 0.0
    assert gasket_force(0.0, pull=0.0, reach=0.0) == gasket_force(0.1, pull=0.0, reach=0.0) == 0.0
