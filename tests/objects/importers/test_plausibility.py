"""What is implausible in a URDF, and its mend."""

from pathlib import Path

import pytest
import trimesh

from tests.objects.annotate.conftest import CASE, box, boxes, joint
from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.importers.plausibility import find_doubts, write_mended
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.reader import read_urdf

DOOR = box("0.01 0.25 0.2", "0.02 0.5 0.4") + box("0.04 0.45 0.2", "0.02 0.02 0.15")
"""A door before the cabinet, with a bar; its hinge is on the right."""
DRAWER = boxes(
    ("0.01 0 0", "0.02 0.44 0.2"),
    ("-0.15 0 -0.08", "0.3 0.4 0.01"),
    ("-0.29 0 0", "0.01 0.4 0.15"),
    ("0.04 0 0", "0.02 0.1 0.02"),
)
"""A drawer in the cabinet, with a bar."""
HINGE, SLIDE = "0.2 -0.25 0", "0.2 0 0.2"
OUT, INTO = "0 0 -1", "0 0 1"


def write(folder: Path, part: str, *joints: str, body: str = CASE) -> Path:
    path = folder / "thing.urdf"
    links = f'<link name="a">{body}</link><link name="b">{part}</link>'
    path.write_text(f'<robot name="r">{links}{"".join(joints)}</robot>')
    return path


def inertial(mass_kg: float, com: str = "0 0 0") -> str:
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    return f'<inertial><origin xyz="{com}"/><mass value="{mass_kg}"/>{inertia}</inertial>'


def said(path: Path) -> list[str]:
    return [doubt.text for doubt in find_doubts(read_source(path))]


MENDS = {
    "degrees": (DOOR, joint("revolute", HINGE, OUT, 0, 110), "they are degrees. Mend: 0 to 1.92 rad.", (0, 1.919862)),
    "degrees, both ways": (DOOR, joint("revolute", HINGE, INTO, -90, 0), "they are degrees", (-1.570796, 0)),
    "millimetres": (
        DRAWER,
        joint("prismatic", SLIDE, "1 0 0", 0, 300),
        "limits are millimetres. Mend: 0 to 0.3 m",
        (0, 0.3),
    ),
    "centimetres": (DRAWER, joint("prismatic", SLIDE, "1 0 0", 0, 25), "limits are centimetres", (0, 0.25)),
    "limits exchanged": (
        DOOR,
        joint("revolute", HINGE, OUT, 1.5, 0),
        "lower limit 1.5 above its upper one 0",
        (0, 1.5),
    ),
    "slide exchanged": (
        DRAWER,
        joint("prismatic", SLIDE, "1 0 0", 0.3, 0),
        "limit 0.3 above its upper one 0",
        (0, 0.3),
    ),
    "no range": (DOOR, joint("revolute", HINGE, OUT, 0, 0), "is revolute, and its limits are both 0", (0, 1.570796)),
    "no range of a slide": (
        DRAWER,
        joint("prismatic", SLIDE, "1 0 0", 0, 0),
        "limits are both 0. Mend: 0 to 0.28 m",
        (0, 0.28),
    ),
    "endless": (
        DOOR,
        joint("continuous", HINGE, OUT, 0, 0),
        "is continuous, and its part is a panel that turns",
        (0, 1.570796),
    ),
    "axis of a door": (DOOR, joint("revolute", HINGE, INTO, 0, 1.5), "leads its part into the body", (0, 1.5)),
    "limits of a door": (DOOR, joint("revolute", HINGE, OUT, -1.5, 0), "leads its part into the body", (-1.5, 0)),
    "axis of a drawer": (
        DRAWER,
        joint("prismatic", SLIDE, "-1 0 0", 0, 0.25),
        "leads its part into the body",
        (0, 0.25),
    ),
}


@pytest.mark.parametrize("case", MENDS)
def test_what_no_real_object_has_is_named_and_mended(case, tmp_path):
    part, element, text, limits = MENDS[case]
    path = write(tmp_path, part, element)
    found = said(path)
    assert any(text in line and "Mend: " in line for line in found), found
    mended = write_mended(read_source(path), find_doubts(read_source(path)), tmp_path / "mended", force=False)
    assert said(mended) == []
    (made,) = read_urdf(mended).joints.values()
    assert made.kind in ("revolute", "prismatic")
    assert (made.lower, made.upper) == pytest.approx(limits, abs=1e-4)
    articulation = annotate_source(read_source(mended)).articulation
    (entry,) = articulation.parts.values()
    assert entry.openness.closed == pytest.approx(0.0, abs=1e-6), "the part is closed as it is drawn"


