"""How the stands of robots look: edges, bolts, and a rail with a carriage, inside of the boxes that they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.objects.procedural.mesh_makers import Surface, bevelled_box, join, lathe
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.visuals.appearance import add_surface
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES
from unlatch.simcore.sim.world import World
from unlatch.tasks.stand import FixedBox, RobotStand

Rgb = tuple[float, float, float]

_BEVEL_M = 0.006
_BOLT_M, _BOLT_INSET_M = 0.012, 0.035
"""Radius of a bolt, and its distance from the edges of a plate [m]."""
_STEEL: Rgb = (0.72, 0.73, 0.75)
_BLACK: Rgb = (0.10, 0.10, 0.11)
_GREY: Rgb = (0.33, 0.35, 0.38)


def dress_stand(world: World, stand: RobotStand) -> None:
    """Gives the boxes of a stand the look of what they are, in a world with visual shapes; colliders stay.

    A rail is a beam with two guides, on which a carriage bears the column. A stand that has its look keeps it.
    """
    if world.bodies[stand.boxes[-1].name].surface is not None:
        return
    for box in stand.boxes[1:]:
        half = 0.5 * np.array(box.size_m)
        name = box.name.removeprefix("stand_")
        surface = _rail(world, box, stand.boxes[-1]) if name == "bed" else bevelled_box(-half, half, _BEVEL_M)
        if name == "plate":
            surface = join(surface, _bolts(half))
        body = world.bodies[box.name]
        body.surface, body.finish = _shaded(surface), FINISHES["lacquer"]


def _shaded(surface: Surface) -> SurfaceMesh:
    mesh = surface.textured()
    return SurfaceMesh(TriangleMesh(mesh.vertices, mesh.faces), corner_normals=mesh.normals[mesh.faces])


def _bolts(half: np.ndarray) -> Surface:
    """Returns four bolts on a plate of half edges (3,), frame of the plate [m]."""
    bolt = lathe([(0.0, 0.008), (0.8 * _BOLT_M, 0.008), (_BOLT_M, 0.006), (_BOLT_M, 0.0)][::-1], sides=12)
    x, y = half[:2] - _BOLT_INSET_M
    places = [(a * x, b * y, half[2]) for a in (-1, 1) for b in (-1, 1)]
    return join(*(bolt.moved(Pose.from_translation(place)) for place in places))


def _rail(world: World, bed: FixedBox, head: FixedBox) -> Surface:
    """Adds guides, carriage and end stops of a rail; returns its beam, frame of the bed [m]."""
    x, y, z = 0.5 * np.array(bed.size_m)
    high = 2.0 * z

    def block(low: Sequence[float], upper: Sequence[float]) -> Surface:
        """Returns a block between two corners: shares of the half depth and half length, and heights [m]."""
        (x0, y0, z0), (x1, y1, z1) = low, upper
        return bevelled_box((x0 * x, y0 * y, -z + z0 * high), (x1 * x, y1 * y, -z + z1 * high), 0.004)

    def add(name: str, rgb: Rgb, finish: str, *parts: Surface) -> None:
        surface = _shaded(join(*parts))
        T = bed.T_world_box
        body = add_surface(
            world, f"stand_{name}", surface, T_world_surface=T, rgba=(*rgb, 1.0), finish=FINISHES[finish]
        )
        body.semantic_class = world.bodies[bed.name].semantic_class

    guides = [block((a, -0.97, 0.7), (b, 0.97, 0.86)) for a, b in ((-0.72, -0.54), (0.54, 0.72))]
    add("guides", _STEEL, "brushed_metal", *guides)
    along = (head.position[1] - bed.position[1]) / y
    reach = 0.5 * head.size_m[1] / y + 0.08
    carriage = block((-0.82, along - reach, 0.86), (0.82, along + reach, 1.0))
    add("carriage", _GREY, "lacquer", carriage)
    stops = [block((-0.4, a, 0.7), (0.4, b, 0.95)) for a, b in ((-0.97, -0.93), (0.93, 0.97))]
    add("stops", _BLACK, "rubber", *stops, block((0.84, min(along, 0.0), 0.2), (0.98, 0.97, 0.42)))
    beam = [block((-1.0, -1.0, 0.0), (1.0, 1.0, 0.2)), block((-0.8, -1.0, 0.2), (0.8, 1.0, 0.7))]
    return join(*beam)
