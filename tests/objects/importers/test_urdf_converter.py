"""Every field of the URDF converter by its effect, and mutated URDFs: converted or refused, never anything else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pybullet as p
import pytest
import trimesh

from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.urdf.model import Follows
from unlatch.simcore.urdf.reader import read_urdf

KNOB_M3 = 0.04 * 0.05 * 0.06
DOOR_M3 = 0.076 / 8
DOOR_FACE_M2 = (0.19 + 0.4 * 4 / 2) / 4
INERTIA = '<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/>'


def convert(path, **values):
    values = {"fix_base": True, "out_dir": str(path.parents[1] / "out"), **values}
    return UrdfConverter(UrdfConverterCfg(asset_path=str(path), **values))


def model_of(made):
    return read_urdf(made.urdf_path)


def inertials(path, **values):
    return {name: link.inertial for name, link in model_of(convert(path, **values)).links.items()}


def masses(path, **values):
    found = inertials(path, **values)
    return [found[name].mass_kg for name in ("door", "knob", "body")]


def physics(made):
    return json.loads(Path(made.physics_path).read_text())


@pytest.fixture
def load(client):
    """Loads what was converted; returns the body and the numbers of its links by name."""

    def loaded(made):
        body = p.loadURDF(made.urdf_path, flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client)
        infos = (p.getJointInfo(body, n, physicsClientId=client) for n in range(p.getNumJoints(body, client)))
        return body, {info[12].decode(): info[0] for info in infos}

    return loaded


@pytest.fixture
def extents(client, load):
    """Extents of the body of what was converted."""

    def measured(made):
        body, links = load(made)
        return np.ptp(p.getAABB(body, links["body"], physicsClientId=client), axis=0)

    return measured


@pytest.mark.parametrize("fixed", [True, False])
def test_only_a_fixed_base_stays_where_it_is(fixed, cabinet, client, load):
    body, links = load(convert(cabinet, fix_base=fixed))
    p.setGravity(0, 0, -9.81, physicsClientId=client)

    def height():
        if "body" not in links:
            return p.getBasePositionAndOrientation(body, physicsClientId=client)[0][2]
        return p.getLinkState(body, links["body"], physicsClientId=client)[0][2]

    before = height()
    for _ in range(120):
        p.stepSimulation(physicsClientId=client)
    assert height() == pytest.approx(before, abs=1e-6) if fixed else before - height() > 0.5


def test_density_is_for_links_without_inertial_only(cabinet):
    assert masses(cabinet, link_density=500.0) == pytest.approx([500 * DOOR_M3, 500 * KNOB_M3, 8.0], rel=1e-4)
    # 500 kg/m^3 give half of a thin link's mass by its face
    by_face = masses(cabinet, link_density=500.0, link_face_density=40.0)
    assert by_face == pytest.approx([40 * DOOR_FACE_M2, 40 * 0.05 * 0.06, 8.0], rel=1e-4)


def test_without_density_a_missing_inertial_comes_from_the_volume_with_a_notice(cabinet):
    made = convert(cabinet)
    assert model_of(made).links["door"].inertial.mass_kg == pytest.approx(1000 * DOOR_M3, rel=1e-4)
    assert any("no inertial on door, knob" in notice for notice in made.notices)


def test_the_fallback_may_be_the_identity(cabinet, client, load):
    body, links = load(convert(cabinet, inertia_fallback="identity"))
    mass, _, inertia = p.getDynamicsInfo(body, links["door"], physicsClientId=client)[:3]
    assert (mass, inertia) == (pytest.approx(1.0), pytest.approx((1.0, 1.0, 1.0)))


@pytest.mark.parametrize("imported", [True, False])
def test_the_tensor_is_the_files_or_that_of_the_shape(imported, cabinet, client, load):
    body, links = load(convert(cabinet, import_inertia_tensor=imported))
    mass, _, inertia = p.getDynamicsInfo(body, links["body"], physicsClientId=client)[:3]
    assert mass == pytest.approx(8.0)
    if imported:
        assert sorted(inertia) == pytest.approx([0.2, 0.3, 0.4])
    else:
        assert abs(sorted(inertia)[2] - 0.4) > 0.3  # an L of 8 kg and a metre has more than a box of the file


def test_a_mass_without_an_inertia_is_kept(edited):
    inertial = inertials(edited((INERTIA, "")))["body"]
    assert inertial.mass_kg == pytest.approx(8.0)
    assert np.linalg.eigvalsh(inertial.inertia)[0] > 0.1


@pytest.mark.parametrize("izz", ["-0.4", "9.0"])
def test_an_impossible_inertia_is_replaced_with_a_notice(izz, edited):
    made = convert(edited(('izz="0.4"', f'izz="{izz}"')))
    moments = np.linalg.eigvalsh(model_of(made).links["body"].inertial.inertia)
    assert 0 < moments[2] <= moments[0] + moments[1]
    assert moments[0] > 0
    assert any("link 'body'" in notice for notice in made.notices)


@pytest.mark.parametrize(("decompose", "height"), [(False, 0.5), pytest.param(True, 0.1, marks=pytest.mark.slow)])
def test_a_decomposed_mesh_leaves_its_corner_free(decompose, height, cabinet, client, load):
    load(convert(cabinet, convex_decompose_mesh=decompose))
    (hit,) = p.rayTestBatch([(0.6, 0.2, 2.0)], [(0.6, 0.2, -1.0)], physicsClientId=client)
    assert hit[3][2] == pytest.approx(height, abs=0.012)


def test_merged_links_keep_mass_centre_and_shape(cabinet, tmp_path, client, load):
    before = inertials(cabinet, link_density=500.0)
    merged = convert(cabinet, link_density=500.0, merge_fixed_joints=True, out_dir=str(tmp_path / "merged"))
    model = model_of(merged)
    assert (set(model.links), set(model.joints)) == ({"world", "body", "door"}, {"fixed_base", "hinge"})
    one, door, knob, shift = model.links["door"].inertial, before["door"], before["knob"], np.array([0.1, 0, 0])
    assert one.mass_kg == pytest.approx(door.mass_kg + knob.mass_kg)
    com = (door.mass_kg * door.com_link + knob.mass_kg * (knob.com_link + shift)) / one.mass_kg
    np.testing.assert_allclose(one.com_link, com, atol=1e-7)

    def about_origin(inertial, d):
        return inertial.inertia + inertial.mass_kg * (d @ d * np.eye(3) - np.outer(d, d))

    expected = about_origin(door, door.com_link) + about_origin(knob, knob.com_link + shift)
    np.testing.assert_allclose(about_origin(one, one.com_link), expected, atol=1e-7)
    body, links = load(merged)
    low = p.getAABB(body, links["door"], physicsClientId=client)[0]
    assert low[1] < 0.5 - 0.02  # the knob sticks out behind the hinge


@pytest.mark.parametrize(
    ("mark", "stays"),
    [
        ('type="fixed" dont_collapse="true">', True),
        ('type="fixed"><dont_collapse value="true"/>', True),
        ('type="fixed"><dont_collapse>true</dont_collapse>', True),
        ('type="fixed" dont_collapse="false">', False),
    ],
)
def test_a_joint_marked_dont_collapse_stays(mark, stays, edited):
    links = model_of(convert(edited(('type="fixed">', mark)), merge_fixed_joints=True, fix_base=False)).links
    assert set(links) == {"body", "door", *(["knob"] if stays else [])}


@pytest.mark.parametrize("override", [False, True])
@pytest.mark.parametrize("kind", [None, "none", "position", "velocity"])
def test_drives_by_type_and_override(kind, override, cabinet):
    values = {} if kind is None else {"default_drive_type": kind}
    gains = {"default_drive_stiffness": 30.0, "default_drive_damping": 4.0, "override_joint_dynamics": override}
    made = convert(cabinet, **gains, **values)
    damping = 4.0 if override else 0.7
    found = physics(made)["drives"]["hinge"]
    assert found["stiffness"] == (30.0 if kind == "position" else 0.0)
    assert found["damping"] == (damping if kind in ("position", "velocity") else 0.0)
    assert (found["max_effort"], found["max_velocity"]) == (20.0, 3.0)
    assert model_of(made).joints["hinge"].damping == pytest.approx(damping)


def test_the_configured_damping_fills_in_where_the_file_has_none(edited):
    path = edited(('<dynamics damping="0.7" friction="0.2"/>', ""))
    made = convert(path, default_drive_type="velocity", default_drive_damping=4.0)
    assert physics(made)["drives"]["hinge"]["damping"] == 4.0


@pytest.mark.parametrize("wanted", [True, False])
def test_self_collision_is_stated_beside_the_urdf(cabinet, wanted):
    assert physics(convert(cabinet, self_collision=wanted))["self_collision"] is wanted


def test_joints_keep_frame_limits_and_axis(cabinet):
    before, after = read_urdf(cabinet).joints["hinge"], model_of(convert(cabinet)).joints["hinge"]
    assert (after.lower, after.upper, after.friction) == (-0.5, 1.5, 0.2)
    np.testing.assert_allclose(after.axis, [0, 1, 0], atol=1e-9)
    for position in (-0.5, 0.0, 1.5):
        np.testing.assert_allclose(after.child_pose(position).matrix, before.child_pose(position).matrix, atol=1e-8)


def test_scale_keeps_the_density(cabinet, tmp_path, extents):
    one = convert(cabinet, link_density=500.0)
    half = convert(cabinet, link_density=500.0, scale=0.5, out_dir=str(tmp_path / "half"))
    for name in ("body", "door", "knob"):
        big, small = (model_of(made).links[name].inertial for made in (one, half))
        assert small.mass_kg == pytest.approx(big.mass_kg / 8, rel=1e-5)
        np.testing.assert_allclose(small.inertia, big.inertia / 32, atol=2e-8)
    np.testing.assert_allclose(extents(half), extents(one) / 2, atol=0.01)
    np.testing.assert_allclose(model_of(half).joints["hinge"].T_parent_joint.p, [0, 0.25, 0.1], atol=1e-9)


def test_a_link_without_colliders_gets_them_from_what_is_seen(edited, client, load):
    body, links = load(
        convert(edited(('<collision><geometry><mesh filename="angle.obj"/></geometry></collision>\n', "")))
    )
    assert len(p.getCollisionShapeData(body, links["body"], physicsClientId=client)) >= 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('type="revolute"', 'type="fixed"', "rigid object"),
        ("<link name", '<transmission name="t"/><link name', "<transmission> is not carried over"),
    ],
)
def test_a_notice_names_what_is_not_carried_over(edited, old, new, said):
    assert any(said in notice for notice in convert(edited((old, new))).notices)


def test_a_joint_that_follows_another_does_so_in_the_output_unless_it_shall_be_normal(edited):
    path = edited(("<limit lower", '<mimic joint="screw" multiplier="2" offset="0.1"/><limit lower'))
    assert model_of(convert(path)).joints["hinge"].follows == Follows("screw", 2.0, 0.1)
    assert model_of(convert(path, convert_mimic_joints_to_normal_joints=True)).joints["hinge"].follows is None


@pytest.mark.parametrize("suffix", ["stl", "ply", "glb"])
def test_meshes_of_other_formats_come_out_as_obj(suffix, edited, extents):
    path = edited(("angle.obj", f"angle.{suffix}"))
    trimesh.load_mesh(path.parent / "angle.obj").export(path.parent / f"angle.{suffix}")
    made = convert(path)
    assert {shape.mesh.rpartition(".")[2] for shape in model_of(made).links["body"].visuals} == {"obj"}
    np.testing.assert_allclose(extents(made), [1.0, 0.4, 1.0], atol=0.02)  # not turned: a URDF says where things are


DOCTYPE = '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><robot name'
BAD = {
    "broken XML": ("</robot>", "</robo", "not well-formed XML"),
    "entity bomb": ("<robot name", DOCTYPE, "DOCTYPE or an ENTITY"),
    "missing mesh": ("angle.obj", "gone.obj", "file 'gone.obj' is missing"),
    "path escape": ("angle.obj", "../../etc/passwd", "leads out of the asset's folder"),
    "absolute path": ("angle.obj", "/etc/passwd", "not a path relative"),
    "URL": ("angle.obj", "http://example.org/a.obj", "not a path relative"),
    "zero scale": ("0.5 0.5 0.5", "0.5 0 0.5", "scale 0.5 0 0.5"),
    "negative size": ("0.04 0.05 0.06", "0.04 -0.05 0.06", "expected numbers of 0 or more"),
    "NaN size": ("0.04 0.05 0.06", "0.04 nan 0.06", "finite numbers"),
    "joint loop": ('<parent link="body"/>', '<parent link="knob"/>', "root links|loop"),
    "unknown link": ('<child link="knob"/>', '<child link="nob"/>', "names link 'nob'"),
    "negative mass": ('<mass value="8"/>', '<mass value="-8"/>', "mass of -8 kg"),
    "NaN mass": ('<mass value="8"/>', '<mass value="nan"/>', "nan"),
    "1 km": ('<geometry><box size="0.04', '<geometry><box size="1000', "m large, expected"),
    "limits swapped": ('lower="-0.5" upper="1.5"', 'lower="1.5" upper="-0.5"', "above the upper one"),
    "unknown joint": ('type="revolute"', 'type="ball"', "is of type 'ball'"),
    "zero axis": ("0 2 0", "0 0 0", "axis of length 0"),
    "negative damping": ('damping="0.7"', 'damping="-0.7"', "damping=-0.7"),
    "unknown format": ("angle.obj", "angle.txt", "not a supported mesh format"),
    "no shape": (None, '<robot name="r"><link name="a"/></robot>', "no link has a shape"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_error_and_leaves_nothing(name, edited, cabinet):
    old, new, message = BAD[name]
    (cabinet.parent / "angle.txt").write_text("x")
    if old is None:
        cabinet.write_text(new)
    else:
        edited((old, new))
    before = sorted(cabinet.parents[1].rglob("*"))
    with pytest.raises(AssetError, match=message) as caught:
        convert(cabinet)
    assert "cabinet.urdf" in caught.value.message
    assert sorted(cabinet.parents[1].rglob("*")) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("", "no triangle"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 7\n", "vertex 7 of 3"),
    ],
)
def test_a_damaged_mesh_of_a_urdf_is_named(content, message, cabinet):
    (cabinet.parent / "angle.obj").write_text(content)
    with pytest.raises(AssetError, match=message):
        convert(cabinet)
    assert not (cabinet.parents[1] / "out").exists()


@pytest.mark.slow  # CoACD closes it over a grid first
def test_an_open_mesh_is_no_error(cabinet, load):
    path = cabinet.parent / "angle.obj"
    path.write_text("\n".join(path.read_text().splitlines()[:-3]))  # three triangles are missing
    load(convert(cabinet, convex_decompose_mesh=True))


def test_names_are_kept_and_those_that_are_alike_as_files_have_their_own_colliders(edited, load, tmp_path):
    path = edited(('"door"', '"Tür 扉"'), ('"hinge"', '"Gelenk ß"'))
    made = convert(path, default_drive_type="position", out_dir=str(tmp_path / "unicode"))
    assert "Tür 扉" in model_of(made).links
    assert "Tür 扉" in load(made)[1]
    mesh = ('<box size="0.04 0.05 0.06"/>', '<mesh filename="angle.obj"/>')
    links = model_of(convert(edited(('"Tür 扉"', '"a b"'), ('"knob"', '"a_b"'), mesh))).links
    files = {links[name].collisions[0].mesh for name in ("a b", "a_b")}
    assert len(files) == 2
    assert all((path.parents[1] / "out" / file).is_file() for file in files)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"link_density": -1.0}, "link_density"),
        ({"default_drive_stiffness": float("nan")}, "default_drive_stiffness"),
        ({"default_drive_damping": -2.0}, "default_drive_damping"),
        ({"default_drive_type": "effort"}, "default_drive_type"),
        ({"inertia_fallback": "guess"}, "inertia_fallback"),
        ({"scale": 0.0}, "scale"),
    ],
)
def test_a_wrong_value_names_its_field(values, key):
    with pytest.raises(ConfigError) as caught:
        UrdfConverterCfg(asset_path="a.urdf", fix_base=True, **values)
    assert caught.value.values["key"] == key
    assert key in caught.value.message
    with pytest.raises(ConfigError, match="fix_base"):
        UrdfConverterCfg(asset_path="a.urdf")


CASES, CHUNK = 600, 60
LIMIT_S = 240.0
"""A chunk takes seconds; one that hangs is ended, and fails."""

_VALUES = (
    "", "nan", "inf", "-1", "0", "1e308", "-1e308", "1e-320", "1e999", "0 0 0", "1 2", "a b c", "\u202e\u0660",
    "../../x", "angle.obj", "body", "door", "world", "fixed_base", "revolute", "continuous", "prismatic", "floating",
    "\uffff", "1" * 400, "' or 1=1", "%s%n", "1 1 1 1 1 1 1", "-0.5 -0.5 -0.5",
)  # fmt: skip
_PIECES = (
    "<link/>", "<link name='door'/>", "<joint/>", "</robot>", "<robot>", "<mimic joint='hinge'/>", "<!-- ", "-->", "<",
    "<![CDATA[", "]]>", "&amp;", "&x;", "<!DOCTYPE a>", "\x00", "<visual/>", "<collision/>",
    "<inertial/>", "<geometry/>", "<inertial><mass value='1'/></inertial>",
    "<link name='n'><visual><geometry><sphere radius='1'/></geometry></visual></link>",
)  # fmt: skip


def mutated(text, rng):
    """A URDF with one to four changes: values, removed or doubled lines, inserted pieces, flipped bytes, a cut."""

    def one_of(items):
        return int(rng.integers(len(items)))

    for _ in range(int(rng.integers(1, 5))):
        lines, kind = text.split("\n"), int(rng.integers(7))
        n = one_of(lines)
        if kind == 0:
            del lines[n]
        elif kind == 1:
            lines.insert(n, lines[one_of(lines)])
        elif kind == 2:
            lines.insert(n, _PIECES[one_of(_PIECES)])
        elif kind == 3 and len(lines) > 2:
            other = one_of(lines)
            lines[n], lines[other] = lines[other], lines[n]
        text = "\n".join(lines)
        quotes = [k for k, character in enumerate(text) if character == '"']
        if kind in (4, 5) and len(quotes) >= 2:
            k = 2 * int(rng.integers(len(quotes) // 2))
            text = text[: quotes[k] + 1] + _VALUES[one_of(_VALUES)] + text[quotes[k + 1] :]
        elif kind == 6 and text:
            k = one_of(text)
            text = text[:k] if rng.random() < 0.2 else text[:k] + chr(int(rng.integers(1, 300))) + text[k + 1 :]
    return text.encode("utf-8", errors="surrogatepass")


def run_cases(path, start):
    """Converts the cases of one chunk in this process; what is converted must load in Bullet. Returns the counts."""
    text, counts, client = path.read_text(), {"converted": 0, "refused": 0}, p.connect(p.DIRECT)
    for seed in range(start, start + CHUNK):
        case, out = path.with_name("case.urdf"), path.parents[1] / f"out{seed}"
        case.write_bytes(mutated(text, np.random.default_rng([20, seed])))
        try:
            made = convert(case, out_dir=str(out), fix_base=bool(seed % 2), merge_fixed_joints=bool(seed % 3))
        except AssetError:
            counts["refused"] += 1
            if out.exists() or list(out.parent.glob(".writing-*")):
                raise RuntimeError(f"case {seed} was refused and left something behind") from None
            continue
        p.resetSimulation(physicsClientId=client)
        if p.loadURDF(made.urdf_path, flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client) < 0:
            raise RuntimeError(f"case {seed} does not load")
        for _ in range(3):
            p.stepSimulation(physicsClientId=client)
        counts["converted"] += 1
    p.disconnect(client)
    return f"{counts['converted']} {counts['refused']}"


@pytest.mark.slow
def test_mutated_urdfs_are_converted_or_refused(cabinet):
    converted = refused = 0
    for start in range(0, CASES, CHUNK):
        # in a process of its own: a crash of native code is a failure of this test, not the end of all tests
        command = [sys.executable, __file__, str(cabinet), str(start)]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        child = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=env)
        assert child.returncode == 0, f"cases from {start}: {child.stderr[-2000:]}"
        good, bad = map(int, child.stdout.split()[-2:])
        converted, refused = converted + good, refused + bad
    assert converted + refused == CASES >= 500
    assert converted > 50
    assert refused > 100


if __name__ == "__main__":
    sys.stdout.write("\n" + run_cases(Path(sys.argv[1]), int(sys.argv[2])) + "\n")


def test_a_mesh_without_triangles_beside_other_shapes_is_left_out_and_named(edited):
    extra = '<visual><geometry><mesh filename="guide.obj"/></geometry></visual></link>'
    path = edited(("</link>", extra))
    (path.parent / "guide.obj").write_text("v 0 0 0\nv 1 0 0\nl 1 2\n")
    line = "mesh 'guide.obj' of link 'body' has no triangle: it is left out"
    assert line in convert(path).notices
    assert line in annotate_source(read_source(path)).notices
