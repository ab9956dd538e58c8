from .appearance_view import AppearanceView, LightView
from .articulation_view import ArticulationView
from .attribute_view import AttributeView, ViewAttribute
from .camera_view import CameraView
from .grid_cloner import GridCloner
from .pose_estimate_view import PoseEstimateView
from .rigid_prim_view import RigidPrimView
from .view import BodyView, gravity_attribute

__all__ = [
    "AppearanceView",
    "ArticulationView",
    "AttributeView",
    "BodyView",
    "CameraView",
    "GridCloner",
    "LightView",
    "PoseEstimateView",
    "RigidPrimView",
    "ViewAttribute",
    "gravity_attribute",
]
