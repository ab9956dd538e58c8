"""Where closed fingers can push a part."""

from pathlib import Path

import numpy as np
import pytest

from configs.derived_grasp import HandRoom
from configs.derived_push import push_shifts
from configs.derived_ways import derived_ways
from robots.franka_panda import franka_panda
from robots.hand_shape import hand_shape
from simcore.assets.annotation import Articulation, FramedVector, Handle, HandleType, Openness, Part, PartKind
from simcore.assets.articulated_object import ObjectAsset
from simcore.assets.procedural.generated import LinkBuilder, model_bounds
from simcore.assets.urdf_model import Joint, UrdfModel
from simcore.geometry import Pose

HAND = hand_shape("franka_panda", franka_panda().arms[0])
GREY = (0.5, 0.5, 0.5, 1.0)


def door(folder: Path, *, spot_y: float, bar: bool = True, height: float = 0.5) -> tuple[ObjectAsset, Part]:
    """A door in the plane x = 0, hinged at y = 0, 0.4 m wide, with a bar on its free side."""
    body, leaf = LinkBuilder("body"), LinkBuilder("leaf")
    body.box("back", (-0.4, 0.0, -0.3), (-0.38, 0.5, 0.3), rgba=GREY)
    leaf.box("panel", (-0.02, 0.0, -height / 2), (0.0, 0.4, height / 2), rgba=GREY)
    if bar:
        leaf.box("bar", (0.05, 0.34, -0.2), (0.06, 0.35, 0.2), rgba=GREY)
    joint = Joint(
        name="hinge",
        kind="revolute",
        parent="body",
        child="leaf",
        T_parent_joint=Pose.identity(),
        axis=np.array([0.0, 0.0, -1.0]),
        lower=0.0,
        upper=1.5,
        effort=10.0,
        velocity=1.0,
    )
    model = UrdfModel("door", {"body": body.build(mass_kg=5.0), "leaf": leaf.build(mass_kg=1.0)}, {"hinge": joint})
    head = np.array([0.055, 0.345, 0.0])
    part = Part(
        name="door",
        joint="hinge",
        link="leaf",
        base="body",
        kind=PartKind.hinge_vertical,
        keypoints={
            "articulated_object_head": FramedVector.of("link", head),
            "articulated_object_tail": FramedVector.of("link", head + np.array([0.0, 0.05, 0.0])),
            "link_contact_point": FramedVector.of("link", [0.0, spot_y, 0.0]),
            "base_contact_point": FramedVector.of("base", [-0.38, 0.2, 0.3]),
        },
        axes={
            "link0_rot_axis": FramedVector.of("link", [0.0, 0.0, -1.0]),
            "link0_contact_axis": FramedVector.of("link", [0.0, 0.0, 1.0]),
            "base_front_axis": FramedVector.of("base", [1.0, 0.0, 0.0]),
        },
        handle=Handle(HandleType.bar, np.array([0.01, 0.01, 0.4]), Pose.from_translation(head)),
        openness=Openness(0.0, 1.5),
    )
    urdf = folder / "object.urdf"
    urdf.write_text(model.to_urdf())
    asset = ObjectAsset(
        name="object",
        category="cabinet",
        instance="x",
        source="urdf",
        urdf_path=urdf,
        articulation=Articulation("cabinet", {}, {"door": part}),
        content_hash="",
        bounds_obj=model_bounds(model),
        friction={},
        damping={},
        parameters={},
    )
    return asset, part


def shifts(asset: ObjectAsset, part: Part) -> list[np.ndarray]:
    return push_shifts(HandRoom(asset, part, HAND, approach_m=0.0), (0.5, 0.9))


def test_a_clear_spot_is_taken_as_it_is(tmp_path: Path):
    found = shifts(*door(tmp_path, spot_y=0.25))
    assert np.allclose(found[0], 0.0)
    assert all(np.linalg.norm(a - b) >= 0.05 for i, a in enumerate(found) for b in found[:i])


def test_beside_a_bar_the_palm_wants_its_room(tmp_path: Path):
    asset, part = door(tmp_path, spot_y=0.33)
    first = shifts(asset, part)[0]
    # the palm is 63 mm thick about the fingertips, and keeps 4 mm
    assert 0.34 - (0.33 + first[1]) >= 0.0316 + 0.004
    ways = derived_ways("close", asset, part, HAND, (0.5, 0.9))
    assert [name for name, _ in ways[:2]] == ["push", "push_2"]
    assert ways[0][1]["keypoint_shifts"] == {"link_contact_point": pytest.approx(first.tolist(), abs=1e-4)}


def test_no_spot_lies_off_the_face_or_near_the_hinge(tmp_path: Path):
    asset, part = door(tmp_path, spot_y=0.2, bar=False, height=0.12)
    spot = part.keypoint("link_contact_point").xyz
    for shift in shifts(asset, part):
        _, y, z = spot + shift
        assert abs(z) <= 0.06 - 0.008
        assert 0.1 <= y <= 0.4 - 0.008


def test_where_no_spot_fits_the_annotated_one_is_tried(tmp_path: Path):
    asset, part = door(tmp_path, spot_y=0.2, height=0.01)
    assert shifts(asset, part) == []
    ((name, setting),) = derived_ways("close", asset, part, HAND, (0.5, 0.9))
    assert name == "push"
    assert "keypoint_shifts" not in setting
