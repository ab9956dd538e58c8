"""SDF and MJCF models as objects: parts, joints, values, meshes and textures."""

import numpy as np
import pytest
import trimesh

from tests.objects.importers.foreign_models import MJCF, SDF, write_mjcf, write_sdf
from unlatch.command_table import main
from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import ObjectGeometry, named_category, read_source, urdf_of
from unlatch.objects.mechanisms import Mimic
from unlatch.simcore.errors import AssetError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.urdf.model import Follows
from unlatch.simcore.urdf.reader import read_urdf

PARTS = {
    "cabinet_with_drawer": {"drawer_joint": ("slider", 0.0, 0.35)},
    "hinged_door": {"hinge": ("hinge_vertical", 0.0, 1.8), "handle": ("lever", 0.0, 0.7)},
    "microwave": {"door_hinge": ("hinge_vertical", 0.0, 1.9)},
    "meshes": {"slide": ("slider", 0.0, 0.3)},
    "door": {"door_hinge": ("hinge_vertical", 0.0, 0.9), "latch_joint": ("lever", 0.0, 1.57)},
    "mjcf microwave": {"microjoint": ("hinge_vertical", 0.0, -1.9199)},
    "bare_door": {"hinge": ("hinge_vertical", 0.0, 0.4)},
    "sliding_cabinet": {"slide": ("slider", 0.0, 0.44)},
    "kitchen_drawer": {"drawer_slide": ("slider", 0.0, 0.35)},
    "chest": {"lid": ("lid", 0.0, -1.4)},
    "dishwasher": {"door_joint": ("hinge_horizontal", 0.0, 1.5708)},
    "textured_doors": {"left": ("hinge_vertical", 0.0, 1.7453), "right": ("hinge_vertical", 0.0, 1.7453)},
}
CASES = [*(("sdf", name) for name in SDF), *(("mjcf", name) for name in MJCF)]


@pytest.fixture
def write(tmp_path):
    def write_model(kind, name):
        return write_sdf(tmp_path, name) if kind == "sdf" else write_mjcf(tmp_path, name)

    return write_model


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_parts_and_ranges_are_those_of_the_model(write, kind, name):
    if kind == "mjcf":
        pytest.importorskip("mujoco")
    source = read_source(write(kind, name))
    wanted = PARTS[f"mjcf {name}" if (kind, name) == ("mjcf", "microwave") else name]
    found = annotate_source(source)
    parts = {part.joint: part for part in found.articulation.parts.values()}
    assert {joint: part.kind.value for joint, part in parts.items()} == {joint: row[0] for joint, row in wanted.items()}
    for joint, (_, closed, opened) in wanted.items():
        openness = parts[joint].openness
        assert (openness.closed, openness.open) == pytest.approx((closed, opened), abs=2e-3), joint


def test_links_of_an_sdf_are_where_its_frames_say(write):
    model = read_source(write("sdf", "microwave")).model
    # the body is turned by 90 degrees: what is in front of it is in front along y
    pane = model.link_pose("door") @ model.links["door"].visuals[0].T_link_shape.p
    np.testing.assert_allclose(model.link_pose("body").inverse() @ pane, [0.0, 0.26, 0.3], atol=1e-6)


def test_values_of_joints_and_masses_are_kept(write):
    model = read_source(write("sdf", "cabinet_with_drawer")).model
    joint = model.joints["drawer_joint"]
    assert (joint.damping, joint.friction, joint.effort, joint.velocity) == (3.0, 1.5, 50.0, 2.0)
    inertial = model.links["drawer"].inertial
    assert inertial is not None
    assert inertial.mass_kg == 2.0
    np.testing.assert_allclose(inertial.com_link, [0.0, 0.0, 0.1])


def test_meshes_of_an_sdf_come_in_metres_with_the_models_that_it_includes(write):
    source = read_source(write("sdf", "meshes"))
    geometry = ObjectGeometry(source)
    assert len(source.model.links["tray"].visuals) == 5  # two pieces of a mesh, and a capsule of three
    low, high = (f(geometry.points(source.model.links), axis=0) for f in (np.min, np.max))
    np.testing.assert_allclose(low, [-0.25, -0.3, 0.0], atol=1e-6)
    np.testing.assert_allclose(high, [0.308, 0.3, 0.6], atol=1e-3)


def test_what_an_sdf_names_and_is_not_there_is_said(write):
    assert "left out, not found beside the file: model://sun" in read_source(write("sdf", "hinged_door")).notices