def test_no_generated_object_is_doubted(tmp_path):
    for name in GENERATORS.names():
        path = tmp_path / f"{name}.urdf"
        path.write_text(GENERATORS.load(name)(1, name=name).model.to_urdf())
        found = said(path)
        if name == "pedal_bin":  # its lid is to fall: the pedal alone holds it
            assert len(found) == 1
            assert "let go, it falls" in found.pop()
        assert found == [], name


def test_a_link_without_colliders_among_others_with_them_is_named(tmp_path):
    seen = DOOR.partition("<collision")[0]
    path = write(tmp_path, seen, joint("revolute", HINGE, OUT, 0, 1.5))
    (doubt,) = find_doubts(read_source(path))
    assert doubt.text.startswith("link 'b' has no <collision>")
    mended = write_mended(read_source(path), [doubt], tmp_path / "mended", force=False)
    assert len(read_urdf(mended).links["b"].collisions) == 1
    assert said(mended) == []


def test_a_mended_file_keeps_the_rest_and_takes_its_meshes_along(tmp_path):
    (tmp_path / "meshes").mkdir()
    cube = "\n".join(f"v {x} {y} {z}" for x in (0, 0.02) for y in (0, 0.5) for z in (0, 0.4))
    faces = "f 1 3 2\nf 2 3 4\nf 5 6 7\nf 6 8 7\nf 1 2 5\nf 2 6 5\nf 3 7 4\nf 4 7 8\nf 1 5 3\nf 3 5 7\nf 2 4 6\nf 4 8 6"
    (tmp_path / "meshes" / "door.obj").write_text(f"{cube}\n{faces}\n")
    mesh = '<visual><geometry><mesh filename="package://other/door.obj"/></geometry></visual>'
    extra = joint("revolute", HINGE, OUT, 0, 90) + "<gazebo><static>true</static></gazebo>"
    path = write(tmp_path, mesh + mesh.replace("visual", "collision"), extra)
    mended = write_mended(
        read_source(path, packages=True), find_doubts(read_source(path, packages=True)), tmp_path / "m", force=False
    )
    text = mended.read_text()
    assert "<static>true</static>" in text
    assert 'filename="meshes/door.obj"' in text, text
    assert (tmp_path / "m" / "meshes" / "door.obj").is_file()
    with pytest.raises(AssetError, match="exists"):
        write_mended(
            read_source(path, packages=True), find_doubts(read_source(path, packages=True)), tmp_path / "m", force=False
        )


def cabinet(folder, case_unit, front_unit, scale=1.0, slide=0.3):
    """A cabinet with a drawer of two meshes, which have so many units per metre; the scale is that of the front."""

    def mesh(name, unit, size, at, scale):
        trimesh.creation.box([unit * v for v in size]).apply_translation([unit * v for v in at]).export(folder / name)
        shape = f'<geometry><mesh filename="{name}" scale="{scale} {scale} {scale}"/></geometry>'
        return f"<visual>{shape}</visual><collision>{shape}</collision>"

    case = mesh("case.stl", case_unit, (0.4, 0.5, 0.4), (0, 0, 0.2), 1.0)
    front = mesh("front.stl", front_unit, (0.02, 0.44, 0.2), (0.01, 0, 0), scale)
    return write(folder, front, joint("prismatic", SLIDE, "1 0 0", 0, slide), body=case)


@pytest.mark.parametrize(
    ("units", "said", "scales"),
    [
        ((1e3, 1e3), "the meshes are in millimetres. Mend: scale 0.001 of each mesh.", (1e-3, 1e-3)),
        ((1e2, 1e2), "the meshes are in centimetres. Mend: scale 0.01 of each mesh.", (1e-2, 1e-2)),
        ((1 / 0.0254, 1 / 0.0254), "the meshes are in inches. Mend: scale 0.0254 of each mesh.", (0.0254, 0.0254)),
        ((1e3, 1e3, 1e-3), "those of case.stl are in millimetres. Mend: 0.001 times the scale", (1e-3, 1e-3)),
        ((1e2, 1e3, 1e-3), "those of case.stl are in centimetres. Mend: 0.01 times the scale", (1e-2, 1e-3)),
        ((1e3, 1.0), "those of case.stl are in millimetres. Mend: 0.001 times the scale", (1e-3, 1.0)),
    ],
)
def test_meshes_in_another_unit_beside_joints_in_metres_are_scaled(tmp_path, units, said, scales):
    path = cabinet(tmp_path, *units)
    (doubt,) = find_doubts(read_source(path))
    assert said in doubt.text
    mended = read_urdf(write_mended(read_source(path), [doubt], tmp_path / "mended", force=False))
    for link, scale in zip(("a", "b"), scales, strict=True):
        shapes = (*mended.links[link].visuals, *mended.links[link].collisions)
        assert [shape.size for shape in shapes] == [pytest.approx((scale,) * 3)] * 2
    assert mended.joints["j"].upper == 0.3


