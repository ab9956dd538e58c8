"""The files of a generated object with textures.

Neither Bullet nor MuJoCo draws a texture on a primitive of a URDF, so a visual with a texture becomes an OBJ with
texture coordinates. Colliders stay primitives, and a simulation without pictures never loads these files.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour
from unlatch.objects.procedural.building.generated_object import GeneratedObject
from unlatch.objects.procedural.building.textured_mesh import textured_mesh
from unlatch.objects.procedural.building.textures import Texture, TextureKind, draw_texture
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.scratch import scratch_files
from unlatch.simcore.sim.visuals.finish import FINISHES
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

MATERIAL_FILE = "object.mtl"


def textured_files(made: GeneratedObject) -> tuple[UrdfModel, dict[str, bytes]]:
    """Returns the model with textures on its visuals, and its files: OBJ, MTL and PNG, all beside the URDF.

    They are drawn from a stream of their own, so that size, mass and joints of a seed do not depend on them. Without
    textures, the model is the object's own and there are no files.
    """
    if not made.textures:
        return made.model, {}
    articulation = made.articulation
    rng = stream(int(articulation.source["id"]), f"assets.procedural.{articulation.category}.textures")
    # in the order of the enum, whatever the order of the parts
    pictures = {kind: draw_texture(kind, rng) for kind in TextureKind if kind in made.textures.values()}
    files = {f"{kind.value}.png": texture.png for kind, texture in pictures.items()}
    materials: list[str] = []
    links = {}
    for name, link in made.model.links.items():
        groups: dict[Colour, list[Shape]] = defaultdict(list)
        for shape in link.visuals:
            if shape.rgba in made.textures:
                groups[shape.rgba].append(shape)
        meshes: dict[Colour, Shape] = {}
        for number, (rgba, shapes) in enumerate(groups.items()):
            texture = pictures[made.textures[rgba]]
            label, tinted = f"{name}_{texture.kind.value}_{number}", _tint_texture(rgba, texture)
            file = f"{label}.obj"
            files[file] = _write_obj(shapes, texture, rng, material=label).encode()
            materials += _write_material(label, tinted, texture)
            meshes[rgba] = Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), label, tinted, mesh=file)
        plain = tuple(shape for shape in link.visuals if shape.rgba not in meshes)
        links[name] = replace(link, visuals=(*meshes.values(), *plain))
    files[MATERIAL_FILE] = "\n".join([*materials, ""]).encode()
    return UrdfModel(made.model.name, links, made.model.joints), files


def write_textured_urdf(made: GeneratedObject, name: str, urdf_file: str) -> Path:
    """Writes the URDF for rendering to the folder `name` of the scratch folder, and returns its path.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    model, files = textured_files(made)
    return scratch_files(f"{name}-drawn", {urdf_file: model.to_urdf().encode(), **files}) / urdf_file


def _tint_texture(rgba: Colour, texture: Texture) -> Colour:
    """Returns the colour that looks, multiplied with a texture, as bright as the given colour alone."""
    red, green, blue = (min(1.0, round(value / mean, 4)) for value, mean in zip(rgba, texture.mean, strict=False))
    return (red, green, blue, rgba[3])


def _write_obj(shapes: list[Shape], texture: Texture, rng: np.random.Generator, *, material: str) -> str:
    lines, count = [f"mtllib {MATERIAL_FILE}", f"usemtl {material}"], 1
    for shape in shapes:
        mesh = textured_mesh(shape, texture, rng)
        lines += mesh.obj_lines(count)
        count += len(mesh.vertices)
    return "\n".join([*lines, ""])


def _write_material(label: str, rgba: Colour, texture: Texture) -> list[str]:
    """Returns the lines of a material, with roughness and metalness as Blender and others write them.

    The URDF has the colour too: Bullet reads it only there, other software here.
    """
    colour = " ".join(f"{value:g}" for value in rgba[:3])
    finish = FINISHES[texture.kind.value]
    return [
        f"newmtl {label}",
        f"Kd {colour}",
        "Ks 0 0 0",
        f"d {rgba[3]:g}",
        f"Pr {finish.roughness:g}",
        f"Pm {finish.metalness:g}",
        f"map_Kd {texture.kind.value}.png",
    ]
