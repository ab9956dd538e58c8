"""Poses are a group, act on points as their matrices do, and cannot be changed."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.simcore.errors import GeometryError
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle, unit

NUMBER = st.floats(min_value=-3.0, max_value=3.0, allow_nan=False)
VECTORS = st.tuples(NUMBER, NUMBER, NUMBER)
QUATS = st.tuples(NUMBER, NUMBER, NUMBER, NUMBER).filter(lambda q: np.linalg.norm(q) > 1e-2)
POSES = st.builds(Pose.from_quat_xyzw, VECTORS, QUATS)
TOLERANCE = {"atol_m": 1e-12, "atol_rad": 1e-12}


@pytest.mark.property
@given(a=POSES, b=POSES, c=POSES)
def test_composition_is_associative(a, b, c):
    assert ((a @ b) @ c).is_close(a @ (b @ c), **TOLERANCE)


@pytest.mark.property
@given(a=POSES)
def test_identity_and_inverse_are_neutral_and_undo(a):
    one = Pose.identity()
    assert (a @ one).is_close(a, **TOLERANCE)
    assert (one @ a).is_close(a, **TOLERANCE)
    assert (a @ a.inverse()).is_close(one, **TOLERANCE)
    assert (a.inverse() @ a).is_close(one, **TOLERANCE)
    assert a.inverse().inverse().is_close(a, **TOLERANCE)


@pytest.mark.property
@given(a=POSES, b=POSES)
def test_the_inverse_of_a_product_is_the_product_of_inverses_reversed(a, b):
    assert (a @ b).inverse().is_close(b.inverse() @ a.inverse(), **TOLERANCE)


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
@given(T=POSES)
def test_quaternions_and_matrix_give_the_pose_back(T):
    assert Pose.from_quat_xyzw(T.p, T.quat_xyzw).is_close(T, **TOLERANCE)
    assert Pose.from_matrix(T.matrix).is_close(T, atol_m=0.0, atol_rad=1e-15)
    np.testing.assert_array_equal(T.quat_wxyz, np.roll(T.quat_xyzw, 1))


@pytest.mark.property
@given(T=POSES, copier=st.sampled_from([copy.copy, copy.deepcopy, lambda T: pickle.loads(pickle.dumps(T))]))
def test_a_copied_pose_is_equal_to_the_last_bit(T, copier):
    back = copier(T)
    np.testing.assert_array_equal(back.matrix, T.matrix)


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
