"""Reads an MJCF that MuJoCo refuses: one for an older MuJoCo (mujoco-py, D4RL), or for a program around it (LIBERO)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from difflib import get_close_matches
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from typing import Any

from unlatch.simcore.urdf.reader import parse_xml

_UNKNOWN = re.compile(r"unrecognized attribute: '(\w+)' Element '(\w+)'")
_UNKNOWN_ELEMENT = re.compile(r"unrecognized element Element '(\w+)'")
_REPEATED = re.compile(r"repeated name '([^']*)' in (texture|material|mesh)\b")
_MASSLESS = "mass and inertia of moving bodies must be larger"
_RENAMED = "top-level default class 'main' cannot be renamed"
_ABOUT_NO_SHAPE = ("compiler", "flag", "global", "headlight", "map", "option", "quality", "size", "statistic")
"""Elements whose attributes say how MuJoCo simulates and draws, not what the model is."""
_WHAT_IT_IS = (
    "asset",
    "attach",
    "body",
    "contact",
    "default",
    "equality",
    "exclude",
    "frame",
    "freejoint",
    "geom",
    "include",
    "inertial",
    "joint",
    "mesh",
    "replicate",
    "tendon",
    "worldbody",
)
"""Elements without which the model would be another one; what is not called nearly so can be left out."""


def read_spec(mujoco: Any, path: Path, notices: list[str]) -> Any:
    """Returns the `mujoco.MjSpec` of a file, also if it has what MuJoCo has dropped since it was written.

    Attributes and elements that this MuJoCo does not know are left out where they say nothing about the model, and of
    two textures, materials or meshes of one name the first counts, with a line each in `notices`. Classes of defaults
    beside `main` become classes below it.

    Raises:
        ValueError: MuJoCo cannot read the file all the same.
        AssetError: A file that it includes is no XML.
    """
    try:
        return mujoco.MjSpec.from_file(str(path))
    except ValueError as exc:
        if _mend(str(exc), {}, []) is None:
            raise
    roots = _included(path)
    while True:
        texts = {name: ET.tostring(root) for name, root in roots.items()}
        try:
            spec = mujoco.MjSpec.from_string(texts[path.name].decode(), include=texts)
        except ValueError as exc:
            if not _mend(str(exc), roots, notices):
                raise
        else:
            spec.modelfiledir = str(path.parent)
            return spec


def _included(path: Path) -> dict[str, ET.Element]:
    """Returns the root elements of a file and of all that it includes, by the names that MuJoCo asks for.

    Files that these name are beside the main file, where an older MuJoCo looked, or beside the one that names them.
    """
    roots: dict[str, ET.Element] = {}
    called = {path.name: path.name}  # MuJoCo knows a file by its last name alone
    left = [path.name]
    while left:
        name = left.pop()
        file = path.parent / normpath(name)
        if name in roots or not file.is_file():
            continue
        roots[name] = parse_xml(file)
        for element in roots[name].iter("include"):
            included = element.get("file", "")
            is_beside_main = (path.parent / included).is_file()
            left.append(included if is_beside_main else normpath(join(dirname(name), included)))
            if (path.parent / left[-1]).is_file():
                last = basename(included)
                element.set("file", called.setdefault(left[-1], f"{len(called)}_{last}"))
        for each in (each for tag in ("mesh", "texture", "hfield") for each in roots[name].iter(tag)):
            places = [folder / each.get("file", "") for folder in (file.parent, path.parent)]
            found = next((place for place in places if place.is_file()), None)
            if found is not None and file.parent != path.parent:
                each.set("file", str(found.resolve()))
    return {called.get(name, name): root for name, root in roots.items()}


def _mend(problem: str, roots: dict[str, ET.Element], notices: list[str]) -> int | None:
    """Takes what MuJoCo complains about out of the files; returns how often, or None if it is about something else."""
    if _RENAMED in problem:
        found = [
            each for root in roots.values() for each in root.findall("default") if each.get("class", "main") != "main"
        ]
        for element in found:
            inner = ET.Element("default", element.attrib)
            inner.extend(list(element))
            for child in list(element):
                element.remove(child)
            element.attrib.clear()
            element.append(inner)
        return len(found)
    problem = " ".join(problem.split())
    stranger, repeated = _UNKNOWN_ELEMENT.search(problem), _REPEATED.search(problem)
    if stranger is not None and not get_close_matches(stranger[1], _WHAT_IT_IS, n=1):
        return _drop(roots, stranger[1], notices)
    if repeated is not None:
        return _drop(roots, repeated[2], notices, name=repeated[1])
    unknown = _UNKNOWN.search(problem)
    if unknown is None or unknown[2] not in _ABOUT_NO_SHAPE:
        return None
    attribute, tag = unknown.groups()
    owners = [each for root in roots.values() for each in root.iter(tag) if attribute in each.attrib]
    for element in owners:
        del element.attrib[attribute]
    notices += [f"left out: '{attribute}' of <{tag}>, which this MuJoCo does not know"] * bool(owners)
    return len(owners)


def _drop(roots: dict[str, ET.Element], tag: str, notices: list[str], *, name: str | None = None) -> int:
    """Takes all elements of a tag out, or with `name` those of this name but the first; returns how many."""
    found = [
        (parent, child)
        for root in roots.values()
        for parent in root.iter()
        for child in parent.findall(tag)
        if name is None or child.get("name") == name
    ][0 if name is None else 1 :]
    for parent, child in found:
        parent.remove(child)
    what = f"<{tag}>, which MuJoCo does not know" if name is None else f"the second {tag} of the name '{name}'"
    notices += [f"left out: {what}"] * bool(found)
    return len(found)


def compile_spec(spec: Any, notices: list[str]) -> Any:
    """Returns the compiled model (`mujoco.MjModel`), also of a part of a scene whose masses only the scene would give.

    Such files count shapes of `inertiagrouprange` alone, and bodies have none of them: there all shapes that touch
    count, which a line added to `notices` says. A body that has one weighs what the file says.

    Raises:
        ValueError: MuJoCo cannot compile it all the same.
    """
    low, high = spec.compiler.inertiagrouprange
    idle, freed = [], []  # shapes that weigh nothing, and names of bodies; a spec that has failed does not list them
    for body in spec.bodies:
        counted = [geom for geom in body.geoms if low <= geom.group <= high]
        if not counted:
            freed += [body.name] * bool(body.name and body.geoms and not body.explicitinertial)
            counted = [geom for geom in body.geoms if geom.contype or geom.conaffinity] or body.geoms
        idle += [geom for geom in body.geoms if geom not in counted]
    try:
        return spec.compile()
    except ValueError as exc:
        if _MASSLESS not in str(exc):
            raise
    spec.compiler.inertiagrouprange = (0, 5)
    for geom in idle:
        geom.mass = 0.0
    model = spec.compile()
    notices.append(
        f"the masses of {', '.join(freed)} count all shapes that touch: none is in inertiagrouprange {low} {high}"
    )
    return model
