from .action import Action, ArmAction
from .catalog import ROBOTS
from .checks import check_robot, limit_problems
from .description import ArmCfg, RobotCfg, base_pose
from .franka_panda import urdf_path
from .from_urdf.reach import ReachModel, ReachRegion
from .gripper import GripperCfg
from .hand_shape import HandShape, hand_shapes
from .model import DISTRIBUTION, model_path
from .robot import Arm, Robot
from .signal_view import SignalView

__all__ = [
    "DISTRIBUTION",
    "ROBOTS",
    "Action",
    "Arm",
    "ArmAction",
    "ArmCfg",
    "GripperCfg",
    "HandShape",
    "ReachModel",
    "ReachRegion",
    "Robot",
    "RobotCfg",
    "SignalView",
    "base_pose",
    "check_robot",
    "hand_shapes",
    "limit_problems",
    "model_path",
    "urdf_path",
]
