"""One recorded episode as a file to look at: it shows what was recorded, and needs no other file."""

import dataclasses
import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh

from tests.objects.builders import write_drawn
from unlatch import command_table
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.models import model_path
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import install_command
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.obj_file import linear_light
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, project_points
from unlatch.simcore.urdf.model import Link, Shape, ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.viewing.recorded_scene import (
    FOV_DEG,
    RecordedScene,
    ShownBody,
    box_mesh,
    choose_view,
    link_meshes,
    read_scene,
)

pytestmark = pytest.mark.integration

FINGERS = "contacts.franka_panda.left.{}.fingers_link.force_max_n"


def test_an_error_before_the_first_state_shows_the_scene_and_the_place_in_the_code(data_set, scene):
    shown, notices = read_scene(data_set, 8)
    assert notices == []
    assert shown.notes[1:] == ("NameError: framez", 'File "/home/me/skill.py", line 7, in make_commands', "framez")
    assert shown.times_s.tolist() == [0.0]
    for name in ("robot/franka_panda/panda_hand", "object/drawer/drawer"):
        np.testing.assert_allclose(body(shown, name).positions, body(scene, name).positions[:1], atol=1e-3)


@pytest.fixture(scope="module")
def record(data_set) -> EpisodeRecord:
    return data_set.read(0)


@pytest.fixture(scope="module")
def scene(data_set) -> RecordedScene:
    shown, notices = read_scene(data_set, 0)
    assert notices == []
    return shown


def body(scene: RecordedScene, name: str):
    return next(item for item in scene.bodies if item.name == name)


def test_the_hand_is_where_it_was_recorded(scene, record):
    hand = body(scene, "robot/franka_panda/panda_hand")
    np.testing.assert_allclose(hand.positions, record.arrays["robots.franka_panda.left.ee_position"], atol=1e-6)
    recorded = record.arrays["robots.franka_panda.left.ee_quat_xyzw"]
    np.testing.assert_allclose(np.abs(np.sum(hand.quats_xyzw * recorded, axis=1)), 1.0, atol=1e-9)


def test_the_drawer_moves_as_far_as_its_joint(scene, record):
    (skill,) = record.skills
    travel = record.arrays["objects.drawer.joint_positions"][:, skill["joint_index"]]
    moving = [item for item in scene.bodies if item.name.startswith("object/drawer/") and item.moves]
    assert len(moving) == 1
    moved = np.linalg.norm(moving[0].positions - moving[0].positions[0], axis=1)
    np.testing.assert_allclose(moved, np.abs(travel - travel[0]), atol=1e-6)
    assert travel.max() > 0.1


def test_furniture_stands_still_under_what_it_carries(scene):
    table, plinth = body(scene, "table"), body(scene, "plinth/drawer")
    assert not table.moves
    assert not plinth.moves
    assert table.positions[0][2] + table.meshes[0].vertices[:, 2].max() == pytest.approx(0.0, abs=1e-6)
    assert plinth.positions[0][2] + plinth.meshes[0].vertices[:, 2].min() == pytest.approx(0.0, abs=1e-6)


def test_a_force_belongs_to_the_frame_at_the_end_of_its_interval(scene, record):
    force = next(item for item in scene.forces if item.name.endswith("fingers_link"))
    assert force.values_n[0] == 0.0
    np.testing.assert_array_equal(force.values_n[1:], record.arrays[FINGERS.format("drawer")])
    assert force.values_n.max() > 1.0
    assert {item.label for item in scene.forces if item.name.startswith("drawer.")} == {
        "drawer on furniture",
        "drawer on other objects",
    }
    assert len(scene.forces) == 7
    assert all(len(item.values_n) == len(item.positions) == record.n_actions + 1 for item in scene.forces)


