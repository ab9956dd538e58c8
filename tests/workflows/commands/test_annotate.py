"""`unlatch annotate`: what it writes, what it protects, and every bad input as one line."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.objects.importers.mesh_samples import cabinet_scene, write_glb
from unlatch import command_table
from unlatch.objects.annotate.storage import load_annotation
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.drawer import drawer
from unlatch.simcore.errors import AssetError
from unlatch.workflows.cli.terminal import BAD_INPUT

SEED = 3
WIDE_KNOB = """
<robot name="r"><link name="a"><visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
<link name="b"><visual name="knob"><geometry><cylinder radius="0.05" length="0.03"/></geometry></visual></link>
<joint name="j" type="revolute"><origin xyz="0.115 0 0" rpy="0 1.5708 0"/><axis xyz="0 0 1"/><parent link="a"/>
<child link="b"/><limit lower="0" upper="3" effort="1" velocity="1"/></joint></robot>
"""


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNLATCH_PARTNET_DIR", raising=False)
    return tmp_path


def put(folder: Path, *, generator=drawer, name: str = "thing.urdf") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(generator(SEED).model.to_urdf(), encoding="utf-8")
    return folder / name


def run(*arguments: object) -> int:
    return command_table.main(["annotate", *map(str, arguments)])


@pytest.mark.slow
def test_annotation_and_picture_lie_beside_the_urdf(cwd: Path, capsys: pytest.CaptureFixture[str]):
    put(cwd / "a")
    assert run("a") == 0
    said = capsys.readouterr().out
    assert "drawer: slider by drawer_slide, held at its" in said
    assert "annotation: a/articulation.yaml" in said
    assert sorted(p.name for p in (cwd / "a").iterdir()) == ["annotation.png", "articulation.yaml", "thing.urdf"]
    assert load_annotation(cwd / "a").problems == []
    picture = np.asarray(Image.open(cwd / "a" / "annotation.png"))
    assert picture.shape[1] == 3 * 480
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50


def test_the_picture_shows_the_head_where_the_part_is(cwd: Path):
    put(cwd / "a", generator=microwave)
    assert run("a") == 0
    tile = np.asarray(Image.open(cwd / "a" / "annotation.png")).astype(int)[:400, :480]
    head = np.argwhere(np.all(np.abs(tile - [210, 30, 30]) < 3, axis=2))
    assert len(head) > 20
    y, x = head.mean(axis=0).astype(int)
    around = tile[y - 14 : y + 15, x - 14 : x + 15].reshape(-1, 3)
    bluish = (around[:, 2] > around[:, 0] + 15).mean()
    assert bluish > 0.15, "the moving part is drawn in blue"


def test_out_and_no_picture(cwd: Path):
    put(cwd / "a")
    assert run("a/thing.urdf", "out=there/deep", "picture=false") == 0
    assert [p.name for p in (cwd / "there" / "deep").iterdir()] == ["articulation.yaml"]
    assert [p.name for p in (cwd / "a").iterdir()] == ["thing.urdf"]
    assert run("a/thing.urdf", "out=there/deep", "check=true") == 0


def test_annotations_made_by_hand_are_not_replaced(cwd: Path, capsys: pytest.CaptureFixture[str]):
    put(cwd / "a")
    assert run("a", "picture=false") == 0
    assert run("a", "picture=false") == 0, "its own may be made anew"
    path = cwd / "a" / "articulation.yaml"
    path.write_text(path.read_text().replace("category: object", "category: cabinet"))
    before = path.read_bytes()
    capsys.readouterr()
    assert run("a") == 2
    assert capsys.readouterr().err == (
        "unlatch: a/articulation.yaml was not made by `unlatch annotate`, or was changed since. It is kept; "
        "force=true replaces it.\n"
    )
    assert path.read_bytes() == before
    assert not (cwd / "a" / "annotation.png").exists()
    assert run("a", "force=true", "picture=false") == 0
    assert path.read_bytes() != before


def test_check_prints_problems_and_writes_nothing(cwd: Path, capsys: pytest.CaptureFixture[str]):
    put(cwd / "a")
    assert run("a", "picture=false") == 0
    assert run("a", "check=true") == 0
    assert "the annotation fits its object" in capsys.readouterr().out
    path = cwd / "a" / "articulation.yaml"
    name = read_articulation(path).part("drawer").joint
    path.write_text(path.read_text().replace(f"joint: {name}", "joint: gone"))
    before = sorted((p.name, p.stat().st_mtime_ns) for p in (cwd / "a").iterdir())
    assert run("a", "check=true") == 1
    assert "part 'drawer': joint 'gone' is not in the URDF. Joints:" in capsys.readouterr().out
    assert sorted((p.name, p.stat().st_mtime_ns) for p in (cwd / "a").iterdir()) == before
    path.unlink()
    assert run("a", "check=true") == 2


def test_a_folder_of_objects_goes_on_after_a_bad_one(cwd: Path, capsys: pytest.CaptureFixture[str]):
    put(cwd / "all" / "one")
    put(cwd / "all" / "two", generator=microwave)
    (cwd / "all" / "bad").mkdir()
    (cwd / "all" / "bad" / "x.urdf").write_text("<robot")
    assert run("all", "out=o", "picture=false") == 1
    said = capsys.readouterr()
    assert "2/3 one: drawer (slider, " in said.out
    assert "2 of 3 objects annotated" in said.out
    assert said.err.startswith("1/3 bad: ")
    assert said.err.count("\n") == 1
    files = sorted(p.relative_to(cwd / "o").as_posix() for p in (cwd / "o").rglob("*") if p.is_file())
    assert files == ["one/articulation.yaml", "two/articulation.yaml"]
    assert run("all", "out=o", "check=true") == 1
    shutil.rmtree(cwd / "all" / "bad")
    assert run("all", "out=o", "check=true") == 0


def test_names_in_any_script(cwd: Path):
    path = put(cwd / "Schränke" / "引き出し", name="möbel.urdf")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"drawer_slide"', '"скользит"').replace('"body"', '"корпус"'), encoding="utf-8")
    assert run("Schränke/引き出し") == 0
    part = load_annotation(path.parent).articulation.part("drawer")
    assert (part.joint, part.base) == ("скользит", "корпус")


MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
URDF = (
    '<robot name="r"><link name="a"><visual><geometry><box size="1 1 1"/></geometry></visual></link>'
    '<link name="b"><visual><geometry><mesh filename="m.obj"/></geometry></visual></link>'
    '<joint name="j" type="revolute"><axis xyz="0 0 1"/><parent link="a"/><child link="b"/>'
    '<limit lower="0" upper="1.5"/></joint></robot>'
)


def test_meshes_may_lie_in_the_package_around_the_urdf(cwd: Path):
    for folder in ("urdf", "meshes"):
        (cwd / "ws" / "shelf" / folder).mkdir(parents=True)
    (cwd / "ws" / "shelf" / "meshes" / "m.obj").write_text(MESH)
    (cwd / "ws" / "shelf" / "urdf" / "shelf.urdf").write_text(URDF.replace("m.obj", "package://shelf/meshes/m.obj"))
    assert run("ws/shelf/urdf") == 0
    assert run("ws/shelf/urdf", "check=true") == 0


@pytest.mark.parametrize(
    ("urdf", "mesh", "said"),
    [
        ("<robot", MESH, "not well-formed XML"),
        ("", MESH, "not well-formed XML"),
        ("<!DOCTYPE r><robot/>", MESH, "declares a DOCTYPE or an ENTITY"),
        ("<sdf/>", MESH, "the root element is <sdf>, expected <robot>"),
        ('<robot name="r"/>', MESH, "the robot has no links"),
        (URDF, None, "file 'm.obj' is missing"),
        (URDF.replace("m.obj", "../../m.obj"), MESH, "leads out of the asset's folder"),
        (URDF.replace("m.obj", "package://p/m.obj"), MESH, "the package 'p' of 'package://p/m.obj' is missing"),
        (URDF, "v 0 0 nan\nf 1 1 1\n", "a vertex is not finite"),
        (URDF, "v 0 0 0\nf 1 2 3\n", "a face names vertex 3 of 1"),
        (URDF, "nothing\n", "no movable joint that a skill fits (j: nothing can be seen of its part)"),
        (URDF.replace("m.obj", "m.glb"), MESH, "no readable GLB mesh"),
        (URDF.replace('"revolute"', '"fixed"'), MESH, "no movable joint that a skill fits (j (fixed))"),
        (URDF.replace("1.5", "0"), MESH, "j: moves by 0 rad, expected at least 0.05 rad"),
        (URDF.replace("1.5", "-4"), MESH, "j: moves by 0 rad"),
        (re.sub("<limit[^>]*/>", "", URDF), MESH, "j: has no <limit> with lower and upper, which say how far it moves"),
        (re.sub("<limit[^>]*/>", '<limit effort="1" velocity="1"/>', URDF), MESH, "j: has no <limit> with lower and"),
        (URDF.replace("1.5", "nan"), MESH, "has 'nan' where 1 finite number belong"),
        (URDF.replace("0 0 1", "0 0 0"), MESH, "joint 'j' has an axis of length 0"),
        (URDF.replace('child link="b"', 'child link="a"'), MESH, "the joints at link 'a' form a loop"),
        (
            URDF.replace(
                "</robot>", '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>'
            ),
            MESH,
            "0 root links",
        ),
        (URDF, MESH.replace("1", "1000"), "a face names vertex"),
        (URDF, MESH.replace("v 1", "v 1000"), "the largest extent is 1000 m, expected 0.01 to 10 m"),
        (URDF, MESH.replace("v 1", "v 1e300"), "units, expected 0.0001 to 1e+06"),
    ],
)
def test_bad_objects_are_one_line_and_nothing_is_written(
    cwd: Path, assert_refused: Callable[..., str], urdf: str, mesh: str | None, said: str
):
    folder = cwd / "x"
    folder.mkdir()
    (folder / "thing.urdf").write_text(urdf)
    for name in ("m.obj", "m.glb"):
        if mesh is not None:
            (folder / name).write_text(mesh)
    assert_refused("annotate", "x", text=said, folder=cwd)


VALUES = ("0", "-1", "1e9", "1e-9", "nan", "inf", "", "x", "0 0 0", "1e300", "fixed", "prismatic", "body")


def mutated(text: str, rng: np.random.Generator) -> str:
    """A URDF with an attribute's value replaced, a line removed or doubled, or its end cut off."""
    how = int(rng.integers(8))
    if how == 0:
        lines = text.splitlines()
        at = int(rng.integers(len(lines)))
        lines[at : at + 1] = [] if rng.random() < 0.5 else [lines[at]] * 2
        return "\n".join(lines)
    if how == 1 and rng.random() < 0.3:
        return text[: int(rng.integers(len(text)))]
    found = list(re.finditer(r'"([^"]*)"', text))
    match = found[int(rng.integers(len(found)))]
    value = VALUES[int(rng.integers(len(VALUES)))]
    words = match.group(1).split()
    if len(words) > 1 and rng.random() < 0.7:
        words[int(rng.integers(len(words)))] = value
        value = " ".join(words)
    return text[: match.start(1)] + value + text[match.end(1) :]


