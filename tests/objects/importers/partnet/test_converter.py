"""Objects of the data set become ours: on a data set made of boxes, and on the real one where it is."""

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.config import PARTNET_VARIABLE, ObjectCfg, ObjectSource
from unlatch.objects.importers import partnet_object as partnet_mobility
from unlatch.objects.importers.partnet_source import partnet_instances
from unlatch.objects.library import check_candidates, describe_object_set, load_object
from unlatch.objects.validation import validate_articulation
from unlatch.simcore.errors import AssetError, ConfigError


def _load(root, cache_dir, **values):
    cfg = ObjectCfg(
        **{
            "name": "m",
            "category": "microwave",
            "source": ObjectSource.partnet_mobility,
            "root": None if root is None else str(root),
            "cache_dir": cache_dir,
            **values,
        }
    )
    return load_object(cfg, rng=np.random.default_rng(0))


def test_a_converted_object_has_our_frames(boxes_dir, cache_dir):
    asset = _load(boxes_dir, cache_dir)
    assert (asset.instance, asset.articulation.scale) == ("77", 0.3)
    np.testing.assert_allclose(asset.size_m, [0.3 * 1.15, 0.3 * 1.4, 0.3 * 0.8], atol=1e-5)
    np.testing.assert_allclose(asset.bounds_obj[0], [-0.3 * 1.15 / 2, -0.21, 0.0], atol=1e-5)
    door = asset.articulation.part("door")
    assert (door.kind, door.joint, door.openness.closed) == (PartKind.hinge_vertical, "joint_0", 0.0)
    assert door.openness.open == pytest.approx(1.5708)
    # The hinge was on the left, z out of the front and y up: x right becomes y.
    assert door.handle.type is HandleType.bar
    assert door.handle.T_link_handle is not None
    np.testing.assert_allclose(
        door.keypoints["articulated_object_head"].xyz, [0.3 * 0.225, 0.3 * 1.28, 0.0], atol=0.002
    )
    np.testing.assert_allclose(door.handle.size, [0.3 * 0.05, 0.3 * 0.06, 0.3 * 0.4], atol=0.003)
    tail = door.keypoints["articulated_object_tail"].xyz - door.keypoints["articulated_object_head"].xyz
    np.testing.assert_allclose(tail / np.linalg.norm(tail), [0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(door.axes["link0_rot_axis"].xyz, [0, 0, -1], atol=1e-6)
    np.testing.assert_allclose(door.axes["link0_contact_axis"].xyz, [0, 0, 1], atol=1e-6)
    push = door.keypoints["link_contact_point"].xyz
    assert push[0] == pytest.approx(0.03, abs=1e-6), "on the outer face"
    assert push[1] > 0.15, "far from the hinge"
    assert abs(push[1] - 0.384) > 0.05, "beside the handle"
    assert asset.parameters["head_to_info_head_m"] == pytest.approx(0.01, abs=0.01)
    assert asset.friction == {"joint_0": 0.3}


@pytest.mark.integration
def test_bullet_loads_and_opens_it(boxes_dir, cache_dir, client, capfd):
    asset = _load(boxes_dir, cache_dir)
    capfd.readouterr()
    flags = p.URDF_USE_INERTIA_FROM_FILE
    body = p.loadURDF(str(asset.urdf_path), useFixedBase=True, flags=flags, physicsClientId=client)
    out, err = capfd.readouterr()
    assert out + err == ""
    mass, _, inertia, *_ = p.getDynamicsInfo(body, 0, physicsClientId=client)
    assert 0.8 <= mass <= 2.5
    assert 0.001 < inertia[0] < 1.0
    colours = {tuple(np.round(s[7], 3)) for s in p.getVisualShapeData(body, physicsClientId=client)}
    assert colours == {(0.2, 0.4, 0.6, 0.5)}, "colour and opacity of the material library"
    p.setJointMotorControl2(body, 0, p.VELOCITY_CONTROL, force=0.0, physicsClientId=client)
    for _ in range(480):
        p.setJointMotorControl2(body, 0, p.TORQUE_CONTROL, force=0.5, physicsClientId=client)
        p.stepSimulation(physicsClientId=client)
    assert p.getJointState(body, 0, physicsClientId=client)[0] > 1.5


def test_without_info_and_names_the_category_decides(boxes_dir, cache_dir):
    for name in ("info.json", "semantics.txt"):
        (boxes_dir / "microwave" / "77" / name).unlink()
    asset = _load(boxes_dir, cache_dir)
    assert float(np.max(asset.size_m)) == pytest.approx(0.46)
    assert asset.parameters["scale_of_info"] == "none"
    assert asset.articulation.part("door").handle.type is HandleType.bar


def test_a_door_without_a_handle_is_held_at_its_free_edge(boxes_dir, cache_dir, edit_urdf):
    edit_urdf('name="handle-9"', 'name="door_frame-1"')
    door = _load(boxes_dir, cache_dir).articulation.part("door")
    assert door.handle.type is HandleType.bar, "what stands out of the door tells without a name"
    meshes = boxes_dir / "microwave" / "77" / "textured_objs"
    for name in ("handle-9", "low", "high"):
        shutil.copyfile(meshes / "door.obj", meshes / f"{name}.obj")
    door = _load(boxes_dir, cache_dir).articulation.part("door")
    assert door.handle.type is HandleType.edge
    np.testing.assert_allclose(door.keypoints["articulated_object_head"].xyz[:2], [0.015, 0.42 - 0.012], atol=1e-3)
    assert door.handle.size[1] == pytest.approx(0.03, abs=1e-3)


def test_a_lock_wheel_is_held_only_far_from_the_hinge(boxes_dir, cache_dir, edit_urdf):
    edit_urdf('name="handle-9"', 'name="switch-9"')
    door = _load(boxes_dir, cache_dir).articulation.part("door")
    assert door.handle.type is HandleType.bar
    edit_urdf(
        '<origin xyz="-0.7 0 0.4"/>\n<axis xyz="0 -1.00001 0"/>', '<origin xyz="0.7 0 0.4"/>\n<axis xyz="0 1 0"/>'
    )
    for kind in ("visual", "collision"):
        edit_urdf(
            f'<{kind} name="door_frame-1">\n<origin xyz="0 0 0"/>',
            f'<{kind} name="door_frame-1">\n<origin xyz="-1.4 0 0"/>',
        )
        for name in ("handle-9", "low", "high"):
            start, mesh = f'<{kind} name="switch-9">\n', f'<geometry><mesh filename="textured_objs/{name}.obj"/>'
            edit_urdf(f'{start}<origin xyz="0 0 0"/>\n{mesh}', f'{start}<origin xyz="-1.4 0 0"/>\n{mesh}')
    assert _load(boxes_dir, cache_dir).articulation.part("door").handle.type is HandleType.edge


def test_a_handle_that_is_too_small_makes_the_object_larger(boxes_dir, cache_dir):
    info = boxes_dir / "microwave" / "77" / "info.json"
    info.write_text(json.dumps({"scale": 0.08}))
    asset = _load(boxes_dir, cache_dir)
    assert asset.articulation.scale == pytest.approx(0.1)
    assert asset.articulation.part("door").handle.type is HandleType.bar
    assert _load(boxes_dir, cache_dir, scale=0.08).articulation.scale == pytest.approx(0.08), "a given scale stays"


def test_the_front_is_found_where_the_door_opens(boxes_dir, cache_dir, edit_urdf):
    before = _load(boxes_dir, cache_dir)
    edit_urdf('rpy="1.570796326794897 0 -1.570796326794897"', 'rpy="1.570796326794897 0 3.141592653589793"')
    after = _load(boxes_dir, cache_dir)
    np.testing.assert_allclose(after.bounds_obj, before.bounds_obj, atol=1e-6)
    for name, keypoint in before.articulation.part("door").keypoints.items():
        np.testing.assert_allclose(after.articulation.part("door").keypoints[name].xyz, keypoint.xyz, atol=1e-6)


def test_other_joints_are_held_closed(boxes_dir, cache_dir, edit_urdf):
    edit_urdf(
        '<joint name="joint_1"',
        '<joint name="joint_2" type="continuous">\n<origin xyz="0 0 0"/>\n<axis xyz="0 0 1"/>\n'
        '<parent link="link_0"/>\n<child link="dial"/>\n</joint>\n<joint name="joint_1"',
    )
    edit_urdf('<link name="base"/>', '<link name="base"/>\n<link name="dial"/>')
    asset = _load(boxes_dir, cache_dir)
    assert list(asset.friction) == ["joint_0"]


@pytest.mark.slow
def test_the_cache_is_used_until_a_file_changes(boxes_dir, cache_dir, monkeypatch):
    made = []
    original = partnet_mobility._convert

    def counted(source, folder, **values):
        made.append(folder)
        original(source, folder, **values)

    monkeypatch.setattr(partnet_mobility, "_convert", counted)
    first = _load(boxes_dir, cache_dir)
    again = _load(boxes_dir, cache_dir)
    assert len(made) == 1
    assert again.content_hash == first.content_hash
    np.testing.assert_array_equal(again.bounds_obj, first.bounds_obj)
    _load(boxes_dir, cache_dir, scale=0.31)
    assert len(made) == 2, "another scale is another object"
    edits = {"textured_objs/floor.obj": "v 0.7", "textured_objs/shared.mtl": "Kd 0.2", "info.json": "0.02"}
    for number, (name, old) in enumerate(edits.items(), start=3):
        path = boxes_dir / "microwave" / "77" / name
        text = path.read_text()
        assert old in text
        # Same length: nothing but the content says that it changed.
        path.write_text(text.replace(old, old[:-1] + "3"))
        _load(boxes_dir, cache_dir)
        assert len(made) == number, name
    monkeypatch.setattr(partnet_mobility, "CONVERTER_VERSION", partnet_mobility.CONVERTER_VERSION + 1)
    _load(boxes_dir, cache_dir)
    assert len(made) == 6, "another version of the converter"


@pytest.mark.parametrize("damage", ["collision_door.obj", "manifest.json", "articulation.yaml", "asset.json"])
@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_damaged_cached_object_is_converted_again(boxes_dir, cache_dir, damage, how, caplog):
    first = _load(boxes_dir, cache_dir)
    path = first.urdf_path.parent / damage
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        path.unlink()
    with caplog.at_level(logging.WARNING):
        again = _load(boxes_dir, cache_dir)
    assert again.content_hash == first.content_hash
    assert path.is_file()
    assert f"The cached folder {path.parent} is damaged and is made again." in caplog.text


def test_a_conversion_that_fails_leaves_no_cache(boxes_dir, cache_dir, monkeypatch):
    monkeypatch.setattr(partnet_mobility, "articulation_problems", lambda *args, **values: ["part 'door': no."])
    with pytest.raises(AssetError, match="part 'door': no"):
        _load(boxes_dir, cache_dir)
    assert list((Path(cache_dir) / "partnet_mobility" / "microwave").iterdir()) == []


def test_no_folder_and_a_missing_folder_name_both_settings(cache_dir, monkeypatch, tmp_path):
    monkeypatch.delenv(PARTNET_VARIABLE, raising=False)
    with pytest.raises(ConfigError) as caught:
        _load(None, cache_dir)
    assert str(caught.value) == (
        "No folder of PartNet-Mobility objects is given. "
        "Set object.root=FOLDER or the environment variable UNLATCH_PARTNET_DIR."
    )
    with pytest.raises(AssetError) as missing:
        _load(tmp_path / "none", cache_dir)
    assert str(missing.value) == (
        f"The folder of PartNet-Mobility objects '{tmp_path / 'none'}' does not exist. "
        "Set object.root=FOLDER or the environment variable UNLATCH_PARTNET_DIR."
    )


def test_the_variable_is_used_without_a_root(boxes_dir, cache_dir, monkeypatch):
    monkeypatch.setenv(PARTNET_VARIABLE, str(boxes_dir))
    assert _load(None, cache_dir).instance == "77"


def test_unknown_categories_and_instances_name_the_known_ones(boxes_dir, cache_dir):
    with pytest.raises(ConfigError) as caught:
        _load(boxes_dir, cache_dir, category="fridge")
    assert str(caught.value) == (
        "object.category='fridge' is not a category of source=partnet_mobility. Did you mean 'refrigerator'? "
        "Known: drawer, microwave, refrigerator, safe. Name one of them."
    )
    with pytest.raises(AssetError) as missing:
        _load(boxes_dir, cache_dir, instance="78")
    assert str(missing.value) == (
        f"No microwave '78' in {boxes_dir}. Did you mean '77'? Set object.instance to one of: 77."
    )
    with pytest.raises(AssetError, match=r"No object of category 'safe' in .* Set object.root=FOLDER or"):
        _load(boxes_dir, cache_dir, category="safe")


def test_the_folder_of_a_download_needs_no_categories(boxes_dir, tmp_path):
    flat = tmp_path / "flat"
    shutil.copytree(boxes_dir / "microwave" / "77", flat / "77")
    (flat / "77" / "meta.json").write_text('{"model_cat": "Microwave"}')
    assert list(partnet_instances(flat, "microwave")) == ["77"]
    assert partnet_instances(flat, "safe") == {}


def _copies(boxes_dir, *names):
    for name in names:
        shutil.copytree(boxes_dir / "microwave" / "77", boxes_dir / "microwave" / name)


def _cfg(root, **values):
    return ObjectCfg(
        **{"name": "m", "category": "microwave", "source": ObjectSource.partnet_mobility, "root": str(root), **values}
    )


def test_the_set_of_objects_depends_on_its_content_and_not_on_its_folder(boxes_dir, tmp_path):
    _copies(boxes_dir, "9", "101")
    whole = describe_object_set(_cfg(boxes_dir))
    assert list(whole["instances"]) == ["9", "77", "101"]
    shutil.copytree(boxes_dir, tmp_path / "moved")
    assert describe_object_set(_cfg(tmp_path / "moved")) == whole
    assert list(describe_object_set(_cfg(boxes_dir, instance="77"))["instances"]) == ["77"]
    (boxes_dir / "safe" / "5").mkdir(parents=True)
    (boxes_dir / "notes").mkdir()
    assert describe_object_set(_cfg(boxes_dir)) == whole, "folders of others do not matter"
    shutil.rmtree(boxes_dir / "microwave" / "9")
    assert list(describe_object_set(_cfg(boxes_dir))["instances"]) == ["77", "101"]
    assert describe_object_set(ObjectCfg(name="m", category="microwave")) == {}


@pytest.mark.parametrize("name", ["mobility.urdf", "info.json", "semantics.txt", "textured_objs/floor.obj"])
def test_a_changed_file_of_an_object_changes_only_its_entry(boxes_dir, name):
    _copies(boxes_dir, "78")
    before = describe_object_set(_cfg(boxes_dir))["instances"]
    path = boxes_dir / "microwave" / "77" / name
    path.write_text(path.read_text() + " ")
    after = describe_object_set(_cfg(boxes_dir))["instances"]
    assert after["77"] != before["77"]
    assert after["78"] == before["78"]


def test_the_first_folder_of_a_category_that_holds_an_instance_counts(boxes_dir):
    shutil.copytree(boxes_dir / "microwave", boxes_dir / "Microwave")
    assert partnet_instances(boxes_dir, "microwave") == {"77": boxes_dir / "microwave" / "77"}


def test_a_damaged_object_of_another_category_does_no_harm(boxes_dir, tmp_path):
    flat = tmp_path / "flat"
    for name in ("77", "78"):
        shutil.copytree(boxes_dir / "microwave" / "77", flat / name)
    (flat / "77" / "meta.json").write_text('{"model_cat": "Microwave"}')
    (flat / "78" / "meta.json").write_text('{"model_cat": "Sa')
    assert list(partnet_instances(flat, "microwave")) == ["77"]


def test_all_visibly_damaged_candidates_are_named(boxes_dir):
    check_candidates(_cfg(boxes_dir))
    _copies(boxes_dir, "78", "79")
    folder = boxes_dir / "microwave"
    (folder / "78" / "mobility.urdf").unlink()
    (folder / "79" / "mobility.urdf").write_text("")
    with pytest.raises(AssetError) as caught:
        check_candidates(_cfg(boxes_dir))
    assert str(caught.value) == (
        f"2 objects of category 'microwave' are damaged: {folder / '78'} has no mobility.urdf. "
        f"{folder / '79' / 'mobility.urdf'} is empty. "
        "Restore or remove these folders, or set object.instance to the id of another one."
    )
    check_candidates(_cfg(boxes_dir, instance="77"))
    (folder / "77" / "info.json").write_text("{")
    with pytest.raises(AssetError, match=r"^3 objects .* no readable JSON"):
        check_candidates(_cfg(boxes_dir))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type="revolute"', 'type="fixed"', "no joint of kind hinge_vertical that moves. Joints: joint_0 (fixed), "),
        ("textured_objs/floor.obj", "../../../secret.obj", "leads out of the asset's folder"),
        ("textured_objs/floor.obj", "textured_objs/none.obj", "file 'textured_objs/none.obj' is missing"),
        ('<?xml version="1.0" ?>', "<!DOCTYPE robot>", "declares a DOCTYPE or an ENTITY"),
    ],
)
def test_damaged_sources_are_refused(boxes_dir, cache_dir, edit_urdf, old, new, message):
    edit_urdf(old, new)
    with pytest.raises(AssetError) as caught:
        _load(boxes_dir, cache_dir)
    assert message in str(caught.value)


