"""Checks the values of a URDF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.model import ShapeKind, UrdfModel
from unlatch.simcore.urdf.xml import parse_xml

_KINDS = ("continuous", "fixed", "prismatic", "revolute")
_MOST_LINKS = 2000


def check_model(path: Path, model: UrdfModel) -> None:
    """Refuses values that no simulation can use: negative masses, sizes of 0, inverted limits, unknown joints.

    Raises:
        AssetError: The URDF has such a value; the message states the first one and its element.
    """
    problem = next(_find_problems(path, model), None)
    if problem is not None:
        raise AssetError(f"{path}: {problem}", path=str(path))


def _find_problems(path: Path, model: UrdfModel) -> Iterator[str]:
    if len(model.links) > _MOST_LINKS:
        yield f"{len(model.links)} links, at most {_MOST_LINKS} are converted."
    for element in parse_xml(path).findall("link"):
        mass = element.find("inertial/mass")
        text = mass.get("value", "0") if mass is not None else "0"
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0.0 <= value < 1e9:
            yield f"link '{element.get('name')}' has a mass of {text} kg. Expected 0 or more. Correct the file."
    for link in model.links.values():
        for shape in (*link.visuals, *link.collisions):
            size = " ".join(f"{value:g}" for value in shape.size)
            if shape.kind is not ShapeKind.mesh and any(value <= 0.0 for value in shape.size):
                yield f"a {shape.kind.value} of link '{link.name}' has size {size}, expected numbers above 0."
            if shape.kind is ShapeKind.mesh and any(abs(value) < 1e-9 for value in shape.size):
                yield f"a mesh of link '{link.name}' has scale {size}, and a 0 makes it flat."
    for joint in model.joints.values():
        if joint.kind not in _KINDS:
            yield f"joint '{joint.name}' is of type '{joint.kind}'. Expected {', '.join(_KINDS)}."
        if joint.moves and joint.kind != "continuous" and joint.lower > joint.upper:
            yield (
                f"joint '{joint.name}' has the lower limit {joint.lower:g} above the upper one {joint.upper:g}. "
                "Swap them."
            )
        for name in ("damping", "friction", "effort", "velocity"):
            if joint.moves and getattr(joint, name) < 0.0:
                yield f"joint '{joint.name}' has {name}={getattr(joint, name):g}. Expected 0 or more."