def test_damping_colours_and_colliders_of_an_mjcf_are_kept(write):
    pytest.importorskip("mujoco")
    model = read_source(write("mjcf", "door")).model
    hinge = model.joints["door_hinge"]
    assert (hinge.damping, hinge.friction) == (1.0, 0.3)
    door = model.links["door"]
    assert [shape.name for shape in door.visuals] == ["panel_seen"]
    assert door.visuals[0].rgba == pytest.approx((0.5, 0.3, 0.1, 1.0), abs=1e-6)
    assert [shape.name for shape in door.collisions] == ["panel"]
    assert door.inertial is not None
    assert door.inertial.mass_kg == pytest.approx(2.4)


def test_an_mjcf_without_a_unit_of_angles_is_read_in_radians_if_degrees_would_hardly_move_it(write):
    pytest.importorskip("mujoco")
    path = write("mjcf", "bare_door")
    text = path.read_text()
    assert any(line.startswith("angles are read as radians") for line in read_source(path).notices)
    path.write_text(path.read_text().replace("<worldbody>", '<compiler angle="degree"/><worldbody>', 1))
    stated = read_source(path)
    assert stated.model.joints["hinge"].upper == pytest.approx(np.deg2rad(0.4))
    assert not stated.notices
    for span in (5.5, 90.0):  # such a hinge moves in degrees, too
        path.write_text(text.replace("0 0.4", f"0 {span}"))
        assert read_source(path).model.joints["hinge"].upper == pytest.approx(np.deg2rad(span))
    path.with_name("unit.xml").write_text('<mujocoinclude><compiler angle="degree"/></mujocoinclude>')
    path.write_text(text.replace("<worldbody>", '<include file="unit.xml"/><worldbody>', 1))
    assert read_source(path).model.joints["hinge"].upper == pytest.approx(np.deg2rad(0.4))


