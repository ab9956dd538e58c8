"""The simulation: a world of PyBullet, its bodies, contacts and motors, and views of many environments."""

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.attribute_views import AttributeView, BodyView, GridCloner, ViewAttribute
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.scene import Scene
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg

__all__ = [
    "RENDERERS",
    "ArticulationView",
    "AttributeView",
    "Body",
    "BodyView",
    "ContactMonitor",
    "ContactView",
    "DriveGroup",
    "DriveMode",
    "GridCloner",
    "JointDrive",
    "LookAtCamera",
    "Pinhole",
    "Pose",
    "RigidPrimView",
    "Scene",
    "ViewAttribute",
    "World",
    "WorldCfg",
    "framing_camera",
    "take_picture",
]
