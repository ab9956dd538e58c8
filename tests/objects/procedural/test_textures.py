"""Textures of generated objects: what is drawn changes, what is simulated does not."""

import hashlib
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.objects.builders import edit, every_category, write_drawn
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.colours import TextureKind
from unlatch.objects.procedural.dressing import dress
from unlatch.objects.procedural.textured_files import textured_files, textured_mesh
from unlatch.objects.procedural.textures import draw_texture
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_store import mesh_dependencies
from unlatch.simcore.meshes.obj_file import read_textured_surface
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.visuals.pictures import framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import Shape, ShapeKind
from unlatch.simcore.urdf.reader import read_urdf

ALWAYS = {
    "cabinet": {TextureKind.wood},
    "carton": {TextureKind.cardboard},
    "door": set(),
    "drawer": {TextureKind.wood},
    "drawer_cabinet": {TextureKind.wood},
    "faucet": set(),
    "hand_wheel": {TextureKind.cast_metal},
    "safe": {TextureKind.hammered_metal},
}
"""Categories of which every instance has textures, and kinds that each of them shows."""
PICTURES = {
    "wood": "0f8164dfcf3bfd96",
    "painted_wood": "c9b3dcd9d1c1eeec",
    "brushed_metal": "b25b2acc9b3be54d",
    "hammered_metal": "03d5a42506b11db8",
    "cast_metal": "8b49d1bb5e31c8b4",
    "cardboard": "27f3a9828c6af1d0",
    "stone": "d692bcfd054ae286",
}
OBJECTS = {
    ("drawer", 4): "55b16ce4052f4708",
    ("hand_wheel", 0): "79b37f476a45061f",
    ("pot", 5): "209496c83dbe8885",
    ("carton", 0): "9f78595efd2e751d",
    ("mug", 0): "76e62b349fb9faea",
    ("cereal_box", 1): "d0171536a260114b",
    ("refrigerator", 0): "36192530697a83a7",
}
SHAPES = {
    "box": Shape(ShapeKind.box, (0.3, 0.5, 0.02), Pose.from_rpy([0.1, -0.2, 0.3], [0.4, 0.2, -0.7])),
    "cylinder": Shape(ShapeKind.cylinder, (0.06, 0.4), Pose.from_rpy([0.1, 0.2, 0.3], [1.2, 0.3, 0.1])),
    "sphere": Shape(ShapeKind.sphere, (0.07,), Pose.from_translation([0.1, 0.2, -0.3])),
}


def make(category, seed):
    return GENERATORS.load(category)(seed, name=category)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.mark.parametrize("kind", list(TextureKind))
def test_a_seed_gives_the_same_picture_on_every_machine(kind):
    assert digest(draw_texture(kind, stream(0, "test")).png) == PICTURES[kind.value]


@pytest.mark.parametrize(("category", "seed"), list(OBJECTS))
def test_a_seed_gives_the_same_files_on_every_machine(category, seed):
    model, files = textured_files(make(category, seed))
    text = b"".join(name.encode() + data for name, data in sorted(files.items()))
    assert digest(model.to_urdf().encode() + text) == OBJECTS[category, seed]


@pytest.mark.parametrize("kind", list(TextureKind))
def test_a_picture_repeats_without_a_seam_and_instances_differ(kind):
    shades = []
    for seed in range(2):
        texture = draw_texture(kind, stream(seed, "test"))
        levels = np.asarray(Image.open(io.BytesIO(texture.png)).convert("RGB")).astype(float)  # (H, W, 3)
        np.testing.assert_allclose(levels.mean(axis=(0, 1)) / 255.0, texture.mean, atol=1e-6)
        for axis in (0, 1):
            steps = np.abs(np.diff(levels, axis=axis)).mean(axis=(1 - axis, 2))
            seam = np.abs(np.take(levels, 0, axis=axis) - np.take(levels, -1, axis=axis)).mean()
            assert seam <= 1.1 * steps.max(), (seed, axis)
        assert levels.std() > 2.0, "it can be seen"
        shades.append(texture.png)
    assert len(set(shades)) == 2


