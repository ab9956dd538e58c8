"""Objects of the data set become ours: on a data set made of boxes, and on the real one where it is."""

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from tests.objects.builders import edit
from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.config import PARTNET_VARIABLE, ObjectCfg, ObjectSource
from unlatch.objects.importers import partnet_object
from unlatch.objects.importers.partnet_source import partnet_instances
from unlatch.objects.library import check_candidates, describe_object_set, load_object
from unlatch.objects.validation import validate_articulation
from unlatch.simcore.errors import AssetError, ConfigError

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"
OPAQUE = ("handle-9", "low", "high")
"""Meshes of the handle."""


def cfg(root, **values):
    own = {"name": "m", "category": "microwave", "source": ObjectSource.partnet_mobility, "root": root and str(root)}
    return ObjectCfg(**{**own, **values})


@pytest.fixture
def load(boxes_dir, cache_dir):
    def loaded(root=boxes_dir, **values):
        return load_object(cfg(root, cache_dir=cache_dir, **values), rng=np.random.default_rng(0))

    return loaded


@pytest.fixture
def folder(boxes_dir):
    return boxes_dir / "microwave" / "77"


@pytest.fixture
def edit_urdf(folder):
    return lambda *pairs: edit(folder / "mobility.urdf", *pairs)


def body_of(asset, client):
    """Loads an object into Bullet, its first joint free to move."""
    flags = p.URDF_USE_INERTIA_FROM_FILE
    body = p.loadURDF(str(asset.urdf_path), useFixedBase=True, flags=flags, physicsClientId=client)
    p.setJointMotorControl2(body, 0, p.VELOCITY_CONTROL, force=0.0, physicsClientId=client)
    return body


def pushed(body, client, force, steps):
    """Position of the first joint after a push."""
    for _ in range(steps):
        p.setJointMotorControl2(body, 0, p.TORQUE_CONTROL, force=force, physicsClientId=client)
        p.stepSimulation(physicsClientId=client)
    return p.getJointState(body, 0, physicsClientId=client)[0]


