"""Bodies, geoms and meshes of an MJCF model that MuJoCo has compiled, for the readers of objects and of robots."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Inertial, Shape, ShapeKind, capsule_shapes

MJCF_SUFFIXES = (".xml", ".mjcf")
"""Endings of MJCF files, in lower case."""
FREE, SLIDE, HINGE = 0, 2, 3
"""Types of joints in a compiled model; 1 is a ball."""
_MOST_BYTES = 65_536
_UNIT = re.compile(r"<compiler[^>]*\sangle\s*=")
_INCLUDED = re.compile(r"""<include[^>]*\sfile\s*=\s*["']([^"']+)""")


def is_mjcf(path: Path) -> bool:
    """Returns whether a file is an MJCF, and no part that others include: other programs write files so ending."""
    if path.suffix.lower() not in MJCF_SUFFIXES or not path.is_file():
        return False
    with path.open("rb") as stream:
        return re.search(rb"<mujoco[\s>]", stream.read(_MOST_BYTES)) is not None


def states_unit(path: Path) -> bool:
    """Returns whether an MJCF, or a file that it includes, says in which unit its angles are."""
    left, read = [path], set()
    while left:
        file = left.pop()
        if file in read or not file.is_file():
            continue
        read.add(file)
        text = file.read_text(encoding="utf-8", errors="replace")
        if _UNIT.search(text):
            return True
        for name in _INCLUDED.findall(text):  # MuJoCo looks beside the main file first
            beside_main = path.parent / name
            left.append(beside_main if beside_main.is_file() else file.parent / name)
    return False


def mjcf_pose(position: np.ndarray, quat_wxyz: np.ndarray) -> Pose:
    """Returns the pose of a position (3,) [m] and a quaternion (4,) in MuJoCo's order."""
    w, x, y, z = (float(value) for value in quat_wxyz)
    return Pose.from_quat_xyzw(np.array(position, dtype=float), [x, y, z, w])


class CompiledMjcf:
    """A compiled model (`mujoco.MjModel`); bodies, joints and geoms are known by their number."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        """Keeps the module and the model."""
        self.mujoco = mujoco
        self.model = model

    def name(self, kind: str, index: int) -> str:
        """Returns the name of a body, joint or geom, or its kind with its number."""
        types = {"body": 1, "joint": 3, "geom": 5}
        return self.mujoco.mj_id2name(self.model, types[kind], int(index)) or f"{kind}_{index}"

    def number(self, kind: str, name: str) -> int:
        """Returns the number of the body, joint or geom to which `name` gives this name."""
        counts = {"body": self.model.nbody, "joint": self.model.njnt, "geom": self.model.ngeom}
        return next(index for index in range(counts[kind]) if self.name(kind, index) == name)

    def geoms(self, body: int) -> Iterator[tuple[int, bool]]:
        """Yields the geoms of a body, and whether each touches others."""
        m = self.model
        for geom in range(int(m.body_geomadr[body]), int(m.body_geomadr[body]) + int(m.body_geomnum[body])):
            yield geom, bool(m.geom_contype[geom] or m.geom_conaffinity[geom])

    def geom_pose(self, geom: int) -> Pose:
        """Returns the pose of a geom in its body."""
        return mjcf_pose(self.model.geom_pos[geom], self.model.geom_quat[geom])

    def geom_colour(self, geom: int) -> tuple[float, float, float, float]:
        """Returns red, green, blue and opacity of a geom or of its material, 0 to 1, without its texture."""
        m, material = self.model, int(self.model.geom_matid[geom])
        r, g, b, a = (float(value) for value in (m.geom_rgba[geom] if material < 0 else m.mat_rgba[material]))
        return r, g, b, a

    def primitive(
        self, geom: int, name: str = "", rgba: tuple[float, float, float, float] | None = None
    ) -> list[Shape] | None:
        """Returns a box, sphere, cylinder or capsule as shapes in its body's frame; None for another geom."""
        kinds, kind, T = self.mujoco.mjtGeom, self.model.geom_type[geom], self.geom_pose(geom)
        a, b, c = (float(value) for value in self.model.geom_size[geom])
        if kind == kinds.mjGEOM_CAPSULE:
            return capsule_shapes(a, 2 * b, T, name, rgba)
        sizes = {
            int(kinds.mjGEOM_BOX): (ShapeKind.box, (2 * a, 2 * b, 2 * c)),
            int(kinds.mjGEOM_SPHERE): (ShapeKind.sphere, (a,)),
            int(kinds.mjGEOM_CYLINDER): (ShapeKind.cylinder, (a, 2 * b)),
        }
        found = sizes.get(int(kind))
        return None if found is None else [Shape(*found, T, name, rgba)]

    def geom_kind(self, geom: int) -> str:
        """Returns the word for the kind of a geom."""
        return str(self.mujoco.mjtGeom(self.model.geom_type[geom]).name.removeprefix("mjGEOM_").lower())

    def mesh(self, number: int) -> TriangleMesh:
        """Returns a mesh in its geom's frame [m]."""
        m = self.model
        start, count = int(m.mesh_vertadr[number]), int(m.mesh_vertnum[number])
        first, faces = int(m.mesh_faceadr[number]), int(m.mesh_facenum[number])
        vertices = np.array(m.mesh_vert[start : start + count], dtype=float)
        return TriangleMesh(vertices, np.array(m.mesh_face[first : first + faces], dtype=int))

    def inertial(self, body: int, T_link_body: Pose) -> Inertial | None:
        """Returns mass and inertia of a body in the frame of its link; None without a mass."""
        m = self.model
        if not m.body_mass[body] > 0.0:
            return None
        T = T_link_body @ mjcf_pose(m.body_ipos[body], m.body_iquat[body])
        return Inertial(float(m.body_mass[body]), T.p, T.R @ np.diag(m.body_inertia[body]) @ T.R.T)

    def coupled_joints(self) -> Iterator[tuple[str, str, tuple[float, float]]]:
        """Yields follower, leader, and offset and factor of each active equality between two joints."""
        for number in self._joint_equalities():
            if self.model.eq_active0[number]:
                offset, factor = (float(value) for value in self.model.eq_data[number][:2])
                yield *self._joints_of(number), (offset, factor)

    def idle_couplings(self) -> list[str]:
        """Returns what is left out for each equality between two joints that is not active."""
        idle = (number for number in self._joint_equalities() if not self.model.eq_active0[number])
        return [
            f"the equality by which joint '{one}' would follow '{other}', which is not active"
            for one, other in map(self._joints_of, idle)
        ]

    def _joint_equalities(self) -> list[int]:
        m, kind = self.model, self.mujoco.mjtEq.mjEQ_JOINT
        return [number for number in range(m.neq) if m.eq_type[number] == kind and m.eq_obj2id[number] >= 0]

    def _joints_of(self, number: int) -> tuple[str, str]:
        ids = self.model.eq_obj1id[number], self.model.eq_obj2id[number]
        return self.name("joint", int(ids[0])), self.name("joint", int(ids[1]))
