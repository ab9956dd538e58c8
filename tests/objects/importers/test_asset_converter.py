"""When a conversion is due: any content, setting or version that changed, and nothing else."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.objects.builders import edit, files_of
from unlatch.objects.importers.asset_converter import (
    _PHYSX_BODY,
    MARKER_FILE,
    AssetConverterBase,
    CollisionPropertiesCfg,
    MassPropertiesCfg,
    MissingAssetError,
    RigidBodyPropertiesCfg,
)
from unlatch.objects.importers.converted_asset import ConvertedAsset
from unlatch.objects.importers.mesh_object import MeshConverter, MeshConverterCfg
from unlatch.objects.importers.urdf_converter import (
    DriveType,
    JointDriveCfg,
    PDGainsCfg,
    UrdfConverter,
    UrdfConverterCfg,
)
from unlatch.simcore.cache import MANIFEST_FILE
from unlatch.simcore.errors import AssetError, ConfigError


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def convert_mesh(path, out, **values):
    return MeshConverter(MeshConverterCfg(asset_path=str(path), out_dir=str(out), **values))


def convert_urdf(path, out, **values):
    return UrdfConverter(UrdfConverterCfg(asset_path=str(path), out_dir=str(out), fix_base=True, **values))


def append(path, text="\n# changed\n"):
    with path.open("a") as file:
        file.write(text)


def test_the_second_time_nothing_is_converted(brick, out):
    first = convert_mesh(brick, out)
    before = files_of(out)
    second = convert_mesh(brick, out)
    assert (first.was_converted, second.was_converted) == (True, False)
    assert files_of(out) == before
    assert second.urdf_path == first.urdf_path
    assert second.content_hash == first.content_hash != ""


@pytest.mark.slow
def test_two_conversions_write_the_same_bytes(cabinet, tmp_path):
    for name in ("a", "b"):
        convert_urdf(cabinet, tmp_path / name, convex_decompose_mesh=True)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_an_asset_moved_with_its_folder_is_not_converted_again(cabinet, out, tmp_path):
    convert_urdf(cabinet, out)
    shutil.move(cabinet.parent, tmp_path / "elsewhere")
    assert not convert_urdf(tmp_path / "elsewhere" / "cabinet.urdf", out).was_converted


@pytest.mark.parametrize("name", ["brick.obj", "brick.mtl", "skin.png"])
def test_a_change_in_the_mesh_its_material_or_its_texture_is_noticed(name, brick, out):
    convert_mesh(brick, out)
    append(brick.parent / name)
    assert convert_mesh(brick, out).was_converted
    assert not convert_mesh(brick, out).was_converted


@pytest.mark.parametrize("name", ["cabinet.urdf", "angle.obj"])
def test_a_change_in_a_urdf_or_in_a_mesh_that_it_names_is_noticed(name, cabinet, out):
    convert_urdf(cabinet, out)
    edit(cabinet.parent / name, ("0.4", "0.41"))
    assert convert_urdf(cabinet, out).was_converted


@pytest.mark.parametrize(
    "change",
    [
        {"translation": (0.0, 0.0, 1.0)},
        {"scale": (1.0, 1.0, 2.0)},
        {"collision_approximation": "convexHull"},
        {"make_instanceable": False},
        {"mass_props": MassPropertiesCfg(mass=1.0)},
        {"force_conversion": True},
        {"force_usd_conversion": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_of_the_configuration_is_noticed_and_force_converts_again(change, brick, out):
    convert_mesh(brick, out)
    assert convert_mesh(brick, out, **change).was_converted


def test_a_newer_converter_converts_again(brick, out, monkeypatch):
    convert_mesh(brick, out)
    monkeypatch.setattr(MeshConverter, "VERSION", MeshConverter.VERSION + 1)
    assert convert_mesh(brick, out).was_converted


@pytest.mark.parametrize(
    "damage",
    [
        lambda out: (out / "brick.urdf").write_text("<robot/>"),
        lambda out: (out / "collision.obj").unlink(),
        lambda out: (out / MANIFEST_FILE).write_text("{"),
        lambda out: (out / MANIFEST_FILE).unlink(),
    ],
    ids=["changed", "missing", "broken manifest", "no manifest"],
)
def test_a_damaged_output_is_converted_again(damage, brick, out):
    convert_mesh(brick, out)
    good = files_of(out)
    damage(out)
    assert convert_mesh(brick, out).was_converted
    assert files_of(out) == good


def test_files_of_others_in_the_output_folder_stay(brick, out):
    convert_mesh(brick, out)
    (out / "articulation.yaml").write_text("schema: 1\n")
    for scale, due in ((1.0, False), (2.0, True), (2.0, False)):
        assert convert_mesh(brick, out, scale=(scale,) * 3).was_converted is due
        assert (out / "articulation.yaml").read_text() == "schema: 1\n"


def test_folders_that_must_not_be_replaced_are_refused(brick, out):
    out.mkdir()
    (out / "thesis.txt").write_text("years")
    with pytest.raises(AssetError, match="holds files that no converter has written"):
        convert_mesh(brick, out)
    assert files_of(out) == {"thesis.txt": b"years"}
    with pytest.raises(ConfigError, match="holds the asset itself"):
        convert_mesh(brick, brick.parent)
    assert not (brick.parent / MARKER_FILE).exists()
    with pytest.raises(ConfigError, match="one inside the other"):
        convert_mesh(brick, out, usd_dir=str(out / "usd"))


def test_a_conversion_that_fails_leaves_nothing_and_keeps_the_old_one(brick, out, tmp_path):
    convert_mesh(brick, out)
    before, good = files_of(tmp_path), brick.read_text()
    brick.write_text("v 0 0 0\n")
    with pytest.raises(AssetError, match="no triangle"):
        convert_mesh(brick, out)
    brick.write_text(good)
    assert files_of(tmp_path) == before
    assert not convert_mesh(brick, out).was_converted


def test_without_a_folder_each_conversion_has_its_own(brick, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    made = [MeshConverter(MeshConverterCfg(asset_path=str(brick))) for _ in range(2)]
    assert [item.was_converted for item in made] == [True, True]
    assert made[0].out_dir != made[1].out_dir
    assert all(Path(item.urdf_path).is_file() and str(tmp_path / "tmp") in item.urdf_path for item in made)
    brick.write_text("nothing")
    before = sorted((tmp_path / "tmp").iterdir())
    with pytest.raises(AssetError, match="no triangle"):
        MeshConverter(MeshConverterCfg(asset_path=str(brick)))
    assert sorted((tmp_path / "tmp").iterdir()) == before


def test_a_missing_asset_is_a_value_error_of_ours(out):
    with pytest.raises(ValueError, match="does not exist") as caught:
        convert_mesh(out.with_name("none.obj"), out)
    assert isinstance(caught.value, MissingAssetError)
    assert isinstance(caught.value, AssetError)
    assert not out.exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "asset_path is missing"),
        *(({"asset_path": "a", "usd_file_name": name}, "usd_file_name") for name in ("a/b", "..", " ")),
    ],
)
def test_an_asset_path_and_a_plain_name_of_the_usd_are_required(values, message):
    with pytest.raises(ConfigError, match=message):
        MeshConverterCfg(**values)


@pytest.mark.slow
def test_a_usd_is_made_when_its_path_is_first_read(brick, tmp_path):
    pytest.importorskip("pxr", reason="the extra usd is not installed")
    made = MeshConverter(MeshConverterCfg(asset_path=str(brick)))  # as in Isaac Lab's examples
    assert not list(Path(made.usd_dir).glob("*.usd"))
    assert made.usd_path == str(Path(made.usd_dir) / "brick.usd")
    assert Path(made.usd_path).is_file()
    assert Path(made.urdf_path).is_file()
    before = files_of(Path(made.usd_dir))
    assert made.usd_path
    assert files_of(Path(made.usd_dir)) == before
    asked = convert_mesh(brick, tmp_path / "asked", usd=True)
    assert files_of(Path(asked.usd_dir)).keys() == before.keys()


def test_without_the_extra_the_urdf_stays_and_the_error_names_it(brick, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    made = MeshConverter(MeshConverterCfg(asset_path=str(brick)))
    with pytest.raises(AssetError, match=r"extra 'usd'"):
        _ = made.usd_path
    assert Path(made.urdf_path).is_file()


def test_a_subclass_needs_the_conversion_alone(brick, out, tmp_path):
    class TurnedConverter(AssetConverterBase[MeshConverterCfg]):
        def _convert_asset(self, folder):
            turned = replace(self.cfg, out_dir=str(tmp_path / "turned"), rotation=(0.0, 1.0, 0.0, 0.0))
            shutil.copytree(MeshConverter(turned).out_dir, folder, dirs_exist_ok=True)
            return ConvertedAsset(self._asset.stem, {}, {}, {}, approximation="none")

    cfg = MeshConverterCfg(asset_path=str(brick), out_dir=str(out))
    assert TurnedConverter(cfg).was_converted
    assert not TurnedConverter(cfg).was_converted
    append(brick)
    assert TurnedConverter(cfg).was_converted


@pytest.mark.slow
def test_processes_that_convert_the_same_asset_at_once_end_with_one_good_result(cabinet, out, tmp_path):
    code = (
        "import sys\n"
        "from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg\n"
        "for n in range(6):\n"
        "    cfg = UrdfConverterCfg(asset_path=sys.argv[1], out_dir=sys.argv[2], fix_base=True)\n"
        "    cfg.force_conversion = True\n"
        "    UrdfConverter(cfg)\n"
    )
    command = [sys.executable, "-c", code, str(cabinet), str(out)]
    children = [subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}) for _ in range(3)]
    assert [child.wait(timeout=120) for child in children] == [0, 0, 0]
    assert not convert_urdf(cabinet, out).was_converted
    convert_urdf(cabinet, tmp_path / "alone")
    assert files_of(out) == files_of(tmp_path / "alone")
    assert not list(tmp_path.glob(".writing-*"))


PRESENT_NAMES = [
    (RigidBodyPropertiesCfg, {"kinematic_enabled": True}, ("kinematic", True)),
    (RigidBodyPropertiesCfg, {"rigid_body_enabled": True}, ("kinematic", None)),
    (UrdfConverterCfg, {"collider_type": "convex_decomposition"}, ("convex_decompose_mesh", True)),
    (UrdfConverterCfg, {"collision_from_visuals": True}, ("convex_decompose_mesh", False)),
    (
        UrdfConverterCfg,
        {"joint_drive": JointDriveCfg(target_type="position", gains=PDGainsCfg(stiffness=40.0, damping=2.0))},
        ("default_drive_stiffness", 40.0),
    ),
    (UrdfConverterCfg, {"joint_drive": JointDriveCfg(target_type="none")}, ("default_drive_type", DriveType.none)),
]


@pytest.mark.parametrize(("group", "values", "expected"), PRESENT_NAMES)
def test_present_names_of_isaac_lab_do_what_they_say(group, values, expected):
    needed = {"asset_path": "a.urdf", "fix_base": True} if group is UrdfConverterCfg else {}
    assert getattr(group(**needed, **values), expected[0]) == expected[1]


REFUSED = [
    *((RigidBodyPropertiesCfg, {name: 1}, f"rigid_props.{name}=1 has no counterpart") for name in _PHYSX_BODY),
    (RigidBodyPropertiesCfg, {"rigid_body_enabled": False}, "set kinematic_enabled=true"),
    (RigidBodyPropertiesCfg, {"kinematic": True, "kinematic_enabled": False}, "two names of one value"),
    (CollisionPropertiesCfg, {"torsional_patch_radius": 0.1}, "collision_props.torsional_patch_radius=0.1 has no"),
    (CollisionPropertiesCfg, {"min_torsional_patch_radius": 0.1}, "min_torsional_patch_radius=0.1 has no counterpart"),
    (MeshConverterCfg, {"mesh_collision_props": object()}, "mesh_collision_props="),
    (UrdfConverterCfg, {"collision_from_visuals": False}, "collision_from_visuals=false has no counterpart"),
    (UrdfConverterCfg, {"replace_cylinders_with_capsules": True}, "replace_cylinders_with_capsules=true has no"),
    (UrdfConverterCfg, {"collider_type": "sdf"}, "collider_type"),
    (JointDriveCfg, {"drive_type": "acceleration"}, "joint_drive.drive_type='acceleration' has no counterpart"),
    (JointDriveCfg, {"gains": {"natural_frequency": 10}}, "joint_drive.gains is dict, which has no counterpart"),
    (
        UrdfConverterCfg.JointDriveCfg,
        {"gains": JointDriveCfg.NaturalFrequencyGainsCfg(natural_frequency=10.0)},
        "joint_drive.gains is NaturalFrequencyGainsCfg, which has no counterpart. Expected PDGainsCfg",
    ),
    (JointDriveCfg, {"gains": PDGainsCfg(stiffness={"door": 3.0})}, "joint_drive.gains.stiffness={'door': 3.0} is not"),
]


@pytest.mark.parametrize(("group", "values", "said"), REFUSED)
def test_present_names_of_isaac_lab_without_a_counterpart_are_refused_by_name(group, values, said):
    needed = {} if "Properties" in group.__name__ or group is JointDriveCfg else {"asset_path": "a.urdf"}
    needed |= {"fix_base": True} if group is UrdfConverterCfg else {}
    with pytest.raises(ConfigError) as caught:
        group(**needed, **values)
    assert said in str(caught.value)