@pytest.mark.parametrize(("height_m", "is_far"), [(0.3, False), (1.8, True)])
def test_the_eye_is_so_far_away_that_a_tall_object_is_in_the_picture(height_m, is_far):
    low, high = np.array([-0.15, -0.15, 0.0]), np.array([0.15, 0.15, height_m])
    arrays = {"objects.thing.root_position": np.array([[0.6, 0.0, 0.0]])}
    arrays["objects.thing.root_quat_xyzw"] = np.array([[0.0, 0.0, 0.0, 1.0]])
    eye, target = choose_view({"thing": SimpleNamespace(bounds_obj=np.array([low, high]))}, arrays)
    assert (np.linalg.norm(eye - target) > 1.7) == is_far
    corners = (
        np.array([np.where(pick, high, low) for pick in np.ndindex(2, 2, 2)]) + arrays["objects.thing.root_position"]
    )
    pixels = project_points(LookAtCamera(tuple(eye), tuple(target), FOV_DEG), corners, width=400, height=400)
    assert ((pixels[:, :2] > 0) & (pixels[:, :2] < 400)).all()


def test_points_curves_and_words_are_those_of_the_record(scene, record):
    assert scene.title == "open_drawer · episode 0 · success"
    assert scene.notes == (record.language[0],)
    assert [curve.unit for curve in scene.curves] == ["m"]
    assert scene.times_s[0] == 0.0
    assert {"approach", "follow", "settle"} <= set(scene.phases)
    head = next(item for item in scene.points if item.label == "articulated_object_head")
    np.testing.assert_array_equal(head.positions, record.arrays["keypoints.drawer.drawer.articulated_object_head"])
    assert {item.name.split("/")[1] for item in scene.points if item.acted_on} == {record.skills[0]["part"]}


def test_a_diverged_episode_is_shown_with_its_last_finite_state(data_set):
    shown, _ = read_scene(data_set, 7)
    hand = body(shown, "robot/franka_panda/panda_hand")
    assert np.isfinite(hand.positions).all()
    np.testing.assert_array_equal(hand.positions[-1], hand.positions[-4])
    assert not shown.success
    assert shown.notes[-1] == "q is not finite"


def test_an_object_that_differs_from_the_recorded_one_is_reported(data_set):
    _, notices = read_scene(data_set, 5)
    assert len(notices) == 1
    assert "object 'drawer'" in notices[0]
    assert "its shape may differ" in notices[0]


@pytest.mark.slow
def test_a_page_refers_to_no_other_file_and_texts_cannot_end_its_script(data_set, scene):
    from unlatch.workflows.viewing.viewers import to_html

    page = to_html(dataclasses.replace(scene, notes=("</script><b>bold</b>",))).decode()
    assert set(re.findall(r"https?://[\w./-]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=[\"'](?!data:)", page)
    assert "<b>bold</b>" not in page
    assert page.count("</script>") == page.count("<script")
    assert len(page) < 5e6


@pytest.mark.slow
def test_the_command_writes_a_page_and_the_data_set_stays_whole(data_set, run_command):
    code, out, err = run_command("view", data_set.path, "episode=7")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"view: .*view-7\.html \(\d\.\d MB, \d+\.\d s\)\n", out)
    assert (data_set.path / "view-7.html").stat().st_size > 1e6
    assert sorted(path.name for path in data_set.path.iterdir() if path.name.startswith(".view")) == []


def test_a_recording_is_read_back_as_it_was_recorded(scene, tmp_path):
    pytest.importorskip("rerun", reason="the extra rerun is not installed")
    chunk = pytest.importorskip("rerun.chunk", reason="this rerun-sdk reads no files")
    from unlatch.workflows.viewing.viewers import to_rrd

    path = tmp_path / "episode.rrd"
    path.write_bytes(to_rrd(scene))
    found: dict[str, int] = {}
    moved = None
    for piece in chunk.RrdReader(str(path)).stream():
        entity = str(piece.entity_path)
        found[entity] = max(found.get(entity, 0), piece.num_rows)
        if entity == "/world/robot/franka_panda/panda_hand" and piece.num_rows > 1:
            batch = piece.to_record_batch()
            name = next(column for column in batch.schema.names if column.endswith("translation"))
            moved = np.array([row[0] for row in batch.column(name).to_pylist()])
    frames = len(scene.times_s)
    hand = body(scene, "robot/franka_panda/panda_hand")
    assert moved is not None
    np.testing.assert_allclose(moved, hand.positions, atol=1e-6)
    assert found["/plots/force/franka_panda/left/drawer/fingers_link"] == frames
    assert found["/world/keypoints/drawer/drawer/articulated_object_head"] == frames
    assert found["/world/table/0"] == 1


