"""Objects of two links, made by a test."""

import numpy as np
import pytest

from unlatch.objects.annotation import Articulation, FramedVector, Openness, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.procedural.assembly import model_bounds
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, UrdfModel


@pytest.fixture
def make_object(tmp_path_factory):
    """Writes an object whose joint stands at the origin; its part lies in the frame of its link."""

    def make(body, link, *, kind, axis, upper, head, across, along, spot, handle):
        slides = kind is PartKind.slider
        joint = Joint(
            name="joint",
            kind="prismatic" if slides else "revolute",
            parent=body.name,
            child=link.name,
            T_parent_joint=Pose.identity(),
            axis=np.array(axis),
            lower=0.0,
            upper=upper,
            effort=10.0,
            velocity=1.0,
        )
        links = {item.name: item.build(mass_kg=2.0) for item in (body, link)}
        model = UrdfModel("object", links, {"joint": joint})
        part = Part(
            name="part",
            joint="joint",
            link=link.name,
            base=body.name,
            kind=kind,
            keypoints={
                "articulated_object_head": FramedVector.of("link", head),
                "articulated_object_tail": FramedVector.of("link", head + 0.05 * np.array(across)),
                "link_contact_point": FramedVector.of("link", spot),
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
        urdf = tmp_path_factory.mktemp("object") / "object.urdf"
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

    return make