def test_meshes_of_which_no_unit_fits_the_joints_have_no_mend(tmp_path):
    (doubt,) = find_doubts(read_source(cabinet(tmp_path, 1e5, 1e5)))
    assert doubt.text.endswith("the joints lie and slide within 0.3 m. Correct the scale of the meshes.")
    assert not doubt.has_mend


def test_of_an_sdf_the_urdf_that_was_made_of_it_is_mended(tmp_path):
    def link(name, size, at):
        shape = f"<geometry><box><size>{size}</size></box></geometry>"
        both = f"<visual name='v'>{shape}</visual><collision name='c'>{shape}</collision>"
        return f"<link name='{name}'><pose>{at} 0 0 0</pose>{both}</link>"

    limit = "<limit><lower>0</lower><upper>1e16</upper></limit>"
    axis = f"<axis><xyz>1 0 0</xyz>{limit}</axis>"
    slide = f"<joint name='j' type='prismatic'><parent>a</parent><child>b</child>{axis}</joint>"
    parts = link("a", "0.4 0.5 0.4", "0 0 0.2") + link("b", "0.02 0.44 0.2", "0.21 0 0.2")
    path = tmp_path / "chest.sdf"
    path.write_text(f"<sdf version='1.6'><model name='m'>{parts}{slide}</model></sdf>")
    source = read_source(path)
    assert [doubt.text.partition(".")[0] for doubt in find_doubts(source)] == ["joint 'j' has no limits"]
    mended = read_urdf(write_mended(source, find_doubts(source), tmp_path / "mended", force=False))
    assert 0.0 < mended.joints["j"].upper < 0.1


def test_a_button_is_pressed_into_its_body_and_is_not_doubted(tmp_path):
    button = box("0 0 0", "0.02 0.04 0.04")
    path = write(tmp_path, button, joint("prismatic", "0.21 0 0.25", "-1 0 0", 0, 0.006))
    assert said(path) == []


def test_a_button_that_stands_out_at_the_end_of_its_way_is_not_doubted(tmp_path):
    button = joint("prismatic", "0 0 0.1", "0 0 -1", 0, 0.024)
    stem, head = box("0 0 -0.02", "0.01 0.01 0.1"), box("0 0 0.032", "0.03 0.03 0.01")
    assert not said(write(tmp_path, stem + head, button, body=box("0 0 0.05", "0.1 0.1 0.1")))
    deeper = button.replace('upper="0.024"', 'upper="0.09"')
    assert (
        "leads its part into the body"
        in said(write(tmp_path, stem + head, deeper, body=box("0 0 0.05", "0.1 0.1 0.1")))[0]
    )


def test_a_reversed_drawer_whose_knob_stands_out_further_than_it_slides_is_doubted(tmp_path):
    drawer = boxes(("-0.1 0 0", "0.2 0.3 0.1"), ("0.03 0 0", "0.06 0.02 0.02"))
    path = write(tmp_path, drawer, joint("prismatic", SLIDE, "-1 0 0", 0, 0.05), body=box("0 0 0.2", "0.4 0.4 0.4"))
    assert [line.partition(" Mend: ")[2] for line in said(path)] == ["axis 1 0 0."]


def test_a_door_in_a_frame_may_turn_to_either_side(tmp_path):
    frame = boxes(("0 0.23 0.4", "0.06 0.05 0.8"), ("0 -0.23 0.4", "0.06 0.05 0.8"))
    door = box("0 -0.2 0", "0.03 0.4 0.7")
    for axis in ("0 0 1", "0 0 -1"):
        path = write(tmp_path, door, joint("revolute", "0 0.2 0.37", axis, 0, 1.6), body=frame)
        assert said(path) == [], axis


def test_a_lid_that_its_stated_friction_does_not_hold_is_named_and_mended(tmp_path):
    lid = inertial(1, "0.2 0 0") + box("0.2 0 0.01", "0.4 0.5 0.02")
    hinge = joint("revolute", "-0.2 0 0.4", "0 -1 0", 0, 1.5)
    for friction, lines in (("0", 0), ("1", 1), ("3", 0)):
        path = write(tmp_path, lid, hinge.replace("<limit", f'<dynamics friction="{friction}"/><limit'))
        found = said(path)
        assert len(found) == lines, (friction, found)
        if lines:
            assert "its part weighs up to 1.96 N m on it: let go, it falls. Mend: friction 2.55 N m" in found[0]
            mended = write_mended(read_source(path), find_doubts(read_source(path)), tmp_path / "mended", force=False)
            assert read_urdf(mended).joints["j"].friction == pytest.approx(1.3 * 1.962, abs=1e-3)


