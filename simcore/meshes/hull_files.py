"""Convex pieces as files and as masses."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unlatch.simcore.meshes.decomposition.convex_decomposition import hull_volume
from unlatch.simcore.meshes.mesh_parts import TriangleMesh
from unlatch.simcore.urdf.model import Inertial


def write_hulls(hulls: list[TriangleMesh], path: Path) -> None:
    """Writes convex pieces into one OBJ, each as an object: Bullet makes a compound of one hull an object."""
    lines: list[str] = []
    offset = 1
    for number, hull in enumerate(hulls):
        lines.append(f"o hull_{number}")
        lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in hull.vertices]
        lines += [f"f {a + offset} {b + offset} {c + offset}" for a, b, c in hull.faces]
        offset += len(hull.vertices)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def hulls_inertial(hulls: list[TriangleMesh], mass_kg: float) -> Inertial:
    """Mass, centre and inertia of convex pieces of one density; what two pieces share counts twice."""
    volume = sum(hull_volume(hull) for hull in hulls)
    first, second = np.zeros(3), np.zeros((3, 3))
    for hull in hulls:
        a, b, c = (hull.vertices[hull.faces[:, k]] for k in range(3))
        det = np.einsum("ij,ij->i", a, np.cross(b, c))  # (F,) six times the tetrahedra's volumes
        total = a + b + c
        first += (det[:, None] * total).sum(axis=0) / 24.0
        outer = sum(np.einsum("i,ij,ik->jk", det, v, v) for v in (a, b, c, total))
        second += outer / 120.0
    com = first / volume
    covariance = second / volume - np.outer(com, com)
    inertia = mass_kg * (np.trace(covariance) * np.eye(3) - covariance)
    return Inertial(mass_kg=mass_kg, com_link=com, inertia=(inertia + inertia.T) / 2)
