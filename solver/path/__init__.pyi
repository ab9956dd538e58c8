from .actuation_motions import apply_motion, post_poses, pre_poses, step_back
from .path_solver import PathSolution, PathSolver
from .slip import Slide, Slip, SlipMode, bar_axis, inward_direction
from .waypoints import Grasp, Waypoints, part_motions, part_waypoints, pose_waypoints

__all__ = [
    "Grasp",
    "PathSolution",
    "PathSolver",
    "Slide",
    "Slip",
    "SlipMode",
    "Waypoints",
    "apply_motion",
    "bar_axis",
    "inward_direction",
    "part_motions",
    "part_waypoints",
    "pose_waypoints",
    "post_poses",
    "pre_poses",
    "step_back",
]
