"""Finds the model of a robot, or makes it from those of installed packages on first use.

`robots/descriptions/NAME.yaml` says where the model of a robot of Unlatch comes from and why it is changed. Each
function of `MODELS` returns the path of its URDF in the cache. All may raise `AssetError`: an extra is not installed,
a file of a package is missing, damaged or another version's, or the cache cannot be written.
"""

from __future__ import annotations

import hashlib
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pybullet_data
import yaml

from unlatch.robots.catalog import ROBOTS, read_description
from unlatch.robots.description import RobotCfg
from unlatch.simcore.cache import cache_root, cached_folder
from unlatch.simcore.errors import AssetError, PluginError
from unlatch.simcore.geometry import matrix_from_rpy, rpy_from_matrix, unit
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.urdf.model import Inertial, rigid_shapes
from unlatch.simcore.urdf.reader import parse_xml, read_urdf

_MADE, _FOREIGN = "unlatch.robots.made_models", "unlatch.robots.foreign_models"
_STATED = "unlatch.robots.changed_models:stated_urdf"
MODELS = {
    "aloha": f"{_FOREIGN}:aloha_urdf",
    "arx5": f"{_FOREIGN}:arx5_urdf",
    "baxter": f"{_MADE}:baxter_urdf",
    "dual_panda": f"{_MADE}:dual_panda_urdf",
    "fr3": f"{_MADE}:fr3_urdf",
    "franka_gensim2": f"{_MADE}:franka_gensim2_urdf",
    "franka_panda": "unlatch.robots.models:panda_urdf",
    "franka_robotiq": f"{_MADE}:franka_robotiq_urdf",
    "gen3": f"{_MADE}:gen3_urdf",
    "lift2": f"{_FOREIGN}:lift2_urdf",
    "openarm": f"{_FOREIGN}:openarm_urdf",
    "so100": f"{_FOREIGN}:so100_urdf",
    "so101": f"{_FOREIGN}:so101_urdf",
    "tiago": f"{_MADE}:tiago_urdf",
    "ur5": f"{_MADE}:ur5_urdf",
    "ur5e": f"{_MADE}:ur5e_urdf",
    "vx300s": f"{_FOREIGN}:vx300s_urdf",
    "xarm6": f"{_MADE}:xarm6_urdf",
    "xarm7": f"{_MADE}:xarm7_urdf",
    "yumi": f"{_FOREIGN}:yumi_urdf",
}
"""Functions that return the path of a URDF, by robot."""
DRAWN_MODELS = {
    "aloha": f"{_FOREIGN}:aloha_urdf",
    "arx5": f"{_FOREIGN}:arx5_urdf",
    "dual_panda": f"{_MADE}:drawn_dual_panda_urdf",
    "franka_panda": f"{_MADE}:drawn_panda_urdf",
}
"""The same for pictures, for robots with better visual meshes than those of their model."""


def model_path(robot: RobotCfg | str) -> Path:
    """Returns the URDF that a robot's description names, else that of the catalog entry with its name.

    Raises:
        UnknownEntryError: No such robot.
        AssetError: The file is not there, or the distribution that brings it is not installed.
        PluginError: The distribution that brings the robot does not name its model.
    """
    name = robot if isinstance(robot, str) else robot.name
    if not isinstance(robot, str) and robot.urdf is not None:
        return _call(_STATED, robot)
    path = _call(MODELS[name]) if name in MODELS else _plugin_model(name)
    if not path.is_file():
        raise AssetError(
            f"The model of robot '{name}' is not at '{path}'. Reinstall the package that ships it.", path=str(path)
        )
    return path


@lru_cache(maxsize=16)
def _fixed_height(urdf: Path) -> float:
    model = read_urdf(urdf)
    heights = [(s.T_link_shape @ shape_mesh(s).vertices)[:, 2] for s in rigid_shapes(model, model.root)]
    return float(np.ptp(np.concatenate(heights))) if heights else 0.0


def body_height(robot: RobotCfg) -> float:
    """Returns the height of what no joint of a robot moves [m]: an arm's foot, or a body; raises as `model_path`."""
    return _fixed_height(model_path(robot))


_FOOT_M = 0.3
"""Largest height of the foot of an arm of Panda's size [m]: of 16 robots, it is 0.02 to 0.19 m high, and the bodies of
OpenArm, YuMi, TIAGo and Baxter are 0.4, 0.57, 0.84 and 1.9 m high."""


def stands_on_body(robot: RobotCfg) -> bool:
    """Returns whether a robot stands on a body of its own, which has no room on a stand for the foot of an arm."""
    return body_height(robot) > _FOOT_M * robot.scale