def assert_mutants_are_annotated_or_refused(
    cwd: Path, capsys: pytest.CaptureFixture[str], *, first: int, count: int
) -> Counter[int]:
    codes: Counter[int] = Counter()
    for seed in range(first, first + count):
        rng = np.random.default_rng([17, seed])
        text = (drawer if seed % 2 else microwave)(seed % 7).model.to_urdf()
        for _ in range(1 + int(rng.integers(3))):
            text = mutated(text, rng)
        folder = cwd / f"{seed}"
        folder.mkdir()
        (folder / "thing.urdf").write_text(text)
        code = run(folder, "picture=false")
        error = capsys.readouterr().err
        codes[code] += 1
        if code == 0:
            assert load_annotation(folder).problems == [], seed
        else:
            assert code == 2, seed
            assert error.count("\n") == 1, (seed, error)
            assert [p.name for p in folder.iterdir()] == ["thing.urdf"], seed
    return codes


@pytest.mark.slow
def test_mutated_urdfs_are_annotated_or_refused(cwd: Path, capsys: pytest.CaptureFixture[str]):
    codes = assert_mutants_are_annotated_or_refused(cwd, capsys, first=0, count=8)
    assert sum(codes.values()) == 8


@pytest.mark.slow
def test_many_mutated_urdfs_are_annotated_or_refused(cwd: Path, capsys: pytest.CaptureFixture[str]):
    count = int(os.environ.get("UNLATCH_FUZZ", "120"))
    codes = assert_mutants_are_annotated_or_refused(cwd, capsys, first=8, count=count)
    assert min(codes[0], codes[2]) >= count / 10, "the mutations are neither harmless nor all fatal"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "'nowhere' does not exist. Expected a URDF, a USD, a glTF or the folder of an object."),
        (["empty"], "'empty' contains no object: no URDF in it or below it, and no USD or glTF with joints in it."),
        (["file.txt"], "'file.txt' is no URDF, USD or glTF: its name ends in '.txt'. Expected .urdf, .usd, "),
        (["two"], "'two' holds 2 objects (a.urdf, b.urdf), expected one. Name the file."),
        ([], "annotate got 0 folders (none), expected 1, then key=value."),
        (["empty", "scal=1"], "scal is unknown. Did you mean 'scale'?"),
        (["two/a.urdf", "scale=1", "size=1"], "scale and size_m are both set, and each determines the other. Set one."),
        (["two/a.urdf", "scale=-1"], "scale=-1 is out of range."),
        (["two/a.urdf", "check=true", "edit=true"], "check and edit are both true."),
        (["many", "edit=true"], "edit=true takes one object, got 2. Name the folder of one."),
        (["two/a.urdf", "out=file.txt"], "file.txt/annotation.png cannot be written"),
        (
            ["mesh.stl"],
            "'mesh.stl' is a mesh without joints. Say which part moves: unlatch annotate mesh.stl joint=hinge",
        ),
        (["mesh.stl", "axis=z"], "axis describes the joint of a mesh. Add joint=hinge or joint=slider."),
        (["mesh.stl", "joint=hinge", "axis=[0,a,1]"], "axis=[0, 'a', 1] is no list of numbers."),
        (["two/a.urdf", "port=99999"], "port=99999 is out of range. Expected 0 to 65535."),
    ],
)
def test_bad_arguments_are_one_line(cwd: Path, assert_refused: Callable[..., str], arguments: list[str], said: str):
    (cwd / "empty").mkdir()
    (cwd / "file.txt").write_text("")
    (cwd / "mesh.stl").write_text("solid a\nendsolid a\n")
    put(cwd / "two", name="a.urdf")
    put(cwd / "two", name="b.urdf")
    put(cwd / "many" / "a")
    put(cwd / "many" / "b")
    assert_refused("annotate", *arguments, text=said, folder=cwd)


