"""Reads an MJCF model, as MuJoCo has them, as a URDF: MuJoCo's compiler resolves defaults, includes and meshes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unlatch.objects.importers.mjcf_versions import compile_spec, read_spec
from unlatch.objects.importers.urdf_parts import (
    WORLD,
    AssetFile,
    BodyJoint,
    FileBody,
    MeshFiles,
    build_tree,
    unused_name,
    write_model,
)
from unlatch.objects.turned_object import moved_link
from unlatch.simcore.errors import AssetError, close_matches
from unlatch.simcore.extras import import_extra
from unlatch.simcore.files import plain_name
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mjcf import FREE, HINGE, SLIDE, CompiledMjcf, is_mjcf, mjcf_pose, states_unit
from unlatch.simcore.urdf.model import Follows, Link, Shape
from unlatch.simcore.urdf.reader import is_shared_folder

_ARM_HINGES = 4
"""Number of hinges in a row from which on they are an arm: an object has a knob in a door."""
_APART = 0.05
"""Objects stand apart if between the boxes around them there is more than this share of the largest extent of one."""
_HARDLY_RAD = 0.05
"""A hinge that turns by less is no part of an object."""


def mjcf_files(path: Path) -> dict[str, Path]:
    """Returns every file of the folder of an MJCF, by its name: which of them it names only MuJoCo knows."""
    folder = path.resolve().parent
    if is_shared_folder(folder):
        return {path.name: path}
    wanted = (".xml", ".mjcf", ".obj", ".stl", ".msh", ".png", ".mtl", ".dae")
    found = sorted(each for each in folder.rglob("*") if each.suffix.lower() in wanted and each.is_file())
    return {each.relative_to(folder).as_posix(): each for each in found}


class MjcfFile(AssetFile, CompiledMjcf):
    """A compiled MJCF; bodies are known by their number."""

    def __init__(self, path: Path) -> None:
        """Compiles the file.

        Raises:
            AssetError: MuJoCo is not installed, or cannot read the file.
        """
        AssetFile.__init__(self, path)
        mujoco = import_extra("mujoco", extra="mjcf", needed_by="An MJCF object", error=AssetError)
        try:
            CompiledMjcf.__init__(self, mujoco, self._compile(mujoco))
        except (ValueError, OSError) as exc:
            raise AssetError(
                f"{path}: MuJoCo cannot read it ({' '.join(str(exc).split())}). Correct the file.", path=str(path)
            ) from exc
        self.data = self.mujoco.MjData(self.model)
        self.data.qpos[:] = self.model.qpos0
        self.mujoco.mj_kinematics(self.model, self.data)
        self.T_file_world = Pose.identity()
        """Turn of the file about the vertical, see `turn_upright`."""

    def _compile(self, mujoco: Any) -> Any:
        """Returns the compiled model: in radians if no unit is stated and in degrees a hinge would hardly move.

        robosuite and others write parts of models so, and include them in one that says `angle="radian"`.
        """
        spec = read_spec(mujoco, self.path, self.notices)
        model = compile_spec(spec, self.notices)
        spans_rad = model.jnt_range[(model.jnt_type == HINGE) & (model.jnt_limited != 0)] @ (-1.0, 1.0)
        if not spec.compiler.degree or not len(spans_rad) or states_unit(self.path):
            return model
        if spans_rad.min() >= _HARDLY_RAD or np.rad2deg(spans_rad.max()) > 2.0 * np.pi:
            return model
        self.notices.append(
            f"angles are read as radians: the file states no unit, and in degrees a hinge would turn by "
            f'{np.rad2deg(spans_rad.min()):.3g} degrees. If it does, write <compiler angle="degree"/>'
        )
        spec.compiler.degree = False
        return compile_spec(spec, self.notices)

    def pose(self, body: int) -> Pose:
        """Returns the pose of a body as the model is drawn."""
        return self.T_file_world @ mjcf_pose(self.data.xpos[body], self.data.xquat[body])

    def turn_upright(self, body: int) -> None:
        """Turns the model about the vertical until a body looks along x, as objects do before they are turned."""
        R = self.pose(body).R
        self.T_file_world = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, -float(np.arctan2(R[1, 0], R[0, 0]))))

    def moves(self, body: int) -> bool:
        """Returns whether a body has a joint; one that floats has none that an object can have."""
        first, count = int(self.model.body_jntadr[body]), int(self.model.body_jntnum[body])
        return count > 0 and self.model.jnt_type[first] != FREE

    def ancestors(self, body: int) -> list[int]:
        """Returns a body and those that it hangs from, the world left out."""
        found = []
        while body:
            found.append(body)
            body = int(self.model.body_parentid[body])
        return found

    def bodies_of(self, name: str) -> list[int]:
        """Returns the body of a name and all that hang from it.

        Raises:
            AssetError: No body that holds a joint has this name.
        """
        names = {self.name("body", body): body for body in range(1, self.model.nbody)}
        if name not in names:
            problem = f"does not exist.{close_matches(name, names)}"
            raise self.error(f"body '{name}'", f"{problem} {self._remedy()}")
        inside = [body for body in range(1, self.model.nbody) if names[name] in self.ancestors(body)]
        if not any(map(self.moves, inside)):
            raise self.error(f"body '{name}'", f"holds no joint that moves. {self._remedy()}")
        return inside

    def check_is_object(self) -> None:
        """Raises if the model is a scene with a robot.

        Raises:
            AssetError: It has an arm.
        """
        for body in range(1, self.model.nbody):
            if self._hinges_in_row(body) >= _ARM_HINGES:
                what = (
                    f"body '{self.name('body', body)}' turns by {self._hinges_in_row(body)} hinges in a row, as an arm"
                )
                raise self.error(what, f"does. Expected an object. {self._remedy()}")

    def check_is_one(self) -> None:
        """Raises if bodies that stand in the world, each with joints of its own, are apart from each other.

        Geoms of the world and bodies without joints may connect them, as the body of a stove does its knobs.

        Raises:
            AssetError: They are.
        """
        bodies = range(1, self.model.nbody)
        roots = [body for body in bodies if self.model.body_parentid[body] == 0 and not self.moves(body)]
        boxes = {body: box for body in roots if (box := self._box(self._geoms_below(body))) is not None}
        standing = [body for body in boxes if self._moving_below(body)]
        boxes = {body: box for body, box in boxes.items() if body in standing or not self.model.body_jntnum[body]}
        room = _APART * max((float(np.ptp(boxes[body], axis=0).max()) for body in standing), default=0.0)
        fixed = [self._box([geom]) for geom, _ in self.geoms(0) if self.geom_kind(geom) != "plane"]
        everything = [*boxes.values(), *(box for box in fixed if box is not None)]
        for body in standing:
            group, rest = [boxes[body]], [box for box in everything if box is not boxes[body]]
            for low, high in group:  # it grows
                near = [box for box in rest if np.all((low <= box[1] + room) & (high >= box[0] - room))]
                group += near
                rest = [box for box in rest if not any(box is each for each in near)]
            if len(standing) > 1 and sum(any(boxes[each] is box for box in group) for each in standing) == 1:
                names = ", ".join(self.name("body", each) for each in standing)
                what = f"it has {len(standing)} objects that stand apart, {names}."
                raise self.error(
                    "the model", f"is a scene: {what} Annotate one of them: body={self.name('body', body)}."
                )

    def _moving_below(self, body: int) -> bool:
        return any(self.moves(each) and body in self.ancestors(each) for each in range(1, self.model.nbody))

    def _geoms_below(self, body: int) -> list[int]:
        """Returns the geoms of a body and of all below it."""
        return [n for n in range(self.model.ngeom) if body in self.ancestors(int(self.model.geom_bodyid[n]))]

    def _box(self, geoms: list[int]) -> np.ndarray | None:
        """Returns the lower and upper corner (2, 3) of the box around some geoms [m]; None without any."""
        halves = self.model.geom_aabb.reshape(-1, 2, 3)
        corners = [
            self.data.geom_xpos[n]
            + self.data.geom_xmat[n].reshape(3, 3) @ (halves[n][0] + np.where(pick, halves[n][1], -halves[n][1]))
            for n in geoms
            for pick in np.ndindex(2, 2, 2)
        ]
        return np.array([np.min(corners, axis=0), np.max(corners, axis=0)]) if corners else None

    def _hinges_in_row(self, body: int) -> int:
        firsts = (int(self.model.body_jntadr[each]) for each in self.ancestors(body) if self.moves(each))
        return sum(int(self.model.jnt_type[first]) == HINGE for first in firsts)

    def _remedy(self) -> str:
        found = self._objects()
        return (
            f"Annotate one object of it: body=NAME, such as {', '.join(found)}."
            if found
            else "Name its body: body=NAME."
        )

    def _objects(self) -> list[str]:
        """Returns the names of the bodies that hold one object each: the outermost of those that hold it alone."""
        moving = [body for body in range(1, self.model.nbody) if self.moves(body)]
        above = {body: self.ancestors(body)[1:] for body in moving if sum(map(self.moves, self.ancestors(body))) == 1}
        holder = {body: (row or [body])[0] for body, row in above.items()}
        arms = {self.ancestors(body)[-1] for body in moving if self._hinges_in_row(body) >= _ARM_HINGES}
        found = []
        for body, row in above.items():
            alone = [a for a in row if {holder[other] for other in above if a in above[other]} == {holder[body]}]
            outermost = (alone or [holder[body]])[-1]
            if not arms & set(self.ancestors(outermost)):
                found.append(self.name("body", outermost))
        return list(dict.fromkeys(found))


def write_urdf(path: Path, folder: Path, name: str, *, body: str | None = None) -> list[str]:
    """Reads an MJCF and writes a URDF with its meshes and textures into a folder.

    Bodies become links. Geoms without contacts are what is seen; a body without any shows its colliders.

    Args:
        path: The MJCF.
        folder: Where to write.
        name: File name of the URDF.
        body: The body of a scene to be written, with all that hangs from it; None: the whole model.

    Returns:
        One line for each thing that is left out.

    Raises:
        AssetError: MuJoCo is not installed or cannot read the file, or it has no joint that moves, or one that no URDF
            has, or an arm; or no such body.
    """
    file = MjcfFile(path)
    if body is None:
        file.check_is_object()
        file.check_is_one()
        chosen = list(range(1, file.model.nbody))
    else:
        chosen = file.bodies_of(body)
        file.turn_upright(chosen[0])
    bodies = {WORLD: FileBody(WORLD, "world", Pose.identity())}
    taken = {"world"}
    for number in chosen:
        bodies[str(number)] = FileBody(str(number), unused_name(file.name("body", number), taken), file.pose(number))
    joints = list(_find_joints(file, bodies, taken))
    if all(joint.kind == "fixed" for joint in joints):
        raise file.error("the model", "has no joint that moves. Expected a hinge or a slide. Add one.")
    files = MeshFiles(folder)
    shapes = {key: _Shapes(file, files).read(int(key)) for key in bodies if key.isdigit()}
    shapes[WORLD] = ([], []) if body is not None else _Shapes(file, files).read(0)
    tree = build_tree(
        file,
        bodies,
        joints,
        has_static_shape=any(shapes[WORLD]),
        alone="Write each to a file.",
        remedy="Leave one of its joints out.",
    )
    links = {}
    for key, T_body_link in tree.T_body_link.items():
        seen, hit = shapes.get(key, ([], []))
        T = T_body_link.inverse()
        # the world has no inertia, nor has what stands between two joints
        inertial = file.inertial(int(key), T) if key.isdigit() else None
        link = moved_link(Link(bodies[key].name, tuple(seen), tuple(hit)), T)
        links[link.name] = replace(link, inertial=inertial)
    file.notices += _left_out(file, {joint.name for joint in joints}, is_whole=body is None)
    return write_model(file, folder / name, path.stem, links, tree.joints)


def write_body_urdf(path: Path, body: str, folder: Path, *, force: bool = False) -> tuple[Path, list[str]]:
    """Writes `BODY.urdf` with the meshes of one object of a scene.

    Args:
        path: The MJCF.
        body: The body that holds the object.
        folder: Where to write; made if it is missing.
        force: Whether to replace an existing URDF.

    Returns:
        The URDF, and one line for each thing that is left out or read in a way that its author may not expect.

    Raises:
        AssetError: The URDF exists, the file is no MJCF, or see `write_urdf`.
    """
    if not is_mjcf(path):
        raise AssetError(f"'{path}' is no MJCF, and body= names a body of one. Leave it out.", path=str(path))
    urdf = folder / f"{plain_name(body)}.urdf"
    if urdf.exists() and not force:
        raise AssetError(f"{urdf} exists. Use it, or give force=true to replace it.", path=str(urdf))
    with tempfile.TemporaryDirectory() as draft:  # nothing is written where the body cannot be read
        notices = write_urdf(path, Path(draft), urdf.name, body=body)
        folder.mkdir(parents=True, exist_ok=True)
        for file in Path(draft).iterdir():
            shutil.copyfile(file, folder / file.name)
    return urdf, notices


def _find_joints(file: MjcfFile, bodies: dict[str, FileBody], taken: set[str]) -> Iterator[BodyJoint]:
    """Yields the joints; between two joints of one body stands a body of its own."""
    m = file.model
    for body in [int(key) for key in bodies if key != WORLD]:
        parent = str(m.body_parentid[body])
        first = parent if parent in bodies else WORLD
        own = range(int(m.body_jntadr[body]), int(m.body_jntadr[body]) + int(m.body_jntnum[body]))
        kinds = [int(m.jnt_type[joint]) for joint in own]
        if kinds == [FREE]:
            continue
        if not kinds:
            yield _body_joint(file, bodies, f"{bodies[str(body)].name}_fixed", first, str(body), None)
        for joint in own:
            name = file.name("joint", joint)
            if m.jnt_type[joint] not in (SLIDE, HINGE):
                raise file.error(f"joint '{name}'", "is a ball joint. Expected hinges and slides. Replace it.")
            second = str(body)
            if joint != own[-1]:
                second = f"{body} {joint}"
                bodies[second] = FileBody(second, unused_name(f"{name}_link", taken), file.pose(body))
            yield _body_joint(file, bodies, name, first, second, joint)
            first = second


def _body_joint(
    file: MjcfFile, bodies: dict[str, FileBody], name: str, first: str, second: str, joint: int | None
) -> BodyJoint:
    m, d = file.model, file.data
    T_joint, axis, kind = bodies[second].T_file_body, np.array([1.0, 0.0, 0.0]), "fixed"
    lower, upper, values, follows = -np.inf, np.inf, {}, None
    if joint is not None:
        T_joint = Pose(T_joint.R, file.T_file_world @ np.array(d.xanchor[joint], dtype=float))
        axis = T_joint.R.T @ (file.T_file_world.R @ np.array(d.xaxis[joint], dtype=float))
        kind = "prismatic" if m.jnt_type[joint] == SLIDE else "revolute"
        dof = int(m.jnt_dofadr[joint])
        values = {"damping": float(np.ravel(m.dof_damping[dof])[0]), "friction": float(m.dof_frictionloss[dof])}
        coupled = {follower: (leader, *numbers) for follower, leader, numbers in file.coupled_joints()}
        if name in coupled:
            leader, offset, ratio = coupled[name]
            follows = Follows(leader, ratio, offset)
        if m.jnt_limited[joint]:
            drawn = float(m.qpos0[m.jnt_qposadr[joint]])
            lower, upper = (float(end) - drawn for end in m.jnt_range[joint])
    return BodyJoint(
        name=name,
        place=f"joint '{name}'",
        kind=kind,
        first=first,
        second=second,
        T_first=bodies[first].T_file_body.inverse() @ T_joint,
        T_second=bodies[second].T_file_body.inverse() @ T_joint,
        axis=axis,
        lower=lower,
        upper=upper,
        values=values,
        follows=follows,
    )


def _left_out(file: MjcfFile, joints: set[str], *, is_whole: bool) -> Iterator[str]:
    """Yields a line for each thing of a model that moves or holds its joints, and that no URDF can state."""
    m = file.model
    springs = {file.name("joint", joint) for joint in range(m.njnt) if np.any(m.jnt_stiffness[joint])} & joints
    if springs:
        yield f"left out: the spring of {', '.join(sorted(springs))}"
    if is_whole and m.ntendon:
        yield f"left out: {m.ntendon} tendons"
    if is_whole:
        yield from (f"left out: {idle}" for idle in file.idle_couplings())
    kinds = file.mujoco.mjtEq
    held = sum(int(kind) in (kinds.mjEQ_WELD, kinds.mjEQ_CONNECT) for kind in m.eq_type)
    if is_whole and held:
        yield f"left out: {held} equalities that hold bodies together"


class _Shapes:
    """Reads the geoms of a body."""

    def __init__(self, file: MjcfFile, files: MeshFiles) -> None:
        self._file = file
        self._files = files

    def read(self, body: int) -> tuple[list[Shape], list[Shape]]:
        """Returns what is seen and what is hit of a body, in its frame."""
        seen: list[Shape] = []
        hit: list[Shape] = []
        for geom, touches in self._file.geoms(body):
            (hit if touches else seen).extend(self._read_geom(geom))
        return (seen or hit), [replace(shape, rgba=None) for shape in hit]

    def _read_geom(self, geom: int) -> list[Shape]:
        rgba, kind = self._colour(geom), self._file.geom_kind(geom)
        name = self._file.model.geom(geom).name  # a made-up one would count as the name of the part
        shapes = self._file.primitive(geom, name, rgba)
        if shapes is not None:
            return shapes
        if kind == "mesh":
            return [self._read_mesh(geom, self._file.geom_pose(geom), name, rgba)]
        if kind != "plane":
            self._file.notices.append(f"geom '{name or geom}' is left out: URDFs have no {kind}")
        return []

    def _colour(self, geom: int) -> tuple[float, float, float, float]:
        r, g, b, a = self._file.geom_colour(geom)
        picture = self._picture(geom)
        if picture is not None:
            r, g, b = (np.array([r, g, b]) * picture.reshape(-1, 3).mean(axis=0) / 255.0).tolist()
        return r, g, b, a

    def _picture(self, geom: int) -> np.ndarray | None:
        """Returns (H, W, 3) the texture of a geom; None without a flat one."""
        m = self._file.model
        material = int(m.geom_matid[geom])
        roles = np.ravel(m.mat_texid[material]) if material >= 0 else np.array([-1])
        texture = next((int(number) for number in roles if number >= 0), -1)
        if texture < 0 or m.tex_type[texture] != self._file.mujoco.mjtTexture.mjTEXTURE_2D:
            return None
        height, width, channels = (int(v[texture]) for v in (m.tex_height, m.tex_width, m.tex_nchannel))
        start = int(m.tex_adr[texture])
        values = np.array(m.tex_data[start : start + height * width * channels], dtype=np.uint8)
        return values.reshape(height, width, channels)[:, :, [0, 0, 0] if channels < 3 else [0, 1, 2]]

    def _read_mesh(self, geom: int, T: Pose, name: str, rgba: tuple[float, float, float, float]) -> Shape:
        m, number = self._file.model, int(self._file.model.geom_dataid[geom])
        first, faces = int(m.mesh_faceadr[number]), int(m.mesh_facenum[number])
        mesh = self._file.mesh(number)
        picture, uvs = self._picture(geom), int(m.mesh_texcoordadr[number])
        if picture is None or uvs < 0:
            return replace(self._files.shape_of(self._files.write_mesh(mesh), name), T_link_shape=T, rgba=rgba)
        corners = np.array(m.mesh_facetexcoord[first : first + faces], dtype=int)
        corner_uvs = np.array(m.mesh_texcoord[uvs:], dtype=float)[corners]  # (F, 3, 2)
        stream = BytesIO()
        Image.fromarray(np.flipud(picture)).save(stream, format="PNG")  # MuJoCo has the lowest row first
        written = self._files.write_textured(mesh, corner_uvs, self._files.write_picture(stream.getvalue(), ".png"))
        return replace(self._files.shape_of(written, name), T_link_shape=T)