def drawn_model_path(robot: RobotCfg) -> Path:
    """Returns the URDF of a robot for pictures: that of `model_path`, or one with better visual meshes if it has one.

    Raises:
        UnlatchError: As `model_path`.
    """
    path = model_path(robot)
    if robot.urdf is not None:
        return path
    if robot.name in MODELS:
        return _call(DRAWN_MODELS[robot.name]) if robot.name in DRAWN_MODELS else path
    drawn = getattr(_plugin_module(robot.name), "drawn_urdf_path", None)
    return path if drawn is None else Path(drawn())


def _call(target: str, *arguments: RobotCfg) -> Path:
    """Returns what a function of `MODELS`, or another one that is named as these are, returns."""
    module, _, function = target.partition(":")
    found: Path = getattr(import_module(module), function)(*arguments)
    return found


def _plugin_model(name: str) -> Path:
    """Returns what the function `urdf_path` beside the function of a robot of another distribution returns."""
    module, entry = _plugin_module(name), ROBOTS.entry(name)
    if not callable(getattr(module, "urdf_path", None)):
        raise PluginError(
            f"The robot '{name}' of {entry.origin} has no model: there is no function urdf_path in {module.__name__}. "
            "Expected one that returns the path of its URDF, or `urdf` in its RobotCfg. Fix that package.",
            name=name,
            origin=entry.origin,
        )
    return Path(module.urdf_path())


def _plugin_module(name: str) -> Any:
    return import_module(ROBOTS.entry(name).target.partition(":")[0])


Array = np.ndarray
VERSION = 5
INERTIA_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Attributes of a URDF's `<inertia>`."""
_MARGIN = 1.001
_ROD = 1e-6
"""Share of the largest principal moment below which the smallest is that of a rod without thickness."""
_ROUNDED = 1e-6
_FRAME_KG, _FRAME_M = 1e-4, 0.01


def cached_model(
    root: Path, name: str, content: str, meshes: Sequence[tuple[str, Path]], write: Callable[[Path], None]
) -> Path:
    """Returns the URDF of a made robot below the cache folder `root`; `write` fills its folder on first use.

    `content`, and the names and sizes of `meshes`, tell one version of the robot from another.
    """
    digest = hashlib.sha256(content.encode())
    for label, path in meshes:
        digest.update(f"\0{label}\0{path.stat().st_size}".encode())
    key = digest.hexdigest()
    folder = root / "robots" / f"{name}-{key[:16]}"
    cached_folder(folder, key=key, make=write)
    return folder / f"{name}.urdf"


def to_text(robot: ET.Element) -> str:
    """Returns the text of a URDF, indented."""
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode") + "\n"


def repair_inertias(robot: ET.Element, from_shapes: Mapping[str, Inertial] = MappingProxyType({})) -> None:
    """Makes the inertia of every link physically possible with the smallest change, in place; frames get almost no
    mass.

    A link without an inertial gets the one of `from_shapes`, or else 0.1 g: Bullet would give it 1 kg. No principal
    moment exceeds the sum of the others. If a file's rounded numbers break this rule, Bullet ignores the whole tensor;
    the two smaller moments are then raised evenly.
    """
    for link in robot.iter("link"):
        if (solid := from_shapes.get(link.get("name", ""))) is not None:
            for old in link.findall("inertial"):
                link.remove(old)
            write_inertial(link, solid)
        elif link.find("inertial") is None:
            inertial = ET.SubElement(link, "inertial")
            ET.SubElement(inertial, "mass", {"value": f"{_FRAME_KG:g}"})
            moments_of = dict.fromkeys(("ixx", "iyy", "izz"), f"{_FRAME_KG * _FRAME_M**2:g}")
            ET.SubElement(inertial, "inertia", {**moments_of, **dict.fromkeys(("ixy", "ixz", "iyz"), "0")})
    for element in robot.iter("inertia"):
        moments, axes = np.linalg.eigh(_read_inertia(element))
        lack = moments[2] - moments[0] - moments[1]
        if moments[0] < _ROD * moments[2]:  # rounding in Bullet would break the rule
            lack = max(lack, _ROD * moments[2])
        if lack <= 0.0 or moments[2] <= 0.0:
            continue
        moments[:2] += 0.5 * _MARGIN * lack
        write_inertia(element, axes @ np.diag(moments) @ axes.T)


def normalise_axes(robot: ET.Element) -> None:
    """Gives axes of joints whose numbers are rounded the length 1, in place: Bullet warns of others."""
    for joint in robot.iter("joint"):
        if (axis := joint.find("axis")) is not None:
            vector = _read_vector(axis, "xyz")
            length = float(np.linalg.norm(vector))
            if length > 0.0 and abs(length - 1.0) > _ROUNDED:
                axis.set("xyz", " ".join(f"{value:.17g}" for value in vector / length))