def test_a_panel_that_slides_in_front_of_its_case_faces_the_side_of_its_handle(write):
    pytest.importorskip("mujoco")
    found = annotate_source(read_source(write("mjcf", "sliding_cabinet")))
    (part,) = found.articulation.parts.values()
    assert (part.name, part.handle.type.name) == ("slider", "knob")
    np.testing.assert_allclose(part.axis("base_front_axis").xyz, [0.0, -1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize(
    ("body", "category"),
    [("microwave_1", "microwave"), ("faucetBase", "faucet"), ("hingecabinet", "cabinet"), ("open_unit", None)],
)
def test_the_name_of_a_body_may_say_what_the_object_is(body, category):
    assert named_category(body) == category


def test_members_of_a_rail_with_a_knob_on_the_drawer_are_no_arm(write):
    pytest.importorskip("mujoco")
    path = write("mjcf", "kitchen_drawer")
    slide = '<body><joint type="slide" axis="1 0 0" range="0 0.1"/><geom type="box" size="0.2 0.02 0.02"/>'
    turn = '<body pos="0.31 0 0"><joint axis="1 0 0" range="0 90"/><geom type="box" size="0.02 0.01 0.03"/></body>'
    text = path.read_text().replace('<body name="drawer"', f'{slide}{slide}<body name="drawer"')
    text = text.replace("</body>\n</worldbody>", f"{turn}</body></body></body>\n</worldbody>")
    path.write_text(text)
    assert sum(joint.moves for joint in read_source(path).model.joints.values()) == 4


def test_one_object_of_an_mjcf_scene_is_written_and_annotated(write, tmp_path, capsys):
    pytest.importorskip("mujoco")
    path = write("mjcf", "scene")
    assert main(["annotate", str(path)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "body 'link4' turns by 4 hinges in a row, as an arm does. Expected an object." in said
    assert "body=NAME, such as unit, dial." in said
    words = ["annotate", str(path), "body=unit", "picture=false"]
    assert main(words) == 0
    model = read_urdf(tmp_path / "unit" / "unit.urdf")
    assert [joint.name for joint in model.joints.values() if joint.moves] == ["slide"]
    # it stands as by itself: neither turned nor lifted by the desk, and the desk and the arm are not there
    slide = model.joints["slide"]
    np.testing.assert_allclose(model.link_pose(slide.child).rotate(slide.axis), [1.0, 0.0, 0.0], atol=1e-6)
    geometry = ObjectGeometry(read_source(tmp_path / "unit"))
    np.testing.assert_allclose(np.ptp(geometry.points(model.links), axis=0), [0.56, 0.6, 0.6], atol=2e-3)
    assert "unit" in capsys.readouterr().out
    assert (tmp_path / "unit").stat().st_mode == (tmp_path / "assets").stat().st_mode
    assert main(words) == 2
    assert "exists. Use it, or give force=true" in " ".join(capsys.readouterr().err.split())
    for body, problem in (("unti", "does not exist. Did you mean 'unit'?"), ("kettle", "holds no joint that moves.")):
        assert main(["annotate", str(path), f"body={body}"]) == 2
        assert f"body '{body}' {problem} Annotate one object" in " ".join(capsys.readouterr().err.split())


def test_a_picture_and_a_coupling_of_an_mjcf(write):
    pytest.importorskip("mujoco")
    source = read_source(write("mjcf", "textured_doors"))
    shape = source.model.links["left"].visuals[0]
    assert shape.path is not None
    assert "map_Kd" in shape.path.with_suffix(".mtl").read_text()
    assert source.model.joints["right"].follows == Follows("left", 1.0, 0.0)
    assert annotate_source(source).articulation.mechanisms == {"mimic": Mimic("right", "left")}


def test_a_coupling_of_an_mjcf_that_is_not_active_is_left_out_with_a_line(write):
    pytest.importorskip("mujoco")
    path = write("mjcf", "textured_doors")
    path.write_text(path.read_text().replace('joint2="left"', 'joint2="left" active="false"'))
    source = read_source(path)
    assert source.model.joints["right"].follows is None
    assert "left out: the equality by which joint 'right' would follow 'left', which is not active" in source.notices


def test_an_mjcf_of_objects_that_stand_apart_is_refused_with_their_names(write):
    pytest.importorskip("mujoco")
    path = write("mjcf", "textured_doors")
    text = path.read_text()
    case = text[text.index('<body name="case">') : text.index("</worldbody>")]
    for apart, names in (("3 0 0", "case, other"), ("0 0.61 0", "")):
        other = (
            case.replace('name="case"', f'name="other" pos="{apart}"')
            .replace('name="', 'name="o')
            .replace('name="oother"', 'name="other"')
        )
        path.write_text(text.replace("</worldbody>", f"{other}</worldbody>"))
        if names:
            with pytest.raises(AssetError, match=f"2 objects that stand apart, {names}. Annotate one of them: body=ca"):
                read_source(path)
        else:
            assert len(read_source(path).model.joints) > 2


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        ('<geom type="box" size="0.3 0.3 0.4" pos="0 0 0.4"/>', True),
        ('<body><geom type="box" size="0.3 0.3 0.4" pos="0 0 0.4"/></body>', True),
        ('<geom type="plane" size="3 3 1" pos="0 0 0.7"/>', False),
        ('<geom type="box" size="0.3 0.3 0.4" pos="0 0 2"/>', False),
    ],
)
def test_what_has_no_joints_connects_the_objects_that_it_touches(body, is_one, tmp_path):
    pytest.importorskip("mujoco")
    box = '<geom type="box" size="0.01 0.03 0.03"/>'
    mounts = "".join(
        f'<body name="m{y}" pos="0.31 {y} 0.7">{box}<body><joint axis="1 0 0" range="0 90"/>{box}</body></body>'
        for y in (0.2, -0.2)
    )
    path = tmp_path / "stove.xml"
    path.write_text(f"<mujoco><worldbody>{body}{mounts}</worldbody></mujoco>")
    if is_one:
        assert sum(joint.moves for joint in read_source(path).model.joints.values()) == 2
    else:
        with pytest.raises(AssetError, match="2 objects that stand apart"):
            read_source(path)


def test_an_older_mjcf_may_include_two_files_of_one_name(tmp_path):
    pytest.importorskip("mujoco")
    body = '<body name="{0}"><joint name="{0}" axis="0 0 1" range="0 90"/><geom type="box" size="0.1 0.1 0.1"/></body>'
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.xml").write_text(f"<mujoco><worldbody>{body.format(name)}</worldbody></mujoco>")
    includes = '<include file="left/part.xml"/><include file="right/part.xml"/>'
    (tmp_path / "model.xml").write_text(f'<mujoco><option collision="all"/>{includes}</mujoco>')
    assert {"left", "right"} <= read_source(tmp_path / "model.xml").model.joints.keys()


PART_OF_SCENE = """<mujoco><compiler angle="radian" inertiagrouprange="4 5"/>
<asset><material name="paint" rgba="1 0 0 1"/><material name="paint" rgba="0 1 0 1"/></asset>
<worldbody><body name="case"><geom type="box" size="0.1 0.2 0.2"/><region name="inside"/>
<body name="leaf" pos="0.12 -0.2 0"><joint name="hinge" axis="0 0 -1" range="0 1.5"/>
<geom type="box" size="0.02 0.2 0.2" pos="0 0.2 0" material="paint" contype="0" conaffinity="0"/>
<geom type="box" size="0.02 0.2 0.2" pos="0 0.2 0" mass="0.7"/></body></body></worldbody></mujoco>"""


def test_an_mjcf_that_only_the_program_around_it_completes_is_read(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "model.xml").write_text(PART_OF_SCENE)
    source = read_source(tmp_path / "model.xml")
    leaf = source.model.links["leaf"]
    assert leaf.inertial.mass_kg == pytest.approx(0.7), (
        "shapes that are only seen weigh nothing beside those that touch"
    )
    assert leaf.visuals[0].rgba[:3] == pytest.approx((1.0, 0.0, 0.0)), "the first material of a name counts"
    assert source.notices == (
        "left out: <region>, which MuJoCo does not know",
        "left out: the second material of the name 'paint'",
        "the masses of case, leaf count all shapes that touch: none is in inertiagrouprange 4 5",
    )
    coupling = '<equalty><joint joint1="hinge"/></equalty></mujoco>'
    for misspelt in (PART_OF_SCENE.replace("<joint ", "<jiont "), PART_OF_SCENE.replace("</mujoco>", coupling)):
        (tmp_path / "model.xml").write_text(misspelt)
        with pytest.raises(AssetError, match="MuJoCo cannot read it"):
            read_source(tmp_path / "model.xml")


def test_a_body_of_an_mjcf_that_has_a_mass_keeps_it_where_another_one_has_none(tmp_path):
    pytest.importorskip("mujoco")
    tray = """<body name="tray" pos="0 0 0.5"><joint type="slide" axis="1 0 0" range="0 0.2"/>
    <geom type="box" size="0.1 0.2 0.02" group="4" mass="3"/><geom type="box" size="0.1 0.2 0.02" mass="9"/></body>"""
    stated = '<inertial pos="0 0 0" mass="5" diaginertia="1 1 1"/>'
    lid = f"""<body name="lid" pos="0 0 0.3"><joint axis="0 1 0" range="0 1"/>{stated}
    <geom type="box" size="0.1 0.2 0.02"/></body>"""
    (tmp_path / "model.xml").write_text(PART_OF_SCENE.replace('<region name="inside"/>', tray + lid))
    source = read_source(tmp_path / "model.xml")
    masses = {name: source.model.links[name].inertial.mass_kg for name in ("leaf", "tray", "lid")}
    assert masses == pytest.approx({"leaf": 0.7, "tray": 3.0, "lid": 5.0})
    assert source.notices[-1].startswith("the masses of case, leaf count")


def test_an_sdf_without_joints_names_the_model_that_it_includes_and_lacks(tmp_path):
    path = tmp_path / "model.sdf"
    path.write_text('<sdf version="1.6"><model name="m"><include><uri>model://gone</uri></include></model></sdf>')
    with pytest.raises(AssetError, match=r"no joint that moves.*Left out, not found beside the file: model://gone"):
        read_source(path)


def test_a_mimic_of_an_sdf_counts_from_its_reference(write):
    path = write("sdf", "hinged_door")
    mimic = (
        '<mimic joint="hinge"><multiplier>0.5</multiplier><offset>0.1</offset><reference>0.4</reference></mimic></axis>'
    )
    text, _, end = path.read_text().rpartition("</axis>")
    path.write_text(text + mimic + end)
    follows = read_source(path).model.joints["handle"].follows
    assert follows == Follows("hinge", 0.5, pytest.approx(-0.1))
    path.write_text(path.read_text().replace("0.4</reference>", "far</reference>"))
    with pytest.raises(AssetError, match="joint 'handle' has 'far' where a number belongs"):
        read_source(path)


def test_a_model_is_read_again_if_what_it_includes_changes(write, tmp_path):
    path = write("sdf", "meshes")
    first = urdf_of(path).path
    assert urdf_of(path).path == first
    part = tmp_path / "box_part" / "model.sdf"
    part.write_text(part.read_text().replace("0.5 0.6 0.02", "0.5 0.6 0.03"))
    assert urdf_of(path).path != first


SDF_FAULTS = [
    ('type="prismatic"', 'type="screw"', "joint 'drawer_joint' is of type 'screw'. Expected revolute"),
    (
        "<child>drawer</child>",
        "<child>tray</child>",
        "joint 'drawer_joint' names the child 'tray', which is no link. Links: case, drawer.",
    ),
    ("<lower>0</lower>", "<lower>nan</lower>", "has 'nan' where a number belongs"),
    ("<xyz>1 0 0</xyz>", "<xyz>0 0 0</xyz>", "has an axis of length 0"),
    ('name="drawer"', 'name="case"', "has a name that is used twice"),
    ('type="prismatic"', 'type="fixed"', "has no joint that moves"),
    ("</model>", '</model><model name="b"><link name="x"/><joint name="y"/></model>', "has 2 models (cabinet, b)"),
    ("<sdf version", "<gazebo version", "not well-formed"),
]


@pytest.mark.parametrize(("old", "new", "said"), SDF_FAULTS)
def test_a_fault_of_an_sdf_is_one_line(write, old, new, said):
    path = write("sdf", "cabinet_with_drawer")
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(AssetError) as caught:
        read_source(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_fault_of_an_mjcf_is_one_line(write, tmp_path):
    pytest.importorskip("mujoco")
    path = write("mjcf", "door")
    text = path.read_text()
    for old, new, said in (
        ('type="hinge"', 'type="ball"', "joint 'door_hinge' is a ball joint. Expected hinges and slides."),
        ("<joint ", "<jont ", "MuJoCo cannot read it"),
        ("<mujoco", "<other", "is no MJCF: it has no <mujoco>"),
    ):
        path.write_text(text.replace(old, new).replace("</mujoco", "</other" if new == "<other" else "</mujoco"))
        with pytest.raises(AssetError) as caught:
            read_source(path)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


OLD_MJCF = """<mujoco><compiler angle="radian"/><option apirate="50" collision="all"/><include file="parts/assets.xml"/>
<worldbody><body name="case"><geom type="box" size="0.1 0.2 0.2"/>
<body name="leaf" childclass="door" pos="0.12 -0.2 0"><joint name="hinge" axis="0 0 -1"/>
<geom type="mesh" mesh="leaf" pos="0.02 0.2 0"/></body></body></worldbody></mujoco>"""
OLD_DEFAULTS = """<mujocoinclude><asset><mesh name="leaf" file="meshes/leaf.obj"/></asset>
<default class="door"><joint range="0 1.5" limited="true" stiffness="2"/></default></mujocoinclude>"""


def test_an_mjcf_of_an_older_mujoco_is_read_and_what_is_dropped_is_said(tmp_path):
    pytest.importorskip("mujoco")
    for name in ("parts", "meshes"):
        (tmp_path / name).mkdir()
    (tmp_path / "model.xml").write_text(OLD_MJCF)
    (tmp_path / "parts" / "assets.xml").write_text(OLD_DEFAULTS)
    trimesh.creation.box((0.02, 0.38, 0.38)).export(tmp_path / "meshes" / "leaf.obj")
    source = read_source(tmp_path / "model.xml")
    assert source.model.joints["hinge"].upper == pytest.approx(1.5)
    assert source.notices == (
        "left out: 'apirate' of <option>, which this MuJoCo does not know",
        "left out: 'collision' of <option>, which this MuJoCo does not know",
        "left out: the spring of hinge",
    )
    (tmp_path / "model.xml").write_text(OLD_MJCF.replace("axis=", "axle="))
    with pytest.raises(AssetError, match="unrecognized attribute: 'axle' Element 'joint'"):
        read_source(tmp_path / "model.xml")


def test_an_older_mjcf_may_include_files_that_include_others_beside_themselves(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "parts").mkdir()
    (tmp_path / "model.xml").write_text(OLD_MJCF.replace('<compiler angle="radian"/>', ""))
    (tmp_path / "parts" / "assets.xml").write_text('<mujocoinclude><include file="leaf.xml"/></mujocoinclude>')
    stated = OLD_DEFAULTS.replace("meshes/", "").replace("<asset>", '<compiler angle="degree"/><asset>')
    (tmp_path / "parts" / "leaf.xml").write_text(stated.replace("0 1.5", "0 2"))
    trimesh.creation.box((0.02, 0.38, 0.38)).export(tmp_path / "parts" / "leaf.obj")
    hinge = read_source(tmp_path / "model.xml").model.joints["hinge"]
    assert hinge.upper == pytest.approx(np.radians(2.0)), "the file that is included last states the unit"


@pytest.mark.e2e
def test_an_episode_opens_an_sdf(write, tmp_path):
    out = tmp_path / "data"
    words = [f"object={write('sdf', 'cabinet_with_drawer')}", "skill=open", "episodes=1", "pictures=0"]
    assert main(["collect", *words, "executor=serial", f"out={out}"]) == 0
    assert [summary.success for summary in DataSet.open(out).summaries()] == [True]


def test_a_written_urdf_reads_back(write):
    made = urdf_of(write("sdf", "cabinet_with_drawer"))
    assert list(read_urdf(made.path).joints) == ["drawer_joint"]