def test_the_friction_that_holds_a_heavy_lid_is_not_called_too_much(tmp_path):
    lid = inertial(60, "0.2 0 0") + box("0.2 0 0.01", "0.4 0.5 0.02")
    hinge = joint("revolute", "-0.2 0 0.4", "0 -1 0", 0, 1.5).replace("<limit", '<dynamics friction="0.5"/><limit')
    path = write(tmp_path, lid, hinge)
    (line,) = said(path)
    assert line.endswith("let go, it falls. Mend: friction 153 N m."), line
    mended = write_mended(read_source(path), find_doubts(read_source(path)), tmp_path / "mended", force=False)
    assert read_urdf(mended).joints["j"].friction == pytest.approx(1.3 * 60 * 9.81 * 0.2, abs=1e-3)
    assert said(mended) == []


def test_a_slider_that_is_too_long_in_any_unit_gets_a_usual_range(tmp_path):
    path = write(tmp_path, DRAWER, joint("prismatic", SLIDE, "1 0 0", 0, 1.2))
    assert said(path) == [
        "joint 'j' slides by 1.2 m, farther than the object, which measures 0.5 m. Mend: 0 to 0.28 m."
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (('<axis xyz="0 0 -1"/>', ""), "joint 'j' states no <axis>, so it is x, 1 0 0"),
        (('<axis xyz="0 0 -1"/>', '<axis xyz=""/>'), "joint 'j' states no <axis>, so it is x, 1 0 0"),
        (('<link name="b">', f'<link name="b">{inertial(9000)}'), "link 'b' weighs 9000 kg"),
        (('<collision><origin xyz="0.01 0.25 0.2"', '<collision><origin xyz="0 0.5 0.15"'), "beside its <visual>"),
    ],
)
def test_what_has_no_mend_is_named(change, text, tmp_path):
    path = write(tmp_path, DOOR, joint("revolute", HINGE, OUT, 0, 1.5))
    old, new = change
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert any(text in line for line in said(path)), said(path)


def test_a_door_that_turns_both_ways_opens_out_of_its_body(tmp_path):
    for axis, sign in ((OUT, 1.0), (INTO, -1.0)):
        path = write(tmp_path, DOOR, joint("revolute", HINGE, axis, -3.14, 3.14))
        (part,) = annotate_source(read_source(path)).articulation.parts.values()
        assert part.openness.closed == 0.0
        assert sign * part.openness.open > 1.5, axis


def test_an_origin_that_is_turned_by_degrees_is_named_and_mended(tmp_path):
    hinge = joint("revolute", HINGE, OUT, 0, 1.5).replace("<origin ", '<origin rpy="0 0 90" ')
    path = write(tmp_path, DOOR, hinge)
    (line,) = said(path)
    assert line == "rpy '0 0 90' of <origin> turns by more than a turn: it is in degrees. Mend: rpy '0 0 1.570796'."
    mended = write_mended(read_source(path), find_doubts(read_source(path)), tmp_path / "mended", force=False)
    (made,) = read_urdf(mended).joints.values()
    assert made.T_parent_joint.R[:, 0] == pytest.approx([0.0, 1.0, 0.0], abs=1e-5)


def test_only_origins_of_links_and_joints_are_read(tmp_path):
    sensor = '<gazebo reference="b"><sensor><origin rpy="0 0 pi"/><mesh scale="large"/></sensor></gazebo>'
    hinge = joint("revolute", HINGE, OUT, 0, 1.5).replace("<origin ", '<origin rpy="0 0 90" ')
    path = write(tmp_path, DOOR, hinge, sensor)
    assert len(said(path)) == 1
    mended = write_mended(read_source(path), find_doubts(read_source(path)), tmp_path / "mended", force=False)
    assert 'rpy="0 0 pi"' in mended.read_text()


def test_friction_and_damping_are_mended_at_once_if_each_is_too_much(tmp_path):
    hinge = joint("revolute", HINGE, OUT, 0, 1.5)
    path = write(tmp_path, DOOR, hinge.replace("</joint>", '<dynamics friction="200" damping="500"/></joint>'))
    (line,) = said(path)
    assert "has a damping of 500 N m/(rad/s) and a friction of 200 N m: at 0.5 rad/s, a hand must pull" in line
    assert line.endswith("Mend: no friction, no damping.")
    mended = write_mended(read_source(path), find_doubts(read_source(path)), tmp_path / "mended", force=False)
    assert said(mended) == []