def test_a_material_that_leads_out_of_the_folder_is_refused(boxes_dir, cache_dir):
    mesh = boxes_dir / "microwave" / "77" / "textured_objs" / "floor.obj"
    mesh.write_text(mesh.read_text().replace("mtllib shared.mtl", "mtllib ../../../secret.mtl"))
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        _load(boxes_dir, cache_dir)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("category", "instance"),
    [("microwave", "7310"), ("drawer", "27044"), ("refrigerator", "11178"), ("safe", "101564")],
)
def test_real_objects_are_ready_for_simulation(partnet_dir, cache_dir, client, category, instance):
    asset = _load(partnet_dir, cache_dir, category=category, instance=instance)
    assert validate_articulation(asset) == []
    part = next(iter(asset.articulation.parts.values()))
    assert float(asset.parameters["head_to_info_head_m"]) < 0.1
    flags = p.URDF_USE_INERTIA_FROM_FILE
    body = p.loadURDF(str(asset.urdf_path), useFixedBase=True, flags=flags, physicsClientId=client)
    p.setJointMotorControl2(body, 0, p.VELOCITY_CONTROL, force=0.0, physicsClientId=client)
    p.resetJointState(body, 0, part.openness.closed, physicsClientId=client)
    travel = part.openness.open - part.openness.closed
    push = 5.0 if part.kind is PartKind.slider else 1.0
    for _ in range(960):
        p.setJointMotorControl2(body, 0, p.TORQUE_CONTROL, force=push * np.sign(travel), physicsClientId=client)
        p.stepSimulation(physicsClientId=client)
    reached = p.getJointState(body, 0, physicsClientId=client)[0] - part.openness.closed
    assert reached / travel > 0.9