@pytest.mark.parametrize("kind", [TextureKind.wood, TextureKind.brushed_metal, TextureKind.cardboard])
@pytest.mark.parametrize("shape", ["box", "cylinder"])
def test_a_picture_lies_on_flat_and_round_faces_in_metres(shape, kind):
    texture = draw_texture(kind, stream(0, "test"))
    mesh = textured_mesh(SHAPES[shape], texture, stream(1, "test"))
    corners = mesh.vertices[mesh.faces]  # (F, 3, 3)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    places = mesh.uvs[mesh.faces] * texture.size_m  # (F, 3, 2)
    a, b = places[:, 1] - places[:, 0], places[:, 2] - places[:, 0]
    covered = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
    # round a cylinder the picture goes a whole number of times
    wide = texture.size_m[0 if kind is TextureKind.brushed_metal else 1]
    around = 2 * np.pi * 0.06
    stretch = wide * max(1, round(around / wide)) / around if shape == "cylinder" else 1.0
    ratios = covered / area
    sides = np.isclose(ratios, stretch, rtol=5e-3)
    assert np.all(sides | np.isclose(ratios, 1.0, rtol=5e-3)), ratios


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_mesh_is_the_primitive_and_faces_outwards(shape):
    primitive = SHAPES[shape]
    mesh = textured_mesh(primitive, draw_texture(TextureKind.wood, stream(0, "test")), stream(1, "test"))
    assert mesh.uvs.min() >= 0.0, "Bullet draws black below 0"
    expected = primitive.T_link_shape @ shape_mesh(primitive).vertices
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), np.ptp(expected, axis=0), atol=1e-3)
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    kept = np.linalg.norm(normals, axis=1) > 1e-12  # a ball's poles
    outward = np.einsum("fi,fi->f", normals, mesh.normals[mesh.faces].mean(axis=1))
    from_middle = np.einsum("fi,fi->f", normals, corners.mean(axis=1) - primitive.T_link_shape.p)
    assert np.all(outward[kept] > 0)
    assert np.all(from_middle[kept] > 0)
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-9)


@every_category
def test_textures_change_no_colliders_and_all_files_are_there(category, tmp_path):
    seed = next((seed for seed in range(12) if make(category, seed).textures), 0)
    made = make(category, seed)
    model, files = textured_files(made)
    read = read_urdf(write_drawn(made, tmp_path))
    assert model.joints == made.model.joints
    named = set()
    for name, link in read.links.items():
        assert model.links[name].collisions == made.model.links[name].collisions
        assert model.links[name].inertial == made.model.links[name].inertial
        stalk_m = 0.009 if category == "apple" else 0.0  # that of an orange is short
        larger = seen_bounds(link) - seen_bounds(made.model.links[name])
        np.testing.assert_allclose(larger, np.zeros((2, 3)), atol=2e-3 + stalk_m)
        np.testing.assert_allclose(larger[:, :2], np.zeros((2, 2)), atol=2e-3)
        for shape in link.visuals:
            if shape.path is not None:
                named |= {shape.path.resolve(), *mesh_dependencies(shape.path, tmp_path.resolve()).values()}
    assert {path.name for path in named} == set(files)
    if category in ALWAYS:
        kinds = {Path(name).stem for name in files if name.endswith(".png")}
        assert {kind.value for kind in ALWAYS[category]} <= kinds
        assert all(make(category, other).textures for other in range(12))


def test_a_texture_does_not_darken_a_colour(tmp_path):
    made = make("carton", 0)
    (rgba,) = [colour for colour in made.textures if colour == made.model.links["body"].visuals[0].rgba]
    rgba = dress(made, stream(0, "assets.procedural.carton.looks")).colours[rgba]
    model, files = textured_files(made)
    tinted = model.links["body"].visuals[0].rgba
    shades = np.asarray(Image.open(io.BytesIO(files["cardboard.png"])).convert("RGB")).mean(axis=(0, 1)) / 255.0
    np.testing.assert_allclose(np.array(tinted[:3]) * shades, rgba[:3], atol=2e-3)


def test_a_side_that_another_link_touches_has_sharp_edges():
    """A groove between a door and its case is narrower than a pixel, and would be a dashed line."""
    low, high = dress(make("microwave", 0), stream(0, "test")).bevels["door", "slab"]
    assert low[0] == 0.0 < high[0], "the back of the door, and its front"


