"""Compares what Unlatch takes a part for with what people call it, and with what it was drawn as.

Usage: python benchmarks/part_kinds.py [drawn=40] [seed=0] [partnet=FOLDER,FOLDER]

Draws objects of ten kinds in varied sizes and proportions, without names, turned, lying on their backs, and with meshes
in millimetres. The folders (default: UNLATCH_PARTNET_DIR) hold objects of PartNet-Mobility, where `semantics.txt` says
what people call a part. Each of these is tried with its names and without them. A door and a lid count as the same: the
same part of a box is one or the other, depending on how the box stands. Prints every disagreement.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import trimesh

from unlatch.objects.annotate.annotator import AnnotateCfg, sized_parts
from unlatch.objects.annotate.joints import all_joint_ends, fitting_joints, joint_choices
from unlatch.objects.annotate.source import PARTNET_URDF, ObjectGeometry, SourceObject, read_source
from unlatch.workflows.cli.terminal import run_guarded

X, Y, Z = np.eye(3)
Piece = tuple[Sequence[float], Sequence[float]]
"""Middle and extents of a box [m]; extents of two numbers are the radius and the length of a cylinder along x."""
PEOPLE = {
    **dict.fromkeys(("door", "lid", "screen", "stapler_body", "rotation_door", "rotation_lid"), "door or lid"),
    **dict.fromkeys(("handle", "switch", "lever"), "lever"),
    "drawer": "drawer",
    "slider": "slider",
    "rotation_slider": "slider",
    "toggle_button": "switch",
    "button": "button",
    "knob": "knob",
    "screwed_lid": "knob",
}
"""Our word for the names of `semantics.txt`. Others name whole objects, which a task lifts or moves."""

LIES = ("door", "lid", "knob", "lever", "switch")
"""Parts that keep their word if the object lies on its back; a drawer would become a lid or a slider."""


@dataclass(frozen=True)
class Drawn:
    """An object with one part: closed, z up, its front towards +x."""

    word: str
    """What the part is."""
    body: list[Piece]
    part: list[Piece]
    kind: str
    """Type of the joint."""
    at: np.ndarray
    axis: np.ndarray
    upper: float
    lower: float = 0.0


def _tub(depth: float, width: float, height: float, board: float = 0.01) -> list[Piece]:
    """Returns a box without a lid; its rim is at z = 0."""
    low = -height / 2
    sides = [((0, s * width / 2, low), (depth, board, height)) for s in (1, -1)]
    ends = [((s * depth / 2, 0, low), (board, width, height)) for s in (1, -1)]
    return [((0, 0, -height), (depth, width, board)), *sides, *ends]


def _cabinet(depth: float, width: float, height: float) -> list[Piece]:
    """Returns a box that is open towards +x; its front is at x = 0."""
    return [((z, y, x), (c, b, a)) for (x, y, z), (a, b, c) in _tub(height, width, depth)]


def draw_door(rng: np.random.Generator) -> Drawn:
    """Draws a panel that turns about an upright edge."""
    width, thick = rng.uniform(0.15, 0.8), rng.uniform(0.01, 0.04)
    height, side = width * rng.uniform(0.25, 4.0), rng.choice([-1.0, 1.0])
    part: list[Piece] = [((thick / 2, 0, 0), (thick, width, height))]
    if rng.random() < 0.5:
        part.append(((thick + 0.04, side * 0.4 * width, 0), (0.012, 0.012, 0.4 * height)))
    at = np.array([0.0, -side * width / 2, 0.0])
    kind = "continuous" if rng.random() < 0.25 else "revolute"
    return Drawn("door", _cabinet(rng.uniform(0.1, 0.5), width, height), part, kind, at, -side * Z, 1.6)


def draw_flap(rng: np.random.Generator) -> Drawn:
    """Draws a panel in the front that turns about its lower or its upper edge."""
    width, height = rng.uniform(0.2, 0.9), rng.uniform(0.12, 0.5)
    side, thick = rng.choice([-1.0, 1.0]), rng.uniform(0.01, 0.06)
    part: list[Piece] = [((thick / 2, 0, 0), (thick, width, height))]
    return Drawn("door", _cabinet(0.3, width, height), part, "revolute", -side * height / 2 * Z, side * Y, 1.5)


def draw_lid(rng: np.random.Generator) -> Drawn:
    """Draws a flat or a deep panel on top, hinged at an edge or a little inside of it."""
    depth, width, inside = rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.6), rng.uniform(0.0, 0.12)
    thick = rng.uniform(0.005, 0.3) * depth
    at = np.array([(inside - 0.5) * depth, 0.0, 0.0])
    return Drawn("lid", _tub(depth, width, 0.2), [((0, 0, thick / 2), (depth, width, thick))], "revolute", at, -Y, 1.8)


def draw_swing(rng: np.random.Generator) -> Drawn:
    """Draws a panel that turns about its middle, in a frame."""
    width, height = rng.uniform(0.2, 0.6, size=2)
    frame: list[Piece] = [((0, s * (width / 2 + 0.02), 0), (0.06, 0.03, height + 0.07)) for s in (1, -1)]
    frame += [((0, 0, s * (height / 2 + 0.02)), (0.06, width, 0.03)) for s in (1, -1)]
    at = np.array([0.0, rng.uniform(-0.1, 0.1) * width, 0.0])
    return Drawn("door", frame, [((0, 0, 0), (0.02, width, height))], "revolute", at, Z, 1.2, -1.2)


def draw_drawer(rng: np.random.Generator) -> Drawn:
    """Draws a low, a tall or a narrow drawer."""
    depth, width, height = rng.uniform(0.2, 0.5), *rng.uniform(0.06, 0.6, size=2)
    part: list[Piece] = [
        ((0.01, 0, 0), (0.02, width, height)),
        ((-0.4 * depth, 0, 0), (0.8 * depth, 0.9 * width, 0.02)),
    ]
    return Drawn("drawer", _cabinet(depth, width, height), part, "prismatic", np.zeros(3), X, 0.7 * depth)


def draw_knob(rng: np.random.Generator) -> Drawn:
    """Draws a disc, a cap, a bar across its axis, or a knob with a pointer."""
    radius = rng.uniform(0.012, 0.1)
    long = radius * rng.uniform(0.4, 2.5)
    part: list[Piece] = [((long / 2, 0, 0), (radius, long))]
    shape = rng.integers(3)
    if shape == 0:
        part.append(((long, 0, 0), (0.4 * radius, 0.3 * radius, 2 * radius)))
    elif shape == 1:
        part.append(((long, 0, 0.7 * radius), (0.2 * radius, 0.2 * radius, 1.4 * radius)))
    body: list[Piece] = [((-0.1, 0.05, 0.1), (0.2, 0.4, 0.5))]
    kind = "continuous" if rng.random() < 0.3 else "revolute"
    return Drawn("knob", body, part, kind, np.zeros(3), X * rng.choice([-1.0, 1.0]), rng.uniform(1.5, 6.0))


def draw_lever(rng: np.random.Generator) -> Drawn:
    """Draws an arm beside a hub, which turns in the plane of the face or out of it."""
    long = rng.uniform(0.05, 0.25)
    wide, thick = long * rng.uniform(0.08, 0.25, size=2)
    hub = wide * rng.uniform(0.5, 0.8)
    part: list[Piece] = [((0.02, 0, 0), (hub, 0.04)), ((0.04, long / 2, 0), (thick, long, wide))]
    body: list[Piece] = [((-0.1, 0, 0), (0.2, 0.4, 0.4))]
    axis = X if rng.random() < 0.7 else Z
    return Drawn("lever", body, part, "revolute", np.zeros(3), axis, rng.uniform(0.6, 1.6))


def draw_bail(rng: np.random.Generator) -> Drawn:
    """Draws the loop by which a bucket is carried."""
    width, rod = rng.uniform(0.15, 0.4), rng.uniform(0.005, 0.015)
    long = width * rng.uniform(0.4, 0.9)
    arms: list[Piece] = [((long / 2, s * width / 2, 0), (long, rod, rod)) for s in (1, -1)]
    part = [*arms, ((long, 0, 0), (rod, width + rod, rod))]
    return Drawn("lever", _tub(0.9 * width, 0.9 * width, width), part, "revolute", 0.02 * Z, -Y, 3.0)


def draw_button(rng: np.random.Generator) -> Drawn:
    """Draws a small stud that goes into the body."""
    radius, out = rng.uniform(0.006, 0.03), rng.uniform(0.003, 0.01)
    body: list[Piece] = [((-0.1, 0, 0.1), (0.2, 0.4, 0.5))]
    return Drawn("button", body, [((out / 2, 0, 0), (radius, out))], "prismatic", np.zeros(3), -X, 0.8 * out)


def draw_switch(rng: np.random.Generator) -> Drawn:
    """Draws a rocker."""
    long = rng.uniform(0.015, 0.05)
    part: list[Piece] = [((0.003, 0, 0), (0.006, 0.5 * long, long))]
    body: list[Piece] = [((-0.1, 0.05, 0.1), (0.2, 0.4, 0.5))]
    return Drawn("switch", body, part, "revolute", np.zeros(3), Y, 0.1, -0.1)


DRAW: tuple[Callable[[np.random.Generator], Drawn], ...] = (
    draw_door,
    draw_flap,
    draw_lid,
    draw_swing,
    draw_drawer,
    draw_knob,
    draw_lever,
    draw_bail,
    draw_button,
    draw_switch,
)


def write_drawn(drawn: Drawn, folder: Path, rng: np.random.Generator) -> Path:
    """Writes the URDF of a drawn object, turned about z; half of them in millimetres, some of them on their backs."""
    in_mm = bool(rng.random() < 0.5)
    lies = drawn.word in LIES and rng.random() < 0.3
    links = "".join(
        f'<link name="{name}"><visual><geometry>{_write_mesh(pieces, offset, folder / f"{name}.stl", in_mm=in_mm)}'
        "</geometry></visual></link>"
        for name, pieces, offset in (("a1", drawn.body, np.zeros(3)), ("a2", drawn.part, drawn.at))
    )
    place, axis = (" ".join(f"{value:.9f}" for value in vector) for vector in (drawn.at, drawn.axis))
    path = folder / "thing.urdf"
    path.write_text(
        f'<robot name="thing"><link name="a0"/>{links}<joint name="j0" type="fixed">'
        f'<origin rpy="0 {-np.pi / 2 if lies else 0.0} {rng.uniform(-np.pi, np.pi)}"/>'
        f'<parent link="a0"/><child link="a1"/></joint><joint name="j1" type="{drawn.kind}">'
        f'<origin xyz="{place}"/><axis xyz="{axis}"/><parent link="a1"/><child link="a2"/>'
        f'<limit lower="{drawn.lower}" upper="{drawn.upper}" effort="9" velocity="1"/></joint></robot>'
    )
    return path


def _write_mesh(pieces: list[Piece], offset: np.ndarray, path: Path, *, in_mm: bool) -> str:
    solids = []
    for middle, size in pieces:
        solid = trimesh.creation.box(size) if len(size) == 3 else trimesh.creation.cylinder(size[0], size[1])
        if len(size) == 2:
            solid.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, Y))
        solid.apply_translation(np.asarray(middle) - offset)
        solids.append(solid)
    whole = trimesh.util.concatenate(solids)
    whole.apply_scale(1000.0 if in_mm else 1.0)
    whole.export(path)
    scale = 0.001 if in_mm else 1.0
    return f'<mesh filename="{path.name}" scale="{scale} {scale} {scale}"/>'


def word_of(source: SourceObject, *, with_names: bool) -> tuple[str, str]:
    """Returns what Unlatch takes the first part of an object for, and the reason."""
    geometry = ObjectGeometry(source)
    ends = all_joint_ends(geometry)
    (choice, *_) = fitting_joints(geometry, joint_choices(geometry, ends))
    choice = choice if with_names else replace(choice, names="")
    (part,) = sized_parts(geometry, [choice], ends, AnnotateCfg(use_info=False), rigid_only=True)
    return part.word, part.posed.reason


def drawn_words(count: int, rng: np.random.Generator) -> Iterator[tuple[str, str, str]]:
    """Yields, for objects of every kind in turn, what was drawn, what Unlatch takes it for, and the reason."""
    for number in range(count):
        drawn = DRAW[number % len(DRAW)](rng)
        with tempfile.TemporaryDirectory() as folder:
            yield drawn.word, *word_of(read_source(write_drawn(drawn, Path(folder), rng)), with_names=False)


def people_words(roots: Sequence[Path], *, with_names: bool) -> Iterator[tuple[str, str, str, str]]:
    """Yields the object, what people call its part in our words, what Unlatch takes it for, and the reason."""
    for folder in sorted(path.parent for root in roots for path in root.rglob(PARTNET_URDF)):
        source = read_source(folder)
        joint = next(joint for joint in source.model.joints.values() if joint.moves)
        name = source.semantics.get(joint.child, "")
        if "slider+" in (folder / "semantics.txt").read_text():
            name = "screwed_lid"
        if name in PEOPLE:
            word, reason = word_of(source, with_names=with_names)
            yield f"{folder.parent.name}/{folder.name} ({name})", PEOPLE[name], word, reason


def is_same(wanted: str, word: str) -> bool:
    """Returns whether two words name the same kind; a door and a lid do."""
    return word in wanted or {word, wanted} <= {"door", "lid"}


def _print_table(title: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
    right = Counter(wanted for _, wanted, word, _ in rows if is_same(wanted, word))
    print(f"{title}: {right.total()} of {len(rows)}")
    for wanted, count in sorted(Counter(wanted for _, wanted, _, _ in rows).items()):
        print(f"  {wanted}: {right[wanted]} of {count}")
    for name, wanted, word, reason in rows:
        if not is_same(wanted, word):
            print(f"  differs: {name}: a {word} ({reason}), not a {wanted}")


def main() -> None:
    """Prints the tables."""
    pairs = dict(argument.split("=", 1) for argument in sys.argv[1:])
    rng = np.random.default_rng(int(pairs.get("seed", "0")))
    drawn = drawn_words(int(pairs.get("drawn", "40")), rng)
    _print_table("drawn objects, without names", [(f"number {n}", *row) for n, row in enumerate(drawn)])
    roots = [Path(root) for root in pairs.get("partnet", os.environ.get("UNLATCH_PARTNET_DIR", "")).split(",") if root]
    for with_names, how in ((False, "without names"), (True, "with names")):
        if roots:
            _print_table(f"parts named by people, {how}", list(people_words(roots, with_names=with_names)))


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
