"""`unlatch annotate`: what it writes, what it protects, and every bad input as one line."""

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from tests.objects.importers.mesh_samples import cabinet_scene, write_glb
from tests.objects.importers.test_urdf_object import CABINET, STATED
from unlatch import command_table
from unlatch.objects.annotate.storage import load_annotation
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.drawer import drawer
from unlatch.simcore.errors import AssetError
from unlatch.workflows.assets.annotate import annotate
from unlatch.workflows.assets.convert import MakeObjectCfg, make_objects
from unlatch.workflows.cli.terminal import BAD_INPUT

SEED = 3


HEAD = "articulated_object_head"
WIDE_KNOB = """
<robot name="r"><link name="a"><visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
<link name="b"><visual name="knob"><geometry><cylinder radius="0.05" length="0.03"/></geometry></visual></link>
<joint name="j" type="revolute"><origin xyz="0.115 0 0" rpy="0 1.5708 0"/><axis xyz="0 0 1"/><parent link="a"/>
<child link="b"/><limit lower="0" upper="3" effort="1" velocity="1"/></joint></robot>
"""


@pytest.fixture
def cwd(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNLATCH_PARTNET_DIR", raising=False)
    return tmp_path


def put(folder: Path, *, generator=drawer, name: str = "thing.urdf") -> Path:
    return put_text(folder, generator(SEED).model.to_urdf(), name=name)


def put_text(folder: Path, urdf: str, *, name: str = "thing.urdf") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(urdf, encoding="utf-8")
    return folder / name


def run(*arguments: object) -> int:
    return command_table.main(["annotate", *map(str, arguments)])


@pytest.mark.slow
def test_annotation_and_picture_lie_beside_the_urdf(cwd, capsys):
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


def test_the_picture_shows_the_head_where_the_part_is(cwd):
    put(cwd / "a", generator=microwave)
    assert run("a") == 0
    tile = np.asarray(Image.open(cwd / "a" / "annotation.png")).astype(int)[:400, :480]
    head = np.argwhere(np.all(np.abs(tile - [210, 30, 30]) < 3, axis=2))
    assert len(head) > 20
    y, x = head.mean(axis=0).astype(int)
    around = tile[y - 14 : y + 15, x - 14 : x + 15].reshape(-1, 3)
    bluish = (around[:, 2] > around[:, 0] + 15).mean()
    assert bluish > 0.15, "the moving part is drawn in blue"


def test_out_and_no_picture(cwd):
    put(cwd / "a")
    assert run("a/thing.urdf", "out=there/deep", "picture=false") == 0
    assert [p.name for p in (cwd / "there" / "deep").iterdir()] == ["articulation.yaml"]
    assert [p.name for p in (cwd / "a").iterdir()] == ["thing.urdf"]
    assert run("a/thing.urdf", "out=there/deep", "check=true") == 0


def test_what_stands_beside_the_urdf_goes_with_a_file_written_elsewhere(cwd):
    opens = '<axis xyz="0 0 -1"/><limit lower="0" upper="1.6"/>'
    held = CABINET.replace(
        '<origin xyz="0.36 0 0.2"/></joint>', '<origin xyz="0.36 0 0.2"/><axis xyz="0 1 0"/></joint>'
    )
    urdf = put_text(cwd / "a", held, name="cabinet.urdf")
    urdf.with_name("articulation.yaml").write_text(STATED)
    options = {"force": False, "picture": False, "use_info": False}
    found = annotate(urdf, out=cwd / "out", **options)
    urdf.write_text(held.replace(opens, opens.replace("-1", "1")))
    mended = annotate(urdf, fix=True, **options)
    assert urdf.with_name("articulation.yaml").read_text() == STATED
    for made in (found.articulation, mended.articulation):
        assert (made.category, made.urdf_scale, list(made.freed_joints)) == ("cabinet", 1.2, ["screws"])
        assert made.mechanisms["bolt"].by == "screws"


BOARD = """
<robot name="r"><link name="a"><visual><geometry><box size="0.4 0.5 0.4"/></geometry></visual></link>
<link name="b"><visual><origin xyz="0.01 0.25 0"/><geometry><box size="0.02 0.5 0.4"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.2 -0.25 0"/>
<limit lower="0" upper="90" effort="1" velocity="1"/></joint></robot>
"""


def test_fix_says_what_it_mended_and_what_it_cannot_mend(cwd):
    urdf = put_text(cwd / "a", BOARD)
    said = [warning.partition(". ")[2] for warning in annotate(urdf, picture=False, fix=True).warnings]
    assert said == [
        "Mended: 0 to 1.571 rad.",
        "Correct its axis if it is a door or lid, which turns about one of its edges.",
        "Add the axis.",
    ]
    assert "<axis" not in (cwd / "a" / "mended" / "thing.urdf").read_text(), "the doubt stays in the mended file"


def test_meshes_in_another_unit_are_said_and_no_scale_of_the_whole(cwd):
    urdf = put_text(cwd / "a", BOARD.replace('<box size="0.02 0.5 0.4"/>', '<mesh filename="file:///there/m.stl"/>'))
    trimesh.creation.box((20.0, 500.0, 400.0)).export(urdf.with_name("m.stl"))
    with pytest.raises(AssetError, match=r"thing\.urdf: The meshes measure .* are in millimetres\. Mend: scale 0.001"):
        annotate(urdf, picture=False)
    said = annotate(urdf, picture=False, fix=True).warnings
    assert ["Mended" in warning for warning in said] == [True, True, False, False], "scale, then degrees, each once"


def test_fix_mends_what_is_seen_only_after_another_mend(cwd):
    urdf = put_text(cwd / "a", BOARD.replace('-0.25 0"/>\n', '-0.25 0" rpy="0 0 360"/><axis xyz="0 0 -1"/>\n'))
    said = [warning.partition(". ")[2] for warning in annotate(urdf, picture=False, fix=True).warnings]
    assert said == ["Mended: rpy '0 0 6.283185'.", "Mended: 0 to 1.571 rad."]


def test_annotations_made_by_hand_are_not_replaced(cwd, capsys):
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


def test_check_prints_problems_and_writes_nothing(cwd, capsys):
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


def test_a_folder_of_objects_goes_on_after_a_bad_one(cwd, capsys):
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


def test_names_in_any_script(cwd):
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


def test_meshes_may_lie_in_the_package_around_the_urdf(cwd):
    put_text(cwd / "ws" / "shelf" / "meshes", MESH, name="m.obj")
    put_text(cwd / "ws" / "shelf" / "urdf", URDF.replace("m.obj", "package://shelf/meshes/m.obj"))
    assert run("ws/shelf/urdf") == 0
    assert run("ws/shelf/urdf", "check=true") == 0


def test_a_link_whose_only_collider_has_no_triangle_is_held_by_what_is_seen(cwd):
    empty = '<collision><geometry><mesh filename="empty.obj"/></geometry></collision></link><joint'
    put_text(cwd / "x", URDF.replace("</link><joint", empty))
    put_text(cwd / "x", MESH, name="m.obj")
    put_text(cwd / "x", "v 0 0 0\nv 1 0 0\n", name="empty.obj")
    assert run("x") == 0
    assert run("x", "check=true") == 0


@pytest.mark.parametrize(
    ("urdf", "said"),
    [
        ("<robot", "not well-formed XML"),
        ('<robot name="r"/>', "the robot has no links"),
        (URDF.replace("m.obj", "m.glb"), "no readable GLB mesh"),
        (URDF.replace('"revolute"', '"fixed"'), "no movable joint that a skill fits (j (fixed))"),
        (URDF.replace("1.5", "0"), "j: moves by 0 rad, expected at least 0.05 rad"),
        (URDF.replace("1.5", "-4"), "j: its lower limit 0 is above its upper one -4"),
        (re.sub("<limit[^>]*/>", "", URDF), "j: the file does not say how far it moves"),
        (
            re.sub("<limit[^>]*/>", '<limit effort="1" velocity="1"/>', URDF),
            "j: the file does not say how far it moves",
        ),
        (
            URDF.replace('"revolute"', '"prismatic"').replace('"1.5"', '"1e16"'),
            "it has no limits, or some without end (from 1e+06 on); give it a range",
        ),
    ],
)
def test_a_bad_urdf_is_one_line_and_nothing_is_written(cwd, assert_refused, urdf, said):
    put_text(cwd / "x", urdf)
    for name in ("m.obj", "m.glb"):
        put_text(cwd / "x", MESH, name=name)
    assert_refused("annotate", "x", text=said, folder=cwd)


@pytest.mark.parametrize(
    ("mesh", "said"),
    [
        ("v 0 0 nan\nf 1 1 1\n", "vertices are not finite"),
        ("v 0 0 0\nf 1 2 3\n", "a face names vertex 3 of 1"),
        ("nothing\n", "no movable joint that a skill fits (j: nothing can be seen of its part)"),
        (MESH.replace("v 1", "v 1000"), "the largest extent is 1000 m, expected 0.01 to 10 m"),
        (MESH.replace("v 1", "v 1e300"), "units, expected 0.0001 to 1e+06"),
    ],
)
def test_a_bad_mesh_is_one_line_and_nothing_is_written(cwd, assert_refused, mesh, said):
    put_text(cwd / "x", URDF)
    put_text(cwd / "x", mesh, name="m.obj")
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


@pytest.mark.heavy
@pytest.mark.slow
def test_mutated_urdfs_are_annotated_or_refused(cwd, capsys):
    count, codes = int(os.environ.get("UNLATCH_FUZZ", "120")), Counter()
    for seed in range(count):
        rng = np.random.default_rng([17, seed])
        text = (drawer if seed % 2 else microwave)(seed % 7).model.to_urdf()
        for _ in range(1 + int(rng.integers(3))):
            text = mutated(text, rng)
        folder = put_text(cwd / f"{seed}", text).parent
        code = run(folder, "picture=false")
        error = capsys.readouterr().err
        codes[code] += 1
        if code == 0:
            assert load_annotation(folder).problems == [], seed
        else:
            assert code == 2, seed
            assert error.count("\n") == 1, (seed, error)
            assert [p.name for p in folder.iterdir()] == ["thing.urdf"], seed
    assert min(codes[0], codes[2]) >= count / 10, "the mutations are neither harmless nor all fatal"


def test_a_mesh_whose_joint_gives_no_annotation_says_how_to_state_another_joint(cwd, monkeypatch, capsys):
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


def test_doubts_about_a_joint_are_printed(cwd, capsys):
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


def test_a_part_that_no_hand_can_hold_is_described_so(cwd, capsys):
    put_text(cwd / "a", WIDE_KNOB)
    assert run("a", "picture=false") == 0
    assert "knob: knob by j, nothing of it fits between the fingers (" in capsys.readouterr().out
    assert run("a", "check=true") == 0


def test_keypoints_of_info_json_are_used_unless_disabled(cwd):
    put(cwd / "a")
    stated = drawer(SEED).articulation.part("drawer").keypoint(HEAD).xyz + np.array([0.0, 0.01, 0.0])
    info = {"object_keypoints": {HEAD: stated.tolist()}, "object_scale": [1, 1, 1, 1]}
    (cwd / "a" / "info.json").write_text(json.dumps(info))

    def annotated_head(*arguments: str) -> np.ndarray:
        assert run("a", "picture=false", *arguments) == 0
        return load_annotation(cwd / "a").articulation.part("drawer").keypoint(HEAD).xyz

    np.testing.assert_allclose(annotated_head(), stated, atol=1e-9)
    assert abs(annotated_head("info=false")[1] - stated[1]) > 0.005


@pytest.fixture
def editor(cwd):
    """An editor on a page that nobody opens."""
    import viser

    from unlatch.workflows.viewing.annotation_editor import AnnotationEditor

    put(cwd / "a")
    assert run("a", "picture=false") == 0
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    yield AnnotationEditor(server, load_annotation(cwd / "a"))
    server.stop()


@pytest.mark.slow
def test_the_editor_moves_a_keypoint_and_saves(editor, cwd):
    part = editor.edit.articulation.part("drawer")
    target = np.array(editor.points.controls["drawer", HEAD].position) + np.array([0.0, 0.012, 0.0])
    editor.points.move("drawer", HEAD, target)
    editor.edit.save()
    after = load_annotation(cwd / "a").articulation.part("drawer")
    for name in (HEAD, "articulated_object_tail"):
        np.testing.assert_allclose(after.keypoint(name).xyz - part.keypoint(name).xyz, [0, 0.012, 0], atol=1e-6)
    assert run("a") == 2, "it is made by hand now"


@pytest.mark.slow
def test_the_editor_does_not_save_an_annotation_that_does_not_fit(editor, cwd):
    before = (cwd / "a" / "articulation.yaml").read_bytes()
    editor.points.move("drawer", "link_contact_point", np.array([2.0, 0.0, 0.0]))
    assert "keypoint 'link_contact_point' lies" in editor.edit.problems[0]
    for callback in editor.save_button._impl.update_cb:
        callback(None)
    assert "Not saved." in editor.status.content
    assert (cwd / "a" / "articulation.yaml").read_bytes() == before


def test_annotate_from_python_returns_what_it_writes_and_prints_nothing(cwd, capsys):
    put(cwd / "drawer")
    found = annotate(cwd / "drawer", out=cwd / "out", picture=False)
    assert list(found.articulation.parts) == list(read_articulation(cwd / "out" / "articulation.yaml").parts)
    assert [path.name for path in (cwd / "out").iterdir()] == ["articulation.yaml"]
    assert capsys.readouterr() == ("", "")
    with pytest.raises(AssetError):
        annotate(cwd / "nowhere")


def test_annotate_with_force_keeps_the_catch_that_the_file_states(tmp_path):
    make_objects("drawer", MakeObjectCfg(out=str(tmp_path / "drawer")))
    file = tmp_path / "drawer" / "articulation.yaml"
    stated = {part.joint: part.closing_forces for part in read_articulation(file).parts.values()}
    assert any(forces is not None for forces in stated.values())
    for force in (True, False):  # the new file counts as the command's, so the second run needs no force
        found = annotate(tmp_path / "drawer", force=force, picture=False)
        for part in [*found.articulation.parts.values(), *read_articulation(file).parts.values()]:
            assert part.closing_forces == stated[part.joint]