@pytest.mark.parametrize(("category", "seed", "link"), [("pot", 0, "lid"), ("microwave", 0, "body")])
def test_glass_shows_what_is_behind_it(category, seed, link):
    made = make(category, seed)
    clear = [shape for shape in textured_files(made)[0].links[link].visuals if shape.rgba[3] < 1.0]
    assert clear
    assert all(shape.rgba[3] == 1.0 for shape in made.model.links[link].visuals), "colours of the object stay"


def test_bread_in_a_toaster_has_a_crust_and_a_crumb():
    made = make("toaster", 0)
    dressed = dress(made, stream(0, "test"))
    assert any(shape.name.startswith("slice_") for shape in made.model.links["body"].visuals)
    assert not any(shape.name.startswith(("slice_", "crust_")) for shape in dressed.shapes["body"])
    assert {"cloth", "cardboard"} <= {piece.finish for piece in dressed.pieces["body"]}


@pytest.mark.parametrize("name", ["slice_3", "crust_3"])
def test_only_what_has_the_colour_of_bread_is_drawn_as_bread(name):
    made = make("drawer", 0)
    first, *others = made.model.links["body"].visuals
    body = replace(made.model.links["body"], visuals=(replace(first, name=name), *others))
    made = replace(made, model=replace(made.model, links={**made.model.links, "body": body}))
    assert name in [shape.name for shape in dress(made, stream(0, "test")).shapes["body"]]


@pytest.mark.integration
def test_bullet_draws_the_grain(tmp_path):
    made = make("drawer", 4)
    plain = tmp_path / "plain.urdf"
    plain.write_text(made.model.to_urdf())
    contrasts = []
    for path in (plain, write_drawn(made, tmp_path / "drawn")):
        with World(WorldCfg(), visuals=True) as world:
            world.load_urdf(path, name="object", T_world_root=Pose.identity())
            top = framing_camera(np.array([[-0.1, -0.1, 0.34], [0.1, 0.1, 0.34]]), (0.0, -0.2, 1.0), fov_deg=20.0)
            picture = take_picture(world, top, width=120, height=120).astype(float)
        middle = picture[40:80, 40:80]
        contrasts.append(middle.std(axis=(0, 1)).max())
    assert contrasts[0] < 2.0 < 6.0 < contrasts[1], contrasts


@pytest.mark.parametrize("category", ["safe", "bottle"])
def test_an_episode_without_pictures_writes_no_texture(category):
    cfg = ObjectCfg(name="thing", category=category, instance="0")
    asset = load_object(cfg, rng=np.random.default_rng(0))
    assert sorted(path.name for path in asset.urdf_path.parent.iterdir()) == ["articulation.yaml", "object.urdf"]
    links = read_urdf(asset.urdf_path).links.values()
    assert all(shape.kind is not ShapeKind.mesh for link in links for shape in link.visuals)
    drawn = asset.drawn_urdf()
    assert drawn != asset.urdf_path
    assert read_urdf(drawn).joints.keys() == read_urdf(asset.urdf_path).joints.keys()


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "wood.png").rename(folder.parent / "wood.png"),
        lambda folder: edit(folder / "body_wood_0.mtl", ("map_Kd wood.png", "map_Kd ../wood.png")),
        lambda folder: edit(folder / "body_wood_0.mtl", ("newmtl", "newmtl other")),
        lambda folder: edit(folder / "body_wood_0.obj", ("vt ", "vx ")),
        lambda folder: edit(folder / "body_wood_0.obj", ("f 1/1/1", "f 1//1")),
        lambda folder: edit(folder / "body_wood_0.obj", ("v ", "v nan ")),
    ],
)
def test_a_surface_with_a_missing_picture_is_plain(change, tmp_path):
    folder = tmp_path / "asset"
    folder.mkdir()
    (tmp_path / "wood.png").write_bytes(b"another")
    for name, data in textured_files(make("drawer", 4))[1].items():
        (folder / name).write_bytes(data)
    assert read_textured_surface(folder / "body_wood_0.obj", folder) is not None
    change(folder)
    assert read_textured_surface(folder / "body_wood_0.obj", folder) is None


def seen_bounds(link):
    """(2, 3) bounds of what is seen of a link [m]."""
    clouds = [shape.T_link_shape @ shape_mesh(shape).vertices for shape in link.visuals]
    points = np.concatenate(clouds)
    return np.stack([points.min(axis=0), points.max(axis=0)])
