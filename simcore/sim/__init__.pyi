from .bodies import ROOT, Body
from .collision import BulletCollisionChecker, ObstacleModel, RobotModel
from .contacts import ContactMonitor, ContactView, Violation, touching_pairs
from .drives import DriveGroup, DriveMode, JointDrive
from .joint_coupling import couple_joints
from .mesh_hull import hull_points
from .part_motion import measure_motion
from .pose_estimate_error import PoseEstimateError
from .scene import NOT_RECORDED, Scene
from .sweep import PlannedMotion
from .world import World, WorldCfg

__all__ = [
    "NOT_RECORDED",
    "ROOT",
    "Body",
    "BulletCollisionChecker",
    "ContactMonitor",
    "ContactView",
    "DriveGroup",
    "DriveMode",
    "JointDrive",
    "ObstacleModel",
    "PlannedMotion",
    "PoseEstimateError",
    "RobotModel",
    "Scene",
    "Violation",
    "World",
    "WorldCfg",
    "couple_joints",
    "hull_points",
    "measure_motion",
    "touching_pairs",
]