def test_a_mesh_whose_joint_gives_no_annotation_says_how_to_state_another_joint(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail(*_: object) -> None:
        raise AssetError("x: part 'door' is bad.", path="x")

    write_glb(cwd / "cabinet.glb", cabinet_scene())
    with monkeypatch.context() as patched:
        patched.setattr("unlatch.workflows.commands.objects._annotate", fail)
        said = (
            "x: part 'door' is bad. cabinet.urdf has a hinge about (0, 0, 1) through (-0.185, -0.2, 0) m, "
            "0 to 1.57 rad. If that is not the joint you mean, change axis= or at=, and add force=true to replace the "
            "URDF."
        )
        arguments = ["cabinet.glb", "joint=hinge", "moving=door", "axis=z", "at=-y"]
        assert command_table.main(["annotate", *arguments]) == BAD_INPUT
        assert said in capsys.readouterr().err
    assert run(*arguments, "picture=false", "force=true") == 0


def test_doubts_about_a_joint_are_printed(cwd: Path, capsys: pytest.CaptureFixture[str]):
    write_glb(cwd / "cabinet.glb", cabinet_scene())
    door = ["cabinet.glb", "joint=hinge", "moving=door", "picture=false", "force=true"]
    assert run(*door, "axis=+z", "at=-y") == 0
    assert "warning" not in capsys.readouterr().out
    assert run(*door, "axis=-z", "at=-y") == 0  # the wrong sign
    said = capsys.readouterr().out
    assert re.search(
        r"  warning: door moves into the body: more than 5 mm deep from 0\.\d+ rad on, \d+ mm deep at", said
    )
    assert run(*door, "axis=x", "at=-y", "range=[0,0.1]") == 0
    assert "  warning: the axis is at right angles to the flat part" in capsys.readouterr().out


def test_a_part_that_no_hand_can_hold_is_described_so(cwd: Path, capsys: pytest.CaptureFixture[str]):
    (cwd / "a").mkdir()
    (cwd / "a" / "thing.urdf").write_text(WIDE_KNOB)
    assert run("a", "picture=false") == 0
    assert "knob: knob by j, nothing of it fits between the fingers (" in capsys.readouterr().out
    assert run("a", "check=true") == 0


def test_the_help_names_every_key(capsys: pytest.CaptureFixture[str]):
    from dataclasses import fields

    from unlatch.workflows.commands.objects import AnnotateCommandCfg

    assert run("--help") == 0
    said = capsys.readouterr().out
    assert all(f"{field.name}=" in said for field in fields(AnnotateCommandCfg))


def test_keypoints_of_info_json_are_used_unless_disabled(cwd: Path):
    put(cwd / "a")
    joint = drawer(SEED).articulation.part("drawer")
    head = joint.keypoint("articulated_object_head").xyz + np.array([0.0, 0.01, 0.0])
    (cwd / "a" / "info.json").write_text(
        json.dumps({"object_keypoints": {"articulated_object_head": head.tolist()}, "object_scale": [1, 1, 1, 1]})
    )
    assert run("a", "picture=false") == 0
    part = load_annotation(cwd / "a").articulation.part("drawer")
    np.testing.assert_allclose(part.keypoint("articulated_object_head").xyz, head, atol=1e-9)
    assert run("a", "picture=false", "info=false") == 0
    part = load_annotation(cwd / "a").articulation.part("drawer")
    assert abs(part.keypoint("articulated_object_head").xyz[1] - head[1]) > 0.005


@pytest.fixture
def editor(cwd: Path):
    """An editor on a page that nobody opens."""
    import viser

    from unlatch.workflows.viewing.annotation_editor import AnnotationEditor

    put(cwd / "a")
    assert run("a", "picture=false") == 0
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    yield AnnotationEditor(server, load_annotation(cwd / "a"))
    server.stop()


def test_the_editor_moves_a_keypoint_and_saves(editor, cwd: Path):
    part = editor.edit.articulation.part("drawer")
    control = editor.points.controls["drawer", "articulated_object_head"]
    before = part.keypoint("articulated_object_head").xyz
    target = np.array(control.position) + np.array([0.0, 0.012, 0.0])
    editor.points.move("drawer", "articulated_object_head", target)
    editor.edit.save()
    after = load_annotation(cwd / "a").articulation.part("drawer")
    np.testing.assert_allclose(after.keypoint("articulated_object_head").xyz - before, [0, 0.012, 0], atol=1e-6)
    np.testing.assert_allclose(
        after.keypoint("articulated_object_tail").xyz - part.keypoint("articulated_object_tail").xyz,
        [0, 0.012, 0],
        atol=1e-6,
    )
    assert run("a") == 2, "it is made by hand now"


def test_the_editor_does_not_save_an_annotation_that_does_not_fit(editor, cwd: Path):
    before = (cwd / "a" / "articulation.yaml").read_bytes()
    editor.points.move("drawer", "link_contact_point", np.array([2.0, 0.0, 0.0]))
    assert "keypoint 'link_contact_point' lies" in editor.edit.problems[0]
    for callback in editor.save_button._impl.update_cb:
        callback(None)
    assert "Not saved." in editor.status.content
    assert (cwd / "a" / "articulation.yaml").read_bytes() == before