def align_inertias(robot: ET.Element, joints: Collection[str]) -> None:
    """Turns the inertia of the links below some turning joints so that the joint's axis is a principal axis, in place.

    Bullet keeps only the principal moments of a link, and an armature is added to them. So the products of inertia
    between the joint's axis and the directions across it are left out. The moment about the axis stays.
    """
    links = {link.get("name"): link for link in robot.iter("link")}
    for joint in robot.iter("joint"):
        axis, child = joint.find("axis"), joint.find("child")
        if joint.get("name") not in joints or axis is None or child is None:
            continue
        inertial = links[child.get("link")].find("inertial")
        if inertial is not None:
            _align_inertial(inertial, unit(_read_vector(axis, "xyz")))


def _align_inertial(inertial: ET.Element, axis: Array) -> None:
    element = inertial.find("inertia")
    if element is None:
        return
    origin = inertial.find("origin")
    if origin is None:
        origin = ET.SubElement(inertial, "origin", {"xyz": "0 0 0"})
    R_link_inertia = matrix_from_rpy(_read_vector(origin, "rpy"))
    inertia_link = R_link_inertia @ _read_inertia(element) @ R_link_inertia.T
    across = np.linalg.svd(axis[None])[2][1:].T  # (3, 2) an orthonormal basis across the axis
    moments, turns = np.linalg.eigh(across.T @ inertia_link @ across)
    R_link_aligned = np.column_stack([across @ turns, axis])
    R_link_aligned[:, 0] *= np.linalg.det(R_link_aligned)  # right-handed
    origin.set("rpy", " ".join(f"{angle:.17g}" for angle in rpy_from_matrix(R_link_aligned)))
    write_inertia(element, np.diag([*moments, axis @ inertia_link @ axis]))


def _read_vector(element: ET.Element, key: str) -> Array:
    return np.array([float(value) for value in element.get(key, "0 0 0").split()])


def _read_inertia(element: ET.Element) -> Array:
    xx, xy, xz, yy, yz, zz = (float(element.get(key, "0")) for key in INERTIA_KEYS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def write_inertial(link: ET.Element, inertial: Inertial) -> None:
    """Adds mass, centre and inertia to a `<link>` element, in place."""
    element = ET.SubElement(link, "inertial")
    ET.SubElement(element, "origin", {"xyz": " ".join(f"{value:.9g}" for value in inertial.com_link), "rpy": "0 0 0"})
    ET.SubElement(element, "mass", {"value": f"{inertial.mass_kg:.9g}"})
    write_inertia(ET.SubElement(element, "inertia"), inertial.inertia)


def write_inertia(element: ET.Element, inertia: Array) -> None:
    """Writes an inertia tensor (3, 3) [kg m^2] to an `<inertia>` element, in place."""
    for key, (i, j) in zip(INERTIA_KEYS, ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=True):
        element.set(key, f"{inertia[i, j]:.9g}")


def arm_joints(robot: str) -> tuple[str, ...]:
    """Returns the names of the arm joints of a robot of the catalog."""
    return tuple(joint for arm in read_description(robot)["arms"] for joint in arm["joints"])


def panda_urdf() -> Path:
    """Returns the Panda of the package `pybullet_data` with the inertias of `franka_panda_inertials.yaml`."""
    return _make_panda(cache_root())


@lru_cache(maxsize=4)
def _make_panda(root: Path) -> Path:
    source = Path(pybullet_data.getDataPath()) / "franka_panda" / "panda.urdf"
    robot = parse_xml(source)
    _set_panda_inertials(robot)
    return model_with_meshes(root, "franka_panda", to_text(robot), source.parent / "meshes")


def model_with_meshes(root: Path, name: str, text: str, meshes: Path) -> Path:
    """Returns a URDF of the Panda with this text below the cache folder `root`, with a copy of its folder of meshes."""
    files = [(path.name, path) for path in sorted(meshes.glob("*/*")) if path.is_file()]

    def write_model(temporary: Path) -> None:
        from unlatch.robots.collider_hulls import use_hulls

        # beside the URDF, as in the original: a URDF names no files outside its own folder
        shutil.copytree(meshes, temporary / "meshes")
        robot = ET.fromstring(text)
        use_hulls(robot, temporary, {})
        (temporary / f"{name}.urdf").write_text(to_text(robot), encoding="utf-8")

    return cached_model(root, name, f"{VERSION}\0{text}", files, write_model)


def _set_panda_inertials(robot: ET.Element) -> None:
    """Gives the links their masses and inertias, in place."""
    file = Path(__file__).resolve().parent / "franka_panda_inertials.yaml"
    inertials: Mapping[str, Mapping[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for link in robot.iter("link"):
        for old in link.findall("inertial"):
            link.remove(old)
        stated = inertials.get(link.get("name", ""))
        if stated is None:
            continue
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", {"xyz": " ".join(f"{value:g}" for value in stated["com"]), "rpy": "0 0 0"})
        ET.SubElement(inertial, "mass", {"value": f"{stated['mass']:g}"})
        xx, xy, xz, yy, yz, zz = stated["inertia"]
        write_inertia(ET.SubElement(inertial, "inertia"), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    repair_inertias(robot)
    align_inertias(robot, arm_joints("franka_panda"))
