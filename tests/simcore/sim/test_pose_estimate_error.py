"""What a planner is told of an object."""

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.body_views import PoseEstimateView
from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError

ROOT = Pose.from_rpy((0.5, -0.1, 0.2), (0.1, -0.2, 0.7))
LINK = ROOT @ Pose.from_rpy((0.0, 0.3, 0.1), (0.0, 0.0, 0.4))


def test_without_errors_the_estimate_is_exact():
    pose_error = PoseEstimateError([("door", "handle")])
    assert pose_error.estimate_root(ROOT) is ROOT
    assert pose_error.estimate_frame(ROOT, LINK) is LINK
    assert not pose_error.keypoint_error("door", "handle").any()
    positions = np.array([0.3])
    told = PoseEstimateError([], joints=["hinge"])
    assert told.joint_positions(positions) is positions
    assert told.joint_error("hinge") == 0.0


def test_the_object_is_displaced_as_one():
    pose_error = PoseEstimateError([])
    pose_error.position_m, pose_error.rpy_rad = np.array([0.01, -0.02, 0.03]), np.array([0.0, 0.0, 0.1])
    root, link = pose_error.estimate_root(ROOT), pose_error.estimate_frame(ROOT, LINK)
    assert np.allclose(root.p - ROOT.p, [0.01, -0.02, 0.03])
    assert np.allclose(root.R @ ROOT.R.T, Pose.from_rpy(np.zeros(3), (0.0, 0.0, 0.1)).R)
    assert np.allclose((root.inverse() @ link).matrix, (ROOT.inverse() @ LINK).matrix)


def test_its_view_writes_every_error():
    pose_error = PoseEstimateError([("door", "head"), ("door", "tail")], joints=["hinge"])
    view = PoseEstimateView(pose_error, name="microwave")
    view.attribute("seen_position").write(0, np.array([1.0, 2.0, 3.0]))
    view.attribute("seen_orientation").write(0, np.array([0.1, 0.2, 0.3]))
    view.attribute("seen_joints").write(0, np.array([0.04]))
    view.attribute("seen_keypoints").write(0, np.arange(6.0))
    assert pose_error.position_m.tolist() == [1.0, 2.0, 3.0]
    assert pose_error.rpy_rad.tolist() == [0.1, 0.2, 0.3]
    assert pose_error.keypoint_error("door", "tail").tolist() == [3.0, 4.0, 5.0]
    assert pose_error.joint_error("hinge") == 0.04
    assert pose_error.joint_positions(np.array([1.0])).tolist() == [1.04]
    for name, values in (("seen_position", [1.0, 2.0, 3.0]), ("seen_keypoints", list(range(6)))):
        assert view.get(name)[0].tolist() == values
