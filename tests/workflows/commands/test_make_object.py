"""`unlatch make-object`: files that other software opens."""

import re
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image

from tests.objects.builders import every_category
from unlatch import command_table
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.validation import validate_articulation
from unlatch.simcore.urdf.reader import read_urdf

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd, tmp_path, monkeypatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = command_table.main(["make-object", *map(str, arguments)])
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


def without_visuals(urdf: str) -> str:
    return re.sub(r"\s*<visual\b.*?</visual>", "", urdf, flags=re.DOTALL)


def named_files(folder: Path, name: str) -> set[str]:
    """Names of the files that a URDF, a mesh or a material refers to, and of those that these refer to."""
    if name.endswith(".png"):
        return set()
    named = re.findall(r'filename="(.*?)"|^(?:mtllib|map_\w+) (\S+)', (folder / name).read_text(), flags=re.MULTILINE)
    found = {"".join(each) for each in named}
    return found.union(*(named_files(folder, each) for each in found))


def test_an_object_is_a_urdf_with_its_annotation(run, tmp_path):
    code, out, err = run("oven", "seed=3", "out=o")
    assert (code, err) == (0, "")
    assert out == "oven 3: o/object.urdf; door (hinge_horizontal), knob (knob), knob_2 (knob)\n"
    made, text = GENERATORS.load("oven")(3, name="oven"), (tmp_path / "o" / "object.urdf").read_text()
    # meshes are drawn in place of the colliders, which the physics still has
    assert without_visuals(text) == without_visuals(made.model.to_urdf())
    assert text.count("<collision") == made.model.to_urdf().count("<collision") > 0
    written = sorted(path.name for path in (tmp_path / "o").iterdir())
    assert written == sorted({"articulation.yaml", "object.urdf", *named_files(tmp_path / "o", "object.urdf")})
    asset = ObjectAsset(
        name="oven",
        category="oven",
        instance="3",
        source="procedural",
        urdf_path=tmp_path / "o" / "object.urdf",
        articulation=read_articulation(tmp_path / "o"),
        content_hash="",
        bounds_obj=made.bounds_obj,
    )
    assert validate_articulation(asset) == []


@every_category
def test_mujoco_reads_the_same_object(category, run, tmp_path):
    for seed in (0, 1, 2):
        assert run(category, f"seed={seed}", f"out={seed}")[0] == 0
        path = tmp_path / str(seed) / "object.urdf"
        model, ours = mujoco.MjModel.from_xml_path(str(path)), read_urdf(path)
        names = {model.joint(number).name for number in range(model.njnt)}
        assert names == set(ours.joints)
        data = mujoco.MjData(model)
        positions = {name: 0.3 * joint.lower + 0.5 * joint.upper for name, joint in ours.joints.items()}
        for name, joint in ours.joints.items():
            theirs = model.joint(name)
            np.testing.assert_allclose(theirs.range, [joint.lower, joint.upper], atol=1e-6)
            np.testing.assert_allclose(theirs.frictionloss, [joint.friction], atol=1e-6)
            np.testing.assert_allclose(theirs.damping, [joint.damping], atol=1e-6)
            data.joint(name).qpos[0] = positions[name]
        mujoco.mj_forward(model, data)
        for joint in ours.joints.values():
            link = ours.links[joint.child]
            assert link.inertial is not None
            assert model.body(joint.child).mass[0] == pytest.approx(link.inertial.mass_kg, rel=1e-6)
            np.testing.assert_allclose(
                np.sort(model.body(joint.child).inertia),
                np.linalg.eigvalsh(link.inertial.inertia),
                rtol=1e-4,
                atol=1e-9,
            )
            np.testing.assert_allclose(data.body(joint.child).xpos, ours.link_pose(joint.child, positions).p, atol=1e-6)


@pytest.mark.parametrize("category", ["drawer", "hand_wheel", "safe"])
def test_mujoco_reads_the_meshes_that_carry_textures(category, run, tmp_path):
    assert run(category, "seed=4", "out=o")[0] == 0
    path = tmp_path / "o" / "object.urdf"
    kept = '<mujoco><compiler discardvisual="false"/></mujoco>\n</robot>'
    path.write_text(path.read_text().replace("</robot>", kept))
    model, ours = mujoco.MjModel.from_xml_path(str(path)), read_urdf(path)
    seen = [shape for link in ours.links.values() for shape in link.visuals if shape.path is not None]
    assert len(seen) == model.nmesh > 0
    for shape in seen:
        rows = [geom for geom in range(model.ngeom) if model.geom_rgba[geom] == pytest.approx(shape.rgba, abs=1e-6)]
        assert any(model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH for geom in rows), shape.name


@pytest.mark.slow
def test_many_objects_get_a_folder_each_and_a_picture(run, tmp_path):
    code, out, _ = run("safe", "seed=4", "count=2", "picture=true", "out=many")
    assert code == 0
    assert out.splitlines()[-1] == "picture: many/objects.png"
    assert sorted(path.name for path in (tmp_path / "many").iterdir()) == ["objects.png", "safe_4", "safe_5"]
    picture = np.asarray(Image.open(tmp_path / "many" / "objects.png").convert("L"))
    left, right = picture[:, : picture.shape[1] // 2], picture[:, picture.shape[1] // 2 :]
    assert all(20 < np.count_nonzero(half < 200) / half.size * 100 < 80 for half in (left, right))


def test_the_default_place_is_named_after_the_object(run, tmp_path):
    assert run("laptop")[0] == 0
    assert (tmp_path / "laptop_0" / "object.urdf").is_file()


def test_the_same_again_is_no_mistake_but_another_object_is_not_replaced(run, tmp_path):
    assert run("box", "seed=1", "out=b")[0] == 0
    assert run("box", "seed=1", "out=b")[0] == 0
    code, out, err = run("box", "seed=2", "out=b")
    assert (code, out) == (2, "")
    assert err == (
        "unlatch: 'b/object.urdf' exists with another content. Expected a free folder. Change out, or set force=true "
        "to replace it.\n"
    )
    assert run("box", "seed=2", "out=b", "force=true")[0] == 0
    assert read_articulation(tmp_path / "b").source["id"] == "2"


def test_a_file_in_the_place_of_the_folder_is_left_alone(run, tmp_path):
    (tmp_path / "b").write_text("mine")
    assert run("box", "out=b", "force=true") == (2, "", "unlatch: 'b' is a file. Expected a folder. Change out.\n")
    assert (tmp_path / "b").read_text() == "mine"


@pytest.mark.slow
def test_usd_is_written_where_it_is_asked_for(run, tmp_path):
    from pxr import Usd, UsdPhysics

    code, out, _ = run("faucet", "seed=0", "usd=true", "out=f")
    assert code == 0
    assert out.rstrip().endswith("f/usd/object.usd")
    stage = Usd.Stage.Open(str(tmp_path / "f" / "usd" / "object.usd"))
    joints = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.RevoluteJoint)]
    assert {prim.GetName() for prim in joints} == set(GENERATORS.load("faucet")(0).model.joints)
