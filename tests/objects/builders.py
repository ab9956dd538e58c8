"""Generated objects, and texts of files with parts replaced."""

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.textured_files import textured_files
from unlatch.simcore.meshes.solids import convex_hull

DIFFERENT = ("bottle", "carton", "drawer_cabinet", "faucet", "microwave", "mug")
"""A cap, flaps, drawers, levers and knobs, a door, and nothing that moves: categories that stand for all others."""


def most_heavy(names, others):
    """The names as parameters, all but some others marked as heavy."""
    return [name if name in others else pytest.param(name, marks=pytest.mark.heavy) for name in names]


every_category = pytest.mark.parametrize("category", most_heavy(GENERATORS.own_names(), DIFFERENT))


def generated(category, instance=0, **more):
    """Loads a generated object."""
    return load_instance(ObjectCfg(**{"name": category, "category": category, "instance": str(instance), **more}))


def write_drawn(made, folder):
    """Writes what is drawn of a generated object to a folder; returns the URDF."""
    model, files = textured_files(made)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in {"object.urdf": model.to_urdf().encode(), **files}.items():
        (folder / name).write_bytes(data)
    return folder / "object.urdf"


def box_mesh(low, high):
    """A box between two corners."""
    corners = [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return convex_hull(np.array(corners))


def edit(path, *pairs):
    """Replaces texts in a file, each of which must be there; returns the file."""
    text = path.read_text()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)
    return path


def files_of(folder):
    """The contents of all files below a folder, by their paths in it."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
