"""Computes mass and inertia of links from the file or from density and volume, and checks them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_hull import hulls_inertial
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, closed_volume
from unlatch.simcore.sums import sum_in_order
from unlatch.simcore.urdf.model import Inertial

DEFAULT_DENSITY_KG_M3 = 1000.0
"""Density if neither the file nor the configuration states one; `UsdPhysics` has the same default."""
SMALLEST_M, LARGEST_M = 1e-3, 100.0
"""Plausible sizes of a whole object [m]."""

_TINY_KG = 1e-3
_LEAST_INERTIA = 1e-9


def check_size(surfaces: Sequence[TriangleMesh], *, where: str) -> float:
    """Returns the largest extent of surfaces in one frame [m].

    Raises:
        AssetError: No object has this size: its unit is wrong.
    """
    low = np.min([s.vertices[np.unique(s.faces)].min(axis=0) for s in surfaces], axis=0)
    high = np.max([s.vertices[np.unique(s.faces)].max(axis=0) for s in surfaces], axis=0)
    size_m = float(np.max(high - low))
    if not SMALLEST_M <= size_m <= LARGEST_M:
        raise AssetError(
            f"{where}: the object is {size_m:.4g} m large, expected {SMALLEST_M:g} to {LARGEST_M:g} m. "
            "Its unit is probably not the metre: set scale.",
            size_m=size_m,
        )
    return size_m


def solid_inertial(
    surface: Sequence[TriangleMesh],
    parts: Sequence[TriangleMesh],
    *,
    mass_kg: float | None = None,
    density: float | None = None,
    least_kg_m2: float = 0.0,
) -> Inertial:
    """Returns mass, centre and inertia of a link from its shape; a tiny ball for a link without one.

    Args:
        surface: Meshes that the link's colliders were made from; used if all of them are closed.
        parts: Its convex colliders; used otherwise.
        mass_kg: Its mass [kg]; None: density times volume.
        density: [kg/m^3]; None: `DEFAULT_DENSITY_KG_M3`.
        least_kg_m2: Least mass for each square metre of the link's face, see `face_m2`, unless `mass_kg` is given.
    """
    solids = list(surface) if surface and all(closed_volume(mesh) is not None for mesh in surface) else list(parts)
    volume = sum_in_order(mesh.volume for mesh in solids)
    if volume <= 0.0:
        mass = mass_kg if mass_kg is not None else _TINY_KG
        return Inertial(mass, np.zeros(3), np.eye(3) * mass * 1e-4)
    if mass_kg is None:
        mass_kg = max(volume * (density or DEFAULT_DENSITY_KG_M3), least_kg_m2 * face_m2(solids))
    inertial = hulls_inertial(solids, mass_kg)
    return Inertial(mass_kg, inertial.com_link, inertial.inertia + np.eye(3) * _LEAST_INERTIA)


def face_m2(meshes: Sequence[TriangleMesh]) -> float:
    """Returns the area of the face of a plate-like body [m^2].

    It is half of its surface, and at most the largest side of its box: inner surfaces do not count twice, and a bent
    rod does not count as a plate.
    """
    points = np.concatenate([mesh.vertices[np.unique(mesh.faces)] for mesh in meshes])
    extents = np.sort(np.ptp(points, axis=0))
    return min(0.5 * sum_in_order(mesh.area for mesh in meshes), float(extents[1] * extents[2]))


def moved_inertial(inertial: Inertial, T: Pose) -> Inertial:
    """Returns the inertial of a body in another frame; `T` is the pose of its own frame."""
    return Inertial(inertial.mass_kg, T @ inertial.com_link, T.R @ inertial.inertia @ T.R.T)


def combined_inertial(first: Inertial, second: Inertial) -> Inertial:
    """Returns the inertial of two bodies of one frame together."""
    mass = first.mass_kg + second.mass_kg
    if mass <= 0.0:
        return first
    com = (first.mass_kg * first.com_link + second.mass_kg * second.com_link) / mass
    inertia = np.zeros((3, 3))
    for body in (first, second):
        d = body.com_link - com
        inertia += body.inertia + body.mass_kg * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertial(mass, com, inertia)


def inertia_problem(inertial: Inertial) -> str | None:
    """Returns what is wrong with an inertial, as one clause; None if a rigid body can have it."""
    if inertial.mass_kg <= 0.0:
        return f"mass {inertial.mass_kg:g} kg is not above 0"
    moments = np.linalg.eigvalsh(inertial.inertia)
    if moments[0] <= 0.0:
        return f"its principal moments {moments[0]:.3g}, {moments[1]:.3g}, {moments[2]:.3g} are not all above 0"
    if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6):
        return (
            f"its principal moments {moments[0]:.3g}, {moments[1]:.3g}, {moments[2]:.3g} break the triangle rule: "
            "two must add up to the third or more"
        )
    return None