@pytest.mark.parametrize(
    ("part", "element", "text"),
    [
        (
            DOOR,
            joint("revolute", HINGE, OUT, 0, 1.5),
            "has a damping of 500 N m/(rad/s): at 0.5 rad/s, a hand must pull",
        ),
        (DRAWER, joint("prismatic", SLIDE, "1 0 0", 0, 0.25), "has a damping of 2e+03 N/(m/s): at 0.1 m/s, a hand"),
    ],
)
def test_a_part_that_no_hand_moves_is_named_and_mended(part, element, text, tmp_path):
    damping = 500 if "revolute" in element else 2000
    path = write(tmp_path, part, element.replace("</joint>", f'<dynamics friction="1" damping="{damping}"/></joint>'))
    (line,) = said(path)
    assert text in line
    assert line.endswith("Mend: no damping.")
    mended = write_mended(read_source(path), find_doubts(read_source(path)), tmp_path / "mended", force=False)
    (made,) = read_urdf(mended).joints.values()
    assert (made.friction, made.damping) == (1.0, 0.0)


@pytest.mark.parametrize("axis", ["0 0 1", "0 0 -1"])
def test_an_axis_is_reversed_only_if_that_leads_the_door_out_of_the_body(axis, tmp_path):
    middle = box("0.01 0 0.2", "0.02 0.5 0.4")
    path = write(tmp_path, middle, joint("revolute", "0.2 0 0", axis, 0, 1.5))
    (doubt,) = find_doubts(read_source(path))
    assert doubt.text.endswith("Correct its axis or origin; a door or lid turns about one of its edges.")
    assert not doubt.has_mend
    with pytest.raises(AssetError, match="nothing to mend"):
        write_mended(read_source(path), [doubt], tmp_path / "mended", force=False)


def test_the_second_leaf_of_a_folding_door_may_move_in_while_the_first_one_is_open(tmp_path):
    leaf = box("0.01 0.125 0.2", "0.02 0.248 0.4")
    second = joint("revolute", "0 0.25 0", "0 0 1", 0, 3, name="k", child="c").replace(
        'parent link="a"', 'parent link="b"'
    )
    first = joint("revolute", HINGE, OUT, 0, 1.5)
    path = write(tmp_path, leaf, first, second)
    path.write_text(path.read_text().replace("</robot>", f'<link name="c">{leaf}</link></robot>'))
    assert said(path) == []


def test_a_drawer_that_slides_through_a_wall_has_no_mend(tmp_path):
    (doubt,) = find_doubts(read_source(write(tmp_path, DRAWER, joint("prismatic", SLIDE, "0 1 0", 0, 0.25))))
    assert doubt.text.endswith("and the reversed axis would, too. Correct its axis or origin.")
    assert not doubt.has_mend


def test_a_door_whose_axis_is_at_right_angles_to_it_is_named(tmp_path):
    (line,) = said(write(tmp_path, DOOR, joint("revolute", HINGE, "1 0 0", 0, 1.5)))
    assert "turns its panel in its own plane" in line


@pytest.mark.parametrize(
    ("part", "element"),
    [
        pytest.param(box("0 0 0", "0.34 0.38 0.01"), joint("revolute", "0 0 0.4", "0 1 0", 0, 1.2), id="bin"),
        pytest.param(box("0.01 0 0.2", "0.02 0.3 0.4"), joint("prismatic", "0 0 0", "0 1 0", 0, 0.25), id="pocket"),
    ],
)
def test_a_part_that_belongs_into_its_body_is_not_named(part, element, tmp_path):
    body = boxes(
        ("-0.19 0 0.2", "0.02 0.5 0.4"),
        ("0.19 0 0.2", "0.02 0.5 0.4"),
        ("0 -0.25 0.2", "0.4 0.1 0.4"),
        ("0 0.25 0.2", "0.4 0.1 0.4"),
    )
    assert said(write(tmp_path, part, element, body=body)) == []


@pytest.mark.parametrize("height", [0.1, 0.3])
def test_a_lid_that_is_as_large_as_its_box_is_not_named(height, tmp_path):
    tray, lid = box("0 0 0.1", "0.4 0.4 0.2"), box(f"0.2 0 {height / 2}", f"0.4 0.4 {height}")
    assert said(write(tmp_path, lid, joint("revolute", "-0.2 0 0.2", "0 -1 0", 0, 1.5), body=tray)) == []