def test_a_converted_object_has_our_frames(load):
    asset = load()
    assert (asset.instance, asset.articulation.scale) == ("77", 0.3)
    np.testing.assert_allclose(asset.size_m, [0.3 * 1.15, 0.3 * 1.4, 0.3 * 0.8], atol=1e-5)
    np.testing.assert_allclose(asset.bounds_obj[0], [-0.3 * 1.15 / 2, -0.21, 0.0], atol=1e-5)
    door = asset.articulation.part("door")
    assert (door.kind, door.joint, door.openness.closed) == (PartKind.hinge_vertical, "joint_0", 0.0)
    assert door.openness.open == pytest.approx(1.5708)
    # The hinge was on the left, z out of the front and y up: x right becomes y.
    assert door.handle.type is HandleType.bar
    assert door.handle.T_link_handle is not None
    head, push = door.keypoints[HEAD].xyz, door.keypoints["link_contact_point"].xyz
    np.testing.assert_allclose(head, [0.3 * 0.225, 0.3 * 1.28, 0.0], atol=0.002)
    np.testing.assert_allclose(door.handle.size, [0.3 * 0.05, 0.3 * 0.06, 0.3 * 0.4], atol=0.003)
    across = door.keypoints[TAIL].xyz - head
    np.testing.assert_allclose(across / np.linalg.norm(across), [0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(door.axes["link0_rot_axis"].xyz, [0, 0, -1], atol=1e-6)
    np.testing.assert_allclose(door.axes["link0_contact_axis"].xyz, [0, 0, 1], atol=1e-6)
    assert push[0] == pytest.approx(0.03, abs=1e-6), "on the outer face"
    assert push[1] > 0.15, "far from the hinge"
    assert abs(push[1] - 0.384) > 0.05, "beside the handle"
    assert asset.parameters["head_to_info_head_m"] == pytest.approx(0.01, abs=0.01)
    assert asset.friction == {"joint_0": 0.3}


@pytest.mark.integration
def test_bullet_loads_and_opens_it(load, client, capfd):
    asset = load()
    capfd.readouterr()
    body = body_of(asset, client)
    assert "".join(capfd.readouterr()) == ""
    mass, _, inertia, *_ = p.getDynamicsInfo(body, 0, physicsClientId=client)
    assert 0.8 <= mass <= 2.5
    assert 0.001 < inertia[0] < 1.0
    colours = {tuple(np.round(s[7], 3)) for s in p.getVisualShapeData(body, physicsClientId=client)}
    assert colours == {(0.2, 0.4, 0.6, 0.5)}, "colour and opacity of the material library"
    assert pushed(body, client, 0.5, 480) > 1.5


def test_without_info_and_names_the_category_decides(load, folder):
    for name in ("info.json", "semantics.txt"):
        (folder / name).unlink()
    asset = load()
    assert float(np.max(asset.size_m)) == pytest.approx(0.46)
    assert asset.parameters["scale_of_info"] == "none"
    assert asset.articulation.part("door").handle.type is HandleType.bar


def test_a_door_without_a_handle_is_held_at_its_free_edge(load, folder, edit_urdf):
    edit_urdf(('name="handle-9"', 'name="door_frame-1"'))
    door = load().articulation.part("door")
    assert door.handle.type is HandleType.bar, "what stands out of the door tells without a name"
    for name in OPAQUE:
        shutil.copyfile(folder / "textured_objs" / "door.obj", folder / "textured_objs" / f"{name}.obj")
    door = load().articulation.part("door")
    assert door.handle.type is HandleType.edge
    np.testing.assert_allclose(door.keypoints[HEAD].xyz[:2], [0.015, 0.42 - 0.012], atol=1e-3)
    assert door.handle.size[1] == pytest.approx(0.03, abs=1e-3)


def test_a_lock_wheel_is_held_only_far_from_the_hinge(load, edit_urdf):
    edit_urdf(('name="handle-9"', 'name="switch-9"'))
    assert load().articulation.part("door").handle.type is HandleType.bar
    hinge = '<origin xyz="{} 0 0.4"/>\n<axis xyz="0 {} 0"/>'
    edit_urdf((hinge.format("-0.7", "-1.00001"), hinge.format("0.7", "1")))
    for kind in ("visual", "collision"):
        for name, files in (("door_frame-1", ("door",)), ("switch-9", OPAQUE)):
            for file in files:
                shape = (
                    f'<{kind} name="{name}">\n<origin xyz="{{}} 0 0"/>\n'
                    f'<geometry><mesh filename="textured_objs/{file}.obj"/>'
                )
                edit_urdf((shape.format("0"), shape.format("-1.4")))
    assert load().articulation.part("door").handle.type is HandleType.edge


def test_a_handle_that_is_too_small_makes_the_object_larger(load, folder):
    (folder / "info.json").write_text(json.dumps({"scale": 0.08}))
    asset = load()
    assert asset.articulation.scale == pytest.approx(0.1)
    assert asset.articulation.part("door").handle.type is HandleType.bar
    assert load(scale=0.08).articulation.scale == pytest.approx(0.08), "a given scale stays"


def test_the_front_is_found_where_the_door_opens(load, edit_urdf):
    before = load()
    edit_urdf(('rpy="1.570796326794897 0 -1.570796326794897"', 'rpy="1.570796326794897 0 3.141592653589793"'))
    after = load()
    np.testing.assert_allclose(after.bounds_obj, before.bounds_obj, atol=1e-6)
    for name, keypoint in before.articulation.part("door").keypoints.items():
        np.testing.assert_allclose(after.articulation.part("door").keypoints[name].xyz, keypoint.xyz, atol=1e-6)


def test_other_joints_are_held_closed(load, edit_urdf):
    dial = (
        '<joint name="joint_2" type="continuous">\n<origin xyz="0 0 0"/>\n<axis xyz="0 0 1"/>\n'
        '<parent link="link_0"/>\n<child link="dial"/>\n</joint>\n<joint name="joint_1"'
    )
    edit_urdf(('<joint name="joint_1"', dial), ('<link name="base"/>', '<link name="base"/>\n<link name="dial"/>'))
    assert list(load().friction) == ["joint_0"]


@pytest.mark.slow
def test_the_cache_is_used_until_a_file_changes(load, folder, monkeypatch):
    made, original = [], partnet_object._convert

    def counted(source, folder, **values):
        made.append(folder)
        original(source, folder, **values)

    monkeypatch.setattr(partnet_object, "_convert", counted)
    first, again = load(), load()
    assert len(made) == 1
    assert again.content_hash == first.content_hash
    np.testing.assert_array_equal(again.bounds_obj, first.bounds_obj)
    load(scale=0.31)
    assert len(made) == 2, "another scale is another object"
    edits = {"textured_objs/floor.obj": "v 0.7", "textured_objs/shared.mtl": "Kd 0.2", "info.json": "0.02"}
    for number, (name, old) in enumerate(edits.items(), start=3):
        # Same length: nothing but the content says that it changed.
        edit(folder / name, (old, old[:-1] + "3"))
        load()
        assert len(made) == number, name
    monkeypatch.setattr(partnet_object, "CONVERTER_VERSION", partnet_object.CONVERTER_VERSION + 1)
    load()
    assert len(made) == 6, "another version of the converter"


@pytest.mark.parametrize(
    ("damage", "how"),
    [("collision_door.obj", "cut"), ("manifest.json", "cut"), ("articulation.yaml", "gone"), ("asset.json", "gone")],
)
def test_a_damaged_cached_object_is_converted_again(load, damage, how, caplog):
    first = load()
    path = first.urdf_path.parent / damage
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        path.unlink()
    with caplog.at_level(logging.WARNING):
        assert load().content_hash == first.content_hash
    assert path.is_file()
    assert f"The cached folder {path.parent} is damaged and is made again." in caplog.text


def test_a_conversion_that_fails_leaves_no_cache(load, cache_dir, monkeypatch):
    monkeypatch.setattr(partnet_object, "articulation_problems", lambda *args, **values: ["part 'door': no."])
    with pytest.raises(AssetError, match="part 'door': no"):
        load()
    assert list((Path(cache_dir) / "partnet_mobility" / "microwave").iterdir()) == []


def test_the_folder_is_that_of_the_setting_or_of_the_variable(load, boxes_dir, monkeypatch, tmp_path):
    monkeypatch.setenv(PARTNET_VARIABLE, str(boxes_dir))
    assert load(None).instance == "77"
    monkeypatch.delenv(PARTNET_VARIABLE)
    remedy = "Set object.root=FOLDER or the environment variable UNLATCH_PARTNET_DIR."
    with pytest.raises(ConfigError) as caught:
        load(None)
    assert str(caught.value) == f"No folder of PartNet-Mobility objects is given. {remedy}"
    with pytest.raises(AssetError) as caught:
        load(tmp_path / "none")
    assert str(caught.value) == f"The folder of PartNet-Mobility objects '{tmp_path / 'none'}' does not exist. {remedy}"


def test_unknown_categories_and_instances_name_the_known_ones(load, boxes_dir):
    with pytest.raises(ConfigError) as caught:
        load(category="fridge")
    assert str(caught.value) == (
        "object.category='fridge' is not a category of source=partnet_mobility. Did you mean 'refrigerator'? "
        "Known: drawer, locked_safe, microwave, refrigerator, safe. Name one of them."
    )
    with pytest.raises(AssetError) as caught:
        load(instance="78")
    known = "Did you mean '77'? Set object.instance to one of: 77."
    assert str(caught.value) == f"No microwave '78' in {boxes_dir}. {known}"
    with pytest.raises(AssetError, match=r"No object of category 'safe' in .* Set object.root=FOLDER or"):
        load(category="safe")


def test_the_folder_of_a_download_needs_no_categories_and_one_damaged_object_does_no_harm(folder, boxes_dir, tmp_path):
    for name, meta in (("77", '{"model_cat": "Microwave"}'), ("78", '{"model_cat": "Sa')):
        shutil.copytree(folder, tmp_path / "flat" / name)
        (tmp_path / "flat" / name / "meta.json").write_text(meta)
    assert list(partnet_instances(tmp_path / "flat", "microwave")) == ["77"]
    assert partnet_instances(tmp_path / "flat", "safe") == {}
    # the first folder of a category that holds an instance counts
    shutil.copytree(boxes_dir / "microwave", boxes_dir / "Microwave")
    assert partnet_instances(boxes_dir, "microwave") == {"77": folder}


def instances(root, **values):
    return describe_object_set(cfg(root, **values))["instances"]


def test_the_set_of_objects_depends_on_its_content_and_not_on_its_folder(folder, boxes_dir, tmp_path):
    for name in ("9", "101"):
        shutil.copytree(folder, boxes_dir / "microwave" / name)
    whole = instances(boxes_dir)
    assert list(whole) == ["9", "77", "101"]
    shutil.copytree(boxes_dir, tmp_path / "moved")
    assert instances(tmp_path / "moved") == whole
    assert list(instances(boxes_dir, instance="77")) == ["77"]
    (boxes_dir / "safe" / "5").mkdir(parents=True)
    (boxes_dir / "notes").mkdir()
    assert instances(boxes_dir) == whole, "folders of others do not matter"
    shutil.rmtree(boxes_dir / "microwave" / "9")
    assert list(instances(boxes_dir)) == ["77", "101"]
    assert describe_object_set(ObjectCfg(name="m", category="microwave")) == {}
    for name in ("mobility.urdf", "info.json", "semantics.txt", "textured_objs/floor.obj"):
        before = instances(boxes_dir)
        (folder / name).write_text((folder / name).read_text() + " ")
        after = instances(boxes_dir)
        assert after["77"] != before["77"], name
        assert after["101"] == before["101"]


def test_all_visibly_damaged_candidates_are_named(folder, boxes_dir):
    check_candidates(cfg(boxes_dir))
    without, empty = (folder.with_name(name) for name in ("78", "79"))
    for copy in (without, empty):
        shutil.copytree(folder, copy)
    (without / "mobility.urdf").unlink()
    (empty / "mobility.urdf").write_text("")
    with pytest.raises(AssetError) as caught:
        check_candidates(cfg(boxes_dir))
    assert str(caught.value) == (
        f"2 objects of category 'microwave' are damaged: {without} has no mobility.urdf. {empty / 'mobility.urdf'} is "
        "empty. Restore or remove these folders, or set object.instance to the id of another one."
    )
    check_candidates(cfg(boxes_dir, instance="77"))
    (folder / "info.json").write_text("{")
    with pytest.raises(AssetError, match=r"^3 objects .* no readable JSON"):
        check_candidates(cfg(boxes_dir))


FLOOR = "textured_objs/floor.obj"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "mobility.urdf",
            'type="revolute"',
            'type="fixed"',
            "no joint of kind hinge_vertical that moves. Joints: joint_",
        ),
        ("mobility.urdf", FLOOR, "../../../secret.obj", "leads out of the asset's folder"),
        ("mobility.urdf", FLOOR, "textured_objs/none.obj", "file 'textured_objs/none.obj' is missing"),
        ("mobility.urdf", '<?xml version="1.0" ?>', "<!DOCTYPE robot>", "declares a DOCTYPE or an ENTITY"),
        (FLOOR, "mtllib shared.mtl", "mtllib ../../../secret.mtl", "leads out of the asset's folder"),
    ],
)
def test_damaged_sources_are_refused(load, folder, file, old, new, message):
    edit(folder / file, (old, new))
    with pytest.raises(AssetError) as caught:
        load()
    assert message in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("category", "instance"),
    [("microwave", "7310"), ("drawer", "27044"), ("refrigerator", "11178"), ("safe", "101564")],
)
def test_real_objects_are_ready_for_simulation(partnet_dir, load, client, category, instance):
    asset = load(partnet_dir, category=category, instance=instance)
    assert validate_articulation(asset) == []
    assert float(asset.parameters["head_to_info_head_m"]) < 0.1
    part, body = next(iter(asset.articulation.parts.values())), body_of(asset, client)
    p.resetJointState(body, 0, part.openness.closed, physicsClientId=client)
    travel = part.openness.open - part.openness.closed
    push = (5.0 if part.kind is PartKind.slider else 1.0) * np.sign(travel)
    assert (pushed(body, client, push, 960) - part.openness.closed) / travel > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("instance", ["101584"])
def test_a_locked_safe_has_the_joints_that_its_file_fixes(partnet_dir, load, instance):
    asset = load(partnet_dir, category="locked_safe", instance=instance)
    assert validate_articulation(asset) == []
    said = asset.explain_held("door", asset.rest_positions)
    assert [line.split(":")[0] for line in said] == ["door is latched", "knob is locked"]


def test_a_folder_without_objects_whose_mechanisms_are_stated_says_which_they_are(load, boxes_dir):
    with pytest.raises(AssetError, match=r"folders safe, safe_rotate, Safe with one of 101584, 102278, 102387\)"):
        load(str(boxes_dir), category="locked_safe")
