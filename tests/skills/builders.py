"""Generated objects, objects of two links, the hand of a Panda beside them, and the arm as the solver sees it."""

import tempfile
from pathlib import Path

import numpy as np

from tests.objects.builders import generated
from unlatch.objects.annotation import Articulation, FramedVector, Handle, HandleType, Openness, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.procedural.assembly import model_bounds
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, UrdfModel
from unlatch.skills.strategies.hand_fit import HandFit
from unlatch.skills.strategies.ranking import derive_strategies
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel

ARM = load_robot("franka_panda").arms[0]
HAND = hand_shape("franka_panda", ARM)
HEAD, TAIL, SPOT = "articulated_object_head", "articulated_object_tail", "link_contact_point"
GREY = (0.5, 0.5, 0.5, 1.0)
CLOSED = (0.0, 0.0)
_FOLDER = tempfile.TemporaryDirectory(prefix="unlatch_skill_tests_")


def panda():
    """The arm of a Panda as the solver sees it."""
    return ArmModel(
        kinematics=Kinematics.from_urdf(model_path("franka_panda"), base_link=ARM.base_link, tip_link=ARM.ee_link),
        tool_keypoints={name: np.array(point) for name, point in ARM.keypoints.items()},
        q_lower=np.array(ARM.lower),
        q_upper=np.array(ARM.upper),
        max_velocity=np.array(ARM.max_velocity),
        max_acceleration=np.array(ARM.max_acceleration),
        workspace=np.array(ARM.workspace),
        q_home=np.array(ARM.home),
    )


def part_of(category, name=None, instance=0):
    """A generated object and its first part, or the one of a name."""
    asset = generated(category, instance)
    parts = asset.articulation.parts
    return asset, parts[name] if name else next(iter(parts.values()))


def link(name, **boxes):
    """A link of boxes between two corners."""
    made = LinkBuilder(name)
    for label, (low, high) in boxes.items():
        made.box(label, low, high, rgba=GREY)
    return made


def handle_at(head, size, kind=HandleType.bar, R=None):
    return Handle(kind, np.array(size), Pose(np.eye(3) if R is None else R, np.array(head)))


def made_of(body, moving, *, kind, axis, upper, head, across, along, spot, handle):
    """Writes an object whose joint stands at the origin; its part lies in the frame of its link."""
    slides, head = kind is PartKind.slider, np.array(head, dtype=float)
    names = {"name": "joint", "parent": body.name, "child": moving.name, "T_parent_joint": Pose.identity()}
    limits = {"lower": 0.0, "upper": upper, "effort": 10.0, "velocity": 1.0}
    joint = Joint(kind="prismatic" if slides else "revolute", axis=np.array(axis), **names, **limits)
    links = {item.name: item.build(mass_kg=2.0) for item in (body, moving)}
    model = UrdfModel("object", links, {"joint": joint})
    part = Part(
        name="part",
        joint="joint",
        link=moving.name,
        base=body.name,
        kind=kind,
        keypoints={
            HEAD: FramedVector.of("link", head),
            TAIL: FramedVector.of("link", head + 0.05 * np.array(across)),
            SPOT: FramedVector.of("link", spot),
            "base_contact_point": FramedVector.of("base", [0.0, 0.0, 0.0]),
        },
        axes={
            "link0_move_axis" if slides else "link0_rot_axis": FramedVector.of("link", axis),
            "link0_contact_axis": FramedVector.of("link", along),
            "base_front_axis": FramedVector.of("base", [1.0, 0.0, 0.0]),
        },
        handle=handle,
        openness=Openness(0.0, upper),
    )
    urdf = Path(tempfile.mkdtemp(dir=_FOLDER.name)) / "object.urdf"
    urdf.write_text(model.to_urdf())
    asset = ObjectAsset(
        name="object",
        category="cabinet",
        instance="x",
        source="urdf",
        urdf_path=urdf,
        articulation=Articulation("cabinet", {}, {"part": part}),
        content_hash="",
        bounds_obj=model_bounds(model),
        friction={},
        damping={},
        parameters={},
    )
    return asset, part


def fit_of(made, approach_m=0.0):
    return HandFit(*made, HAND, approach_m=approach_m)


def strategies_of(skill, made, start=CLOSED, **more):
    """The settings of the derived strategies by name, in their order."""
    return dict(derive_strategies(skill, *made, HAND, start, **more))


def place_of(part, setting, keypoint=SPOT):
    """Where a setting puts a keypoint, in the frame of its link [m]."""
    return part.keypoint(keypoint).xyz + np.array(setting.keypoint_shifts[keypoint])