NO_STATES = "it ended with code plan_infeasible before the first one (No grasp was found). Name another episode."
EACH = {
    "episode=3": "episode=3 is not in '{set}'. It has episodes 0 to 2, 4 to 8. Name one of them.",
    "episode=-1": "episode=-1 is not in '{set}'. It has episodes 0 to 2, 4 to 8. Name one of them.",
    "episod=3": "episod is unknown. Did you mean 'episode'? `--help` lists all. Remove or rename it.",
    "episode=x": "episode='x' has the wrong type. Expected a whole number. Change it.",
    "episode=1": f"Episode 1 has no states to show: {NO_STATES}",
}
OF_ONE = [
    ("view", "--fast", "Unknown flag '--fast'. Expected key=value or --help."),
    ("phases", "--fast", "Unknown flag '--fast'. Expected key=value or --help."),
    ("view", "format=htm", "Unknown format 'htm'. Did you mean 'html'? Known: html, rrd."),
    ("view", "out=a.rrd", "out=a.rrd does not end in .html, the format that is written. Add format=rrd."),
    ("view", "out=a.png", "out=a.png does not end in .html, the format that is written. Rename it."),
    ("phases", "columns=0", "columns=0 is out of range. Expected 1 to 12."),
    ("phases", "out=a.jpg", "out=a.jpg does not end in .png, the format that is written. Rename it."),
    ("clip", "out=a.avi", "out=a.avi does not end in .mp4, .webp or .gif, the formats that are written. Rename it."),
    ("clip", "out=a.gif fps=60", "fps=60 is out of range. Expected 1 to 50 in a .gif."),
    ("clip", "width=641", "A picture of 641 x 480 pixels does not fit a .mp4: H.264 needs even sides."),
    ("clip", "speed=0", "speed=0 is out of range. Expected 0.05 to 100."),
    ("clip", "camera=fron", "camera='fron' is not a known view or camera. Did you mean 'front'?"),
    ("clip", "camera=xyz", "Known: overview, close, fisheye, following, front, wrist. Name one of them."),
    ("clip", "camera=imu", "camera=imu is a sensor of type 'imu'. Expected a camera. Name another."),
    ("clip", "renderer=atuo", "Unknown renderer 'atuo'. Did you mean 'auto'?"),
    ("clip", "renderer=xyz", "Unknown renderer 'xyz'. Known: auto, mitsuba, pygfx, software."),
    ("clip", "renderer=softwear", "Unknown renderer 'softwear'. Did you mean 'software'?"),
    ("clip", "scenery=kichen", "scenery='kichen' is unknown. Did you mean 'kitchen'"),
]


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [*((command, *row) for command in ("view", "phases", "clip") for row in EACH.items()), *OF_ONE],
)
def test_a_mistake_is_one_line(data_set, command, arguments, message, assert_refused):
    said = assert_refused(command, data_set.path, *arguments.split(), text="", folder=data_set.path)
    said = said.replace(str(data_set.path), "{set}")
    assert message in said if command == "clip" else said == f"unlatch: {message}\n"


def test_a_place_that_cannot_be_written_is_one_line(data_set, tmp_path, assert_refused):
    (tmp_path / "file").write_text("mine")
    text = f"'{tmp_path}/file/a.html' cannot be written: this user cannot write to '{tmp_path}/file'."
    assert_refused("view", data_set.path, f"out={tmp_path}/file/a.html", text=text, folder=tmp_path)


@pytest.mark.parametrize("command", ["view", "studio", "watch"])
def test_a_command_whose_page_needs_viser_names_its_extra(data_set, command, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "viser", None)
    words = {"view": [str(data_set.path)], "studio": ["task=open_drawer"], "watch": [str(data_set.path), "page=true"]}
    assert command_table.main([command, *words[command]]) == 2
    assert f"It comes with the extra 'view'. Install it: {install_command('view')}" in capsys.readouterr().err
    assert not [path for path in data_set.path.iterdir() if path.name == "view-0.html"]


