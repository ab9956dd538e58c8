"""Rotations agree with SciPy; poses are a group, act on points as their matrices do, and cannot be changed."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from unlatch.simcore.errors import GeometryError
from unlatch.simcore.geometry import (
    Pose,
    angle_between,
    matrices_from_quats_xyzw,
    matrix_from_axis_angle,
    matrix_from_quat_xyzw,
    matrix_from_rpy,
    multiply_in_order,
    quat_wxyz_from_xyzw,
    quat_xyzw_from_matrix,
    quat_xyzw_from_wxyz,
    unit,
)

NUMBER = st.floats(min_value=-3.0, max_value=3.0, allow_nan=False)
ANGLE = st.floats(min_value=-math.pi, max_value=math.pi, allow_nan=False)
VECTORS = st.tuples(NUMBER, NUMBER, NUMBER)
AXES = VECTORS.filter(lambda v: np.linalg.norm(v) > 1e-3)
QUATS = st.tuples(NUMBER, NUMBER, NUMBER, NUMBER).filter(lambda q: np.linalg.norm(q) > 1e-2)
POSES = st.builds(Pose.from_quat_xyzw, VECTORS, QUATS)
TOLERANCE = {"atol_m": 1e-12, "atol_rad": 1e-12}


@pytest.mark.property
@given(quat=QUATS)
def test_quaternion_to_matrix_agrees_with_scipy_and_back(quat):
    R = matrix_from_quat_xyzw(quat)
    np.testing.assert_allclose(R, Rotation.from_quat(quat).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=1e-13)
    back = quat_xyzw_from_matrix(R)
    wanted = unit(quat)
    assert back[3] >= 0.0
    # a quaternion and its negative are one rotation
    np.testing.assert_allclose(back * np.sign(back @ wanted), wanted, atol=1e-12)


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
@given(axis=AXES, angle=ANGLE)
def test_axis_and_angle_agree_with_scipy_at_any_length_of_the_axis(axis, angle):
    wanted = Rotation.from_rotvec(angle * unit(axis)).as_matrix()
    np.testing.assert_allclose(matrix_from_axis_angle(axis, angle), wanted, atol=1e-14)


@pytest.mark.property
@given(a=AXES, axis=AXES, angle=st.floats(min_value=0.0, max_value=math.pi))
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


def test_products_in_order_are_sums_from_left_to_right():
    rng = np.random.default_rng(6)
    for A, B, point in zip(
        rng.normal(size=(50, 3, 3)), rng.normal(size=(50, 3, 3)), rng.normal(size=(50, 3)), strict=True
    ):
        columns = A[:, :1] * B[0] + A[:, 1:2] * B[1] + A[:, 2:] * B[2]
        assert multiply_in_order(A, B).tobytes() == columns.tobytes()
        assert (
            multiply_in_order(A, point).tobytes()
            == (A[:, 0] * point[0] + A[:, 1] * point[1] + A[:, 2] * point[2]).tobytes()
        )


def test_rotations_of_many_quaternions_are_those_of_each_one_to_the_bit():
    quats = np.random.default_rng(5).normal(size=(500, 4))
    quats /= np.linalg.norm(quats, axis=1)[:, None]
    each = np.array([matrix_from_quat_xyzw(quat) for quat in quats])
    assert matrices_from_quats_xyzw(quats).tobytes() == each.tobytes()


@pytest.mark.property
@given(a=POSES, b=POSES, c=POSES)
def test_poses_are_a_group(a, b, c):
    one = Pose.identity()
    assert ((a @ b) @ c).is_close(a @ (b @ c), **TOLERANCE)
    assert (a @ b).inverse().is_close(b.inverse() @ a.inverse(), **TOLERANCE)
    assert (a @ one).is_close(a, **TOLERANCE)
    assert (one @ a).is_close(a, **TOLERANCE)
    assert (a @ a.inverse()).is_close(one, **TOLERANCE)
    assert (a.inverse() @ a).is_close(one, **TOLERANCE)
    assert a.inverse().inverse().is_close(a, **TOLERANCE)


@pytest.mark.property
@given(T_a_b=POSES, T_b_c=POSES, points=st.lists(VECTORS, min_size=1, max_size=4))
def test_points_move_as_by_the_matrix_and_by_one_frame_after_the_other(T_a_b, T_b_c, points):
    p_c = np.array(points)  # (K, 3)
    homogeneous = np.c_[p_c, np.ones(len(p_c))]
    np.testing.assert_allclose((T_a_b @ p_c), (homogeneous @ T_a_b.matrix.T)[:, :3], atol=1e-12)
    np.testing.assert_allclose((T_a_b @ T_b_c) @ p_c, T_a_b @ (T_b_c @ p_c), atol=1e-12)
    np.testing.assert_allclose(T_a_b @ p_c[0], (T_a_b @ p_c)[0], atol=1e-15)


@pytest.mark.property
@given(T=POSES, direction=VECTORS)
def test_directions_turn_without_the_translation(T, direction):
    d = np.array(direction)
    np.testing.assert_allclose(T.rotate(d), T @ d - T.p, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(T.rotate(d)), np.linalg.norm(d), atol=1e-12)


@pytest.mark.property
@given(T=POSES, copier=st.sampled_from([copy.copy, copy.deepcopy, lambda T: pickle.loads(pickle.dumps(T))]))
def test_quaternions_matrix_and_copies_give_the_pose_back(T, copier):
    assert Pose.from_quat_xyzw(T.p, T.quat_xyzw).is_close(T, **TOLERANCE)
    assert Pose.from_matrix(T.matrix).is_close(T, atol_m=0.0, atol_rad=1e-15)
    np.testing.assert_array_equal(T.quat_wxyz, np.roll(T.quat_xyzw, 1))
    np.testing.assert_array_equal(copier(T).matrix, T.matrix)


def test_roll_pitch_yaw_and_translation_make_the_poses_they_name():
    T = Pose.from_rpy([1, 2, 3], [0, 0, np.pi / 2])
    np.testing.assert_allclose(T @ np.array([1.0, 0, 0]), [1, 3, 3], atol=1e-15)
    np.testing.assert_array_equal(Pose.from_translation([1, 2, 3]) @ np.zeros(3), [1, 2, 3])


def test_a_pose_cannot_be_changed():
    source = np.eye(3)
    T = Pose(source, [1.0, 2.0, 3.0])
    with pytest.raises(AttributeError, match="A Pose cannot be changed"):
        T.p = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        T.p[0] = 5.0
    source[0, 0] = 7.0
    assert T.R[0, 0] == 1.0


@pytest.mark.parametrize("angle", [1e-6, 0.5, np.pi - 1e-6, np.pi])
def test_is_close_measures_the_true_angle(angle):
    T = Pose(matrix_from_axis_angle(unit([1, 2, 3]), angle), [0, 0, 0])
    assert T.is_close(Pose.identity(), atol_rad=1.01 * angle)
    assert not T.is_close(Pose.identity(), atol_rad=0.99 * angle)


def test_is_close_measures_the_distance():
    T = Pose.from_translation([3e-3, 4e-3, 0.0])
    assert T.is_close(Pose.identity(), atol_m=5.01e-3)
    assert not T.is_close(Pose.identity(), atol_m=4.99e-3)


@pytest.mark.parametrize(("R", "p"), [(np.eye(4), [0, 0, 0]), (np.eye(3), [0, 0]), (np.eye(2), [0, 0, 0])])
def test_arrays_of_another_size_are_refused(R, p):
    with pytest.raises(GeometryError, match=r"a \(3, 3\) rotation and a \(3,\) position, got shapes"):
        Pose(R, p)


def test_the_text_of_a_pose_shows_position_and_quaternion():
    assert repr(Pose.from_translation([0.1, 0, 0])) == "Pose(p=[0.1, 0.0, 0.0], quat_xyzw=[0.0, 0.0, 0.0, 1.0])"
