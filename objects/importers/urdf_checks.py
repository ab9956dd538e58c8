"""Checks the values of a URDF."""

from __future__ import annotations

from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel
from unlatch.simcore.urdf.xml import parse_xml

_KINDS = ("continuous", "fixed", "prismatic", "revolute")
_MOST_LINKS = 2000


def check_model(path: Path, model: UrdfModel) -> None:
    """Refuses values that no simulation can use: negative masses, sizes of 0, inverted limits, unknown joints.

    Raises:
        AssetError: The first thing that is wrong, by the name of its element.
    """
    if len(model.links) > _MOST_LINKS:
        raise AssetError(f"{path}: {len(model.links)} links, at most {_MOST_LINKS} are converted.", path=str(path))
    for element in parse_xml(path).findall("link"):
        mass = element.find("inertial/mass")
        text = mass.get("value", "0") if mass is not None else "0"
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0.0 <= value < 1e9:
            raise AssetError(
                f"{path}: link '{element.get('name')}' has a mass of {text} kg. Expected 0 or more. Correct the file.",
                path=str(path),
            )
    for link in model.links.values():
        for shape in (*link.visuals, *link.collisions):
            problem = _size_problem(shape)
            if problem is not None:
                raise AssetError(f"{path}: a {shape.kind.value} of link '{link.name}' {problem}.", path=str(path))
    for joint in model.joints.values():
        if joint.kind not in _KINDS:
            raise AssetError(
                f"{path}: joint '{joint.name}' is of type '{joint.kind}'. Expected {', '.join(_KINDS)}.", path=str(path)
            )
        if joint.moves and joint.kind != "continuous" and joint.lower > joint.upper:
            raise AssetError(
                f"{path}: joint '{joint.name}' has the lower limit {joint.lower:g} above the upper one "
                f"{joint.upper:g}. Swap them.",
                path=str(path),
            )
        for name in ("damping", "friction", "effort", "velocity"):
            if joint.moves and getattr(joint, name) < 0.0:
                raise AssetError(
                    f"{path}: joint '{joint.name}' has {name}={getattr(joint, name):g}. Expected 0 or more.",
                    path=str(path),
                )


def _size_problem(shape: Shape) -> str | None:
    if shape.kind is ShapeKind.mesh:
        if any(abs(value) < 1e-9 for value in shape.size):
            return f"has scale {_join_values(shape.size)}, and a 0 leaves no body"
        return None
    if any(value <= 0.0 for value in shape.size):
        return f"has size {_join_values(shape.size)}, expected numbers above 0"
    return None


def _join_values(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)