@pytest.mark.slow
def test_every_visible_link_of_the_robot_has_a_mesh():
    meshes = link_meshes(read_urdf(model_path("franka_panda"), packages=True))
    assert {f"panda_link{index}" for index in range(8)} | {"panda_hand", "panda_leftfinger"} <= meshes.keys()
    hand = np.concatenate([mesh.vertices for mesh in meshes["panda_hand"]])
    np.testing.assert_allclose(np.ptp(hand, axis=0), [0.03, 0.2, 0.09], atol=0.04)
    assert all(mesh.faces.max() < len(mesh.vertices) for pieces in meshes.values() for mesh in pieces)


def test_a_damaged_mesh_is_named(tmp_path):
    path = tmp_path / "damaged.glb"
    path.write_bytes(b"nothing")
    shape = Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), path=path)
    with pytest.raises(AssetError, match=r"Mesh '.*damaged\.glb' cannot be read \(.*Restore the asset\."):
        link_meshes(UrdfModel("m", {"link": Link("link", (shape,))}, {}))


def test_an_edge_of_a_box_stays_sharp():
    box = box_mesh(np.array([1.0, 2.0, 3.0]), (1.0, 0.0, 0.0, 1.0))
    assert len(box.vertices) == 24  # four to a side: none is shared across an edge
    assert len(box.faces) == 12


def test_shapes_of_one_colour_are_one_mesh_where_the_urdf_puts_them():
    red, blue = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.5)
    at = Pose.from_translation((0.0, 0.0, 2.0))
    shapes = (
        Shape(ShapeKind.box, (0.2, 0.2, 0.2), at, rgba=red),
        Shape(ShapeKind.cylinder, (0.1, 0.4), Pose.identity(), rgba=blue),
        Shape(ShapeKind.sphere, (0.3,), Pose.identity(), rgba=red),
    )
    found = link_meshes(UrdfModel("m", {"link": Link("link", shapes), "bare": Link("bare")}, {}))
    assert list(found) == ["link"]
    first, second = found["link"]
    assert (first.rgba, second.rgba) == (red, blue)
    np.testing.assert_allclose([first.vertices[:, 2].min(), first.vertices[:, 2].max()], [-0.3, 2.1], atol=1e-6)
    np.testing.assert_allclose([second.vertices[:, 2].min(), second.vertices[:, 2].max()], [-0.2, 0.2], atol=1e-6)


def textured_body(folder: Path) -> ShownBody:
    made = GENERATORS.load("drawer")(4)
    meshes = link_meshes(read_urdf(write_drawn(made, folder)))
    assert [mesh.texture is not None for mesh in meshes["body"]] == [True, False]
    return ShownBody("body", tuple(meshes["body"]), np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]]))


def test_a_page_shows_the_picture_of_a_surface_in_its_colour(tmp_path):
    from unlatch.workflows.viewing.scene_nodes import textured_trimesh

    mesh = textured_body(tmp_path).meshes[0]
    assert mesh.texture is not None
    shown = trimesh.load(io.BytesIO(textured_trimesh(mesh, mesh.texture).export(file_type="glb")), file_type="glb")
    (piece,) = shown.geometry.values()
    assert (len(piece.vertices), len(piece.faces)) == (len(mesh.vertices), len(mesh.faces))
    assert piece.visual.material.baseColorTexture.size == (128, 128)
    linear = [linear_light(value) for value in mesh.rgba[:3]]
    np.testing.assert_allclose(
        np.asarray(piece.visual.material.baseColorFactor[:3], dtype=float) / 255, linear, atol=5e-3
    )
    np.testing.assert_allclose(piece.visual.uv, mesh.texture.uvs, atol=1e-5)


def test_a_recording_holds_the_picture_of_a_surface(tmp_path):
    pytest.importorskip("rerun", reason="the extra rerun is not installed")
    from unlatch.workflows.viewing.viewers import texture_arguments

    plain, shown = (texture_arguments(textured_body(tmp_path).meshes[number]) for number in (1, 0))
    assert plain == {}
    assert shown["albedo_texture"].shape == (128, 128, 3)
    assert len(shown["vertex_texcoords"]) == len(textured_body(tmp_path).meshes[0].vertices)
