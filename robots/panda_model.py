"""The model of the Panda: that of the package `pybullet_data`, with the masses and inertias of another source."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pybullet_data
import yaml

from unlatch.robots.catalog import read_description
from unlatch.robots.changed_model import align_inertias, cached_model, repair_inertias, to_text, write_inertia
from unlatch.simcore.cache import cache_root
from unlatch.simcore.urdf.reader import parse_xml


def arm_joints(robot: str) -> tuple[str, ...]:
    """Returns the names of the arm joints of a robot of the catalog."""
    return tuple(joint for arm in read_description(robot)["arms"] for joint in arm["joints"])


def panda_urdf() -> Path:
    """Returns the Panda of the package `pybullet_data` with the inertias of `franka_panda_inertials.yaml`."""
    return _make_panda(cache_root())


def drawn_panda_urdf() -> Path:
    """Returns the Panda for pictures: the same joints and colliders, with the maker's visual meshes if they exist."""
    from unlatch.robots.drawn_panda import drawn_panda

    return drawn_panda(panda_urdf())


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
        # beside the URDF, as in the original: a URDF names no files outside its own folder
        shutil.copytree(meshes, temporary / "meshes")
        (temporary / f"{name}.urdf").write_text(text, encoding="utf-8")

    return cached_model(root, name, text, files, write_model)


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
