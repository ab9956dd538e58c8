"""Writes stretched copies of PartNet-Mobility objects: new shapes, on which no rule was written.

Usage: UNLATCH_PARTNET_DIR=FOLDER python benchmarks/stretch_objects.py [seed=0] [out=data/stretched]
       UNLATCH_PARTNET_DIR=data/stretched python benchmarks/any_urdf.py categories=all n=10

Each object is stretched along its three axes by factors between 0.7 and 1.4, drawn on a logarithmic scale: its meshes,
the places of its joints and the ranges of what slides. Directions of sliding follow; hinges keep theirs.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from unlatch.objects.annotate.source import PARTNET_URDF
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded

LEAST, LARGEST = 0.7, 1.4


@dataclass
class Cfg:
    """The keys of this command."""

    seed: int = 0
    out: str = "data/stretched"
    """Folder of the copies, which must not exist."""


def stretch(root: ET.Element, factors: np.ndarray) -> None:
    """Stretches a URDF by factors (3,) along the axes of its links, all of which but the root's are parallel."""
    for body in (*root.iter("visual"), *root.iter("collision")):
        _scale(body.find("origin"), factors)
        for mesh in body.iter("mesh"):
            mesh.set("scale", _words(factors))
    for joint in root.iter("joint"):
        origin, axis, limit = joint.find("origin"), joint.find("axis"), joint.find("limit")
        if origin is None or not np.any(_numbers(origin.get("rpy", "0 0 0"))):  # the root's joint only turns
            _scale(origin, factors)
        if joint.get("type") == "prismatic" and axis is not None and limit is not None:
            direction = _numbers(axis.get("xyz", "1 0 0"))
            stretched = direction * factors
            longer = float(np.linalg.norm(stretched) / np.linalg.norm(direction))
            axis.set("xyz", _words(stretched / np.linalg.norm(stretched)))
            for end in ("lower", "upper"):
                limit.set(end, f"{float(limit.get(end, '0')) * longer:.9g}")


def _scale(origin: ET.Element | None, factors: np.ndarray) -> None:
    if origin is not None:
        origin.set("xyz", _words(_numbers(origin.get("xyz", "0 0 0")) * factors))


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def _words(numbers: np.ndarray) -> str:
    return " ".join(f"{number:.9g}" for number in numbers)


def main(arguments: list[str]) -> int:
    """Writes a copy of each object."""
    cfg = read_pairs(Cfg, arguments)
    source, out = Path(os.environ.get("UNLATCH_PARTNET_DIR", "")), Path(cfg.out)
    paths = sorted(source.rglob(PARTNET_URDF)) if os.environ.get("UNLATCH_PARTNET_DIR") else []
    if not paths:
        raise ConfigError("UNLATCH_PARTNET_DIR names no folder with objects of PartNet-Mobility. Set it.")
    if out.exists():
        raise ConfigError(f"out={out} exists. Remove it, or name another folder.", key="out")
    rng = np.random.default_rng(cfg.seed)
    for path in paths:
        copy = out / path.parent.relative_to(source)
        shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("images", "info.json"))
        tree = ET.parse(path)
        stretch(tree.getroot(), np.exp(rng.uniform(np.log(LEAST), np.log(LARGEST), 3)))
        tree.write(copy / PARTNET_URDF)
    print_line(f"{len(paths)} objects written to {out}")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
