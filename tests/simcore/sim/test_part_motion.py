"""Overlap and free motion on objects whose answer is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.sim.converted_body import measure_motion

URDF = """<?xml version="1.0"?>
<robot name="r">
<link name="body">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 1 1"/></geometry></collision>
</link>
<link name="part">
<inertial><mass value="{mass}"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
</link>
<link name="tip">
<inertial><mass value="0.1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
</link>
<joint name="slide" type="{kind}">
<origin xyz="0.57 0 0"/><parent link="body"/><child link="part"/><axis xyz="1 0 0"/>
<limit lower="{lower}" upper="{upper}" effort="100" velocity="10"/><dynamics damping="50" friction="50"/>
</joint>
<joint name="fixed" type="fixed"><origin xyz="0 0 0.3"/><parent link="part"/><child link="tip"/></joint>
</robot>
"""


def urdf(folder: Path, **values: object) -> Path:
    path = folder / "r.urdf"
    path.write_text(URDF.format(**{"mass": 1, "kind": "prismatic", "lower": 0.0, "upper": 0.4, **values}))
    return path


def test_overlap_is_measured_at_both_ends_and_between(tmp_path: Path):
    (motion,) = measure_motion(urdf(tmp_path))
    # the part's inner face starts 3 cm inside the body, and is 17 cm away from it half way
    assert motion.overlap_m["lower"] == pytest.approx(0.03, abs=2e-3)
    assert motion.overlap_m["half"] == 0.0
    assert motion.overlap_m["upper"] == 0.0


def test_a_link_that_hangs_on_the_part_moves_with_it(tmp_path: Path):
    # at -0.2, part and tip are 23 cm deep; were the tip counted to the rest, the part could never leave it
    (motion,) = measure_motion(urdf(tmp_path, lower=-0.2))
    assert motion.overlap_m["lower"] > 0.1
    assert motion.overlap_m["upper"] == 0.0


def test_a_free_part_covers_its_range_whatever_damping_the_file_states(tmp_path: Path):
    (motion,) = measure_motion(urdf(tmp_path))
    assert motion.travel == pytest.approx(1.0, abs=1e-3)


def test_an_absurdly_heavy_part_does_not_cover_its_range(tmp_path: Path):
    (motion,) = measure_motion(urdf(tmp_path, mass=100_000))
    assert 0.0 < motion.travel < 0.01


def test_a_joint_without_limits_has_a_full_turn(tmp_path: Path):
    path = urdf(tmp_path, kind="continuous")
    (motion,) = measure_motion(path, continuous={"slide"})
    assert (motion.lower, motion.upper) == pytest.approx((0.0, 6.283185), abs=1e-5)
    assert motion.travel == pytest.approx(1.0, abs=1e-3)


def test_an_object_without_joints_has_no_motion(tmp_path: Path):
    assert measure_motion(urdf(tmp_path, kind="fixed")) == []
