"""The simulation: a world of PyBullet with its bodies, motors and contacts, views of many environments, and renderers.

    from unlatch.sim import Pose, World, WorldCfg

    with World(WorldCfg()) as world:
        T_world_box = Pose.from_translation((0.0, 0.0, 1.0))
        cube = world.add_box("cube", size_m=(0.1, 0.1, 0.1), T_world_box=T_world_box, mass_kg=1.0)
        world.step()
        print(cube.root_pose().p)  # [m]

`open_record` puts a recorded episode back into a world. A renderer of a plugin derives from `Renderer`.
"""

from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.geometry import Pose
from unlatch.simcore.randomization.config import VisualDraw
from unlatch.simcore.sim.attribute_views import AttributeView, BodyView, GridCloner, ViewAttribute
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.simcore.sim.converted_body import load_converted
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.joint_mechanisms import TendonCfg
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.scene import Scene
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.viewing.scene_picture import RecordedWorld, open_record

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
    "Pose",
    "RawImages",
    "RecordedWorld",
    "RenderRequest",
    "RenderedWorld",
    "Renderer",
    "RigidPrimView",
    "Scene",
    "TendonCfg",
    "ViewAttribute",
    "VisualDraw",
    "World",
    "WorldCfg",
    "framing_camera",
    "load_converted",
    "open_record",
    "take_picture",
]
