"""Rotations agree with SciPy, survive every round trip and refuse values that are not rotations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from unlatch.simcore.errors import GeometryError
from unlatch.simcore.geometry import (
    angle_between,
    matrices_from_quats_xyzw,
    matrix_from_axis_angle,
    matrix_from_quat_xyzw,
    matrix_from_rpy,
    quat_wxyz_from_xyzw,
    quat_xyzw_from_matrix,
    quat_xyzw_from_wxyz,
    unit,
)

COMPONENT = st.floats(min_value=-1.0, max_value=1.0, allow_nan=False)
ANGLE = st.floats(min_value=-math.pi, max_value=math.pi, allow_nan=False)
QUATS = st.tuples(COMPONENT, COMPONENT, COMPONENT, COMPONENT).filter(lambda q: np.linalg.norm(q) > 1e-3)
VECTORS = st.tuples(COMPONENT, COMPONENT, COMPONENT).filter(lambda v: np.linalg.norm(v) > 1e-3)


@pytest.mark.property
@given(quat=QUATS)
def test_quaternion_to_matrix_agrees_with_scipy_and_back(quat):
    R = matrix_from_quat_xyzw(quat)
    np.testing.assert_allclose(R, Rotation.from_quat(quat).as_matrix(), atol=1e-14)
    back = quat_xyzw_from_matrix(R)
    wanted = unit(quat)
    assert back[3] >= 0.0
    # a quaternion and its negative are one rotation
    np.testing.assert_allclose(back * np.sign(back @ wanted), wanted, atol=1e-12)


@pytest.mark.property
@given(quat=QUATS)
def test_a_rotation_matrix_is_orthonormal_and_right_handed(quat):
    R = matrix_from_quat_xyzw(quat)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, -1], [1, 1, 1]])
@pytest.mark.parametrize("angle", [0.0, 1e-9, math.pi / 2, math.pi - 1e-9, math.pi])
def test_quaternions_of_half_turns_and_identity_are_exact(axis, angle):
    R = matrix_from_axis_angle(axis, angle)
    quat = quat_xyzw_from_matrix(R)
    np.testing.assert_allclose(matrix_from_quat_xyzw(quat), R, atol=1e-15)
    assert np.linalg.norm(quat) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.property
@given(roll=ANGLE, pitch=ANGLE, yaw=ANGLE)
def test_roll_pitch_yaw_is_the_urdf_order(roll, pitch, yaw):
    wanted = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    np.testing.assert_allclose(matrix_from_rpy([roll, pitch, yaw]), wanted, atol=1e-14)
    quat = quat_xyzw_from_matrix(matrix_from_rpy([roll, pitch, yaw]))
    np.testing.assert_allclose(matrix_from_quat_xyzw(quat), wanted, atol=1e-14)


@pytest.mark.property
@given(axis=VECTORS, angle=ANGLE)
def test_axis_and_angle_agree_with_scipy_at_any_length_of_the_axis(axis, angle):
    wanted = Rotation.from_rotvec(angle * unit(axis)).as_matrix()
    np.testing.assert_allclose(matrix_from_axis_angle(axis, angle), wanted, atol=1e-14)


@pytest.mark.property
@given(a=VECTORS, axis=VECTORS, angle=st.floats(min_value=0.0, max_value=math.pi))
def test_angle_between_a_vector_and_its_turned_copy_is_the_angle(a, axis, angle):
    across = np.cross(a, axis)
    if np.linalg.norm(across) < 1e-6:
        return
    turned = 3.0 * matrix_from_axis_angle(across, angle) @ np.asarray(a)
    assert angle_between(a, turned) == pytest.approx(angle, abs=1e-12)


def test_angle_between_is_exact_where_the_cosine_is_not():
    assert angle_between([1, 0, 0], [1, 1e-10, 0]) == pytest.approx(1e-10, rel=1e-6)
    assert angle_between([1, 0, 0], [-1, 1e-10, 0]) == pytest.approx(math.pi, abs=1e-9)
    assert angle_between([2, 0, 0], [-5, 0, 0]) == math.pi


@pytest.mark.property
@given(quat=QUATS)
def test_the_order_of_a_quaternion_can_be_changed_and_back(quat):
    x, y, z, w = quat
    np.testing.assert_array_equal(quat_wxyz_from_xyzw(quat), [w, x, y, z])
    np.testing.assert_array_equal(quat_xyzw_from_wxyz(quat_wxyz_from_xyzw(quat)), quat)


@pytest.mark.parametrize("vector", [[0, 0, 0], [1e-13, 0, 0], [math.nan, 0, 1], [math.inf, 0, 0]])
def test_a_vector_without_a_direction_is_refused(vector):
    with pytest.raises(GeometryError, match=r"finite length above 1e-12, got \[.*\]\. Give it a direction\."):
        unit(vector)


@pytest.mark.parametrize("quat", [[0, 0, 0, 0], [0, 0, 1], [math.nan, 0, 0, 1], [0, 0, 0, math.inf], np.eye(4)])
def test_a_quaternion_that_is_no_rotation_is_refused(quat):
    with pytest.raises(GeometryError, match=r"4 finite numbers and a length above 1e-12, got .* Give x, y, z, w\."):
        matrix_from_quat_xyzw(quat)


def test_rotations_of_many_quaternions_are_those_of_each_one_to_the_bit():
    quats = np.random.default_rng(5).normal(size=(500, 4))
    quats /= np.linalg.norm(quats, axis=1)[:, None]
    each = np.array([matrix_from_quat_xyzw(quat) for quat in quats])
    assert matrices_from_quats_xyzw(quats).tobytes() == each.tobytes()
