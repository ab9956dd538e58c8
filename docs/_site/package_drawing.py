"""Draws the packages in their layers, with their size and imports: `python docs/_site/package_drawing.py`.

Writes `docs/images/packages.svg`. Sizes and arrows come from the files. An arrow says that modules of the upper package
import modules of the lower one; an arrow that others lead to as well is left out. A test compares names and arrows.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "images" / "packages.svg"

USE, CORE, SIDE = "use", "core", "side"
COLOURS = {USE: ("#eceff1", "#78909c"), CORE: ("#b2dfdb", "#00796b"), SIDE: ("#ffe0b2", "#ef6c00")}
"""Fill and edge of a box."""


@dataclass(frozen=True)
class Box:
    """One box of the drawing."""

    label: str
    kind: str
    modules: tuple[str, ...]
    """Packages and modules below `unlatch` that it stands for; a part that has its own box is not counted here."""


def _box(label: str, kind: str, *modules: str) -> Box:
    return Box(label, kind, modules or (label,))


def _in(package: str, kind: str, *names: str) -> list[Box]:
    return [Box(name, kind, (f"{package}.{name}",)) for name in names]


_SIDE_WORKFLOWS = ("viewing", "studio", "images", "policies", "gym", "checks", "assets", "testing", "hub")
PUBLIC = Box("public modules", USE, ("",))
LAYERS: tuple[dict[str, tuple[list[Box], ...]], ...] = (
    {
        "workflows": (
            [Box("commands", USE, ("workflows.commands", "workflows")), *_in("workflows", USE, "cli")],
            _in("workflows", SIDE, *_SIDE_WORKFLOWS),
            [
                Box("runs", CORE, ("workflows.runs",)),
                Box("Ray, Slurm", SIDE, ("workflows.runs.ray_cluster", "workflows.runs.hydra_launcher")),
            ],
            _in("workflows", CORE, "episode"),
        )
    },
    {"configs": ([_box("configs", CORE), *_in("configs", SIDE, "peer_tasks")],)},
    {"skills": ([_box("skills", CORE), *_in("skills", CORE, "strategies")],), "tasks": ([_box("tasks", CORE)],)},
    {
        "robots": (
            [
                _box("robots", CORE),
                Box(
                    "from URDF",
                    SIDE,
                    (
                        "robots.robot_from_urdf",
                        "robots.foreign_models",
                        "robots.hand_mending",
                        "robots.mounted_gripper",
                    ),
                ),
            ],
        ),
        "solver": ([_box("solver", CORE)],),
        "objects": (
            [
                _box("objects", CORE),
                *_in("objects", CORE, "procedural"),
                *_in("objects", SIDE, "importers", "annotate"),
            ],
        ),
    },
    {
        "simcore": (
            [
                *_in("simcore", CORE, "recording"),
                Box(
                    "export, images",
                    SIDE,
                    ("simcore.recording.export", "simcore.recording.renders", "simcore.recording.frame_video"),
                ),
                *_in("simcore", CORE, "randomization"),
            ],
            [
                *_in("simcore", CORE, "sim"),
                Box("renderers", SIDE, ("simcore.sim.renderers",)),
                Box("annotators", SIDE, ("simcore.sim.annotators",)),
            ],
            [
                *_in("simcore", CORE, "state", "meshes", "urdf", "geometry"),
                Box("cache, errors, files ...", CORE, ("simcore",)),
            ],
        )
    },
)
"""The top-level packages from above, each with the rows of its boxes; those of one row may stand side by side."""


def packages() -> list[str]:
    """Returns the top-level packages from above."""
    return [name for layer in LAYERS for name in layer]


@cache
def module_files() -> dict[str, Path]:
    """Returns the files of the product by module, without the leading `unlatch`; of `unlatch/` with a dot."""
    files = {f".{path.stem}": path for path in (ROOT / "unlatch").glob("*.py")}
    for path in chain.from_iterable((ROOT / name).rglob("*.py") for name in packages()):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def measure(box: Box) -> tuple[int, int]:
    """Returns the numbers of modules and of lines that a box stands for."""
    own = [path for name, path in module_files().items() if _box_of(name) == box]
    return len(own), sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)


@cache
def _box_of(module: str) -> Box:
    if module.startswith("."):
        return PUBLIC
    boxes = [box for layer in LAYERS for rows in layer.values() for row in rows for box in row]
    fitting = [(len(name), box) for box in boxes for name in box.modules if f"{module}.".startswith(f"{name}.")]
    return max(fitting, key=lambda found: found[0])[1]


@cache
def arrows() -> list[tuple[str, str]]:
    """Returns which top-level package imports which other one, without those that others lead to as well."""
    names = packages()
    direct = {name: set[str]() for name in names}
    for module, path in module_files().items():
        if not module.startswith("."):
            direct[module.partition(".")[0]] |= {name for name in _imported_packages(path) if name in names}
    below = {name: {other for other in direct[name] if other != name} for name in names}
    return sorted(
        (upper, lower)
        for upper in names
        for lower in below[upper]
        if not any(lower in below[between] for between in below[upper])
    )


def _imported_packages(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unlatch."):
            yield str(node.module).split(".")[1]


WIDTH, MARGIN, GAP, PAD = 1000, 20, 8, 10
BOX_HEIGHT, HEAD_HEIGHT, ARROW_HEIGHT = 40, 22, 34
FONT = "font-family='system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class _Place:
    """Where a package is drawn [px]."""

    left: float
    right: float
    top: float
    bottom: float


def draw() -> str:
    """Returns the drawing as SVG."""
    parts: list[str] = []
    places: dict[str, _Place] = {}
    y = float(MARGIN + 34)
    names = "unlatch, unlatch.skills, .robots, .objects, .solver, .sim, .data ..."
    parts += _draw_box(PUBLIC, MARGIN, y, WIDTH - 2 * MARGIN, text=names)
    places["public"] = _Place(MARGIN, WIDTH - MARGIN, y, y + BOX_HEIGHT)
    y += BOX_HEIGHT + ARROW_HEIGHT
    for layer in LAYERS:
        widths = _share_width([_weight(rows) for rows in layer.values()], WIDTH - 2 * MARGIN, GAP * 2, least=210)
        height = max(HEAD_HEIGHT + len(rows) * (BOX_HEIGHT + GAP) for rows in layer.values()) + PAD - GAP
        x = float(MARGIN)
        for (name, rows), width in zip(layer.items(), widths, strict=True):
            parts += _draw_package(name, rows, x, y, width, height)
            places[name] = _Place(x, x + width, y, y + height)
            x += width + GAP * 2
        y += height + ARROW_HEIGHT
    lines = [_draw_arrow(places["public"], places["workflows"])]
    lines += [_draw_arrow(places[upper], places[lower]) for upper, lower in arrows()]
    height = y - ARROW_HEIGHT + MARGIN
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height:.0f}' {FONT}>",
            "<title>The packages of Unlatch in their layers; imports go down only</title>",
            "<defs><marker id='head' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='9' orient='auto'>",
            "<path d='M0,0 L8,4 L0,8 z' fill='#455a64'/></marker></defs>",
            _rect(0, 0, WIDTH, height, "#ffffff", "#ffffff"),
            *_draw_legend(),
            *parts,
            *lines,
            "</svg>",
            "",
        ]
    )


def _weight(rows: Sequence[Sequence[Box]]) -> float:
    return float(sum(measure(box)[1] for row in rows for box in row))


def _share_width(weights: Sequence[float], width: float, gap: float, *, least: float) -> list[float]:
    """Divides a width by weights; none gets less than `least`, as far as there is room."""
    room = width - gap * (len(weights) - 1)
    least = min(least, room / len(weights))
    spare = room - least * len(weights)
    return [least + spare * weight / sum(weights) for weight in weights]


def _draw_legend() -> Iterator[str]:
    words = {
        USE: "how it is used",
        CORE: "core: what an episode needs",
        SIDE: "side products, on registries and commands",
    }
    x = float(MARGIN)
    for kind, text in words.items():
        yield _rect(x, MARGIN, 16, 16, *COLOURS[kind])
        yield _text(x + 22, MARGIN + 13, text, size=13)
        x += 40 + 7.0 * len(text)
    yield _text(WIDTH - MARGIN, MARGIN + 13, "in a box: lines, modules", size=12, anchor="end", colour="#455a64")


def _draw_package(
    name: str, rows: Sequence[Sequence[Box]], x: float, y: float, width: float, height: float
) -> Iterator[str]:
    modules, lines = (sum(values) for values in zip(*(measure(box) for row in rows for box in row), strict=True))
    yield f"<g data-package='{name}'>"
    yield _rect(x, y, width, height, "#fafafa", "#90a4ae")
    yield _text(x + PAD, y + 16, name, size=14, bold=True)
    words = f"{lines:,} lines, {modules} modules"
    yield _text(x + width - PAD, y + 16, words, size=12, anchor="end", colour="#455a64")
    for number, row in enumerate(rows):
        top = y + HEAD_HEIGHT + number * (BOX_HEIGHT + GAP)
        widths = _share_width([float(measure(box)[1]) for box in row], width - 2 * PAD, GAP, least=92)
        left = x + PAD
        for box, share in zip(row, widths, strict=True):
            yield from _draw_box(box, left, top, share)
            left += share + GAP
    yield "</g>"


def _draw_box(box: Box, x: float, y: float, width: float, *, text: str = "") -> Iterator[str]:
    modules, lines = measure(box)
    yield _rect(x, y, width, BOX_HEIGHT, *COLOURS[box.kind])
    label = f"{box.label}: {text}" if text else box.label
    yield _text(x + width / 2, y + 17, label, size=13, anchor="middle")
    yield _text(x + width / 2, y + 32, f"{lines:,}, {modules}", size=11, anchor="middle", colour="#455a64")


def _draw_arrow(upper: _Place, lower: _Place) -> str:
    """An arrow from the bottom of one box to the top of another, upright where one is below the other."""
    left, right = max(upper.left, lower.left), min(upper.right, lower.right)
    if right - left > 4 * PAD:
        start = end = (left + right) / 2
    else:
        start, end = (upper.left + upper.right) / 2, (lower.left + lower.right) / 2
    return (
        f"<line x1='{start:.1f}' y1='{upper.bottom:.1f}' x2='{end:.1f}' y2='{lower.top:.1f}' "
        "stroke='#455a64' stroke-width='1.4' marker-end='url(#head)'/>"
    )


def _text(
    x: float, y: float, text: str, *, size: int, anchor: str = "start", bold: bool = False, colour: str = "#102027"
) -> str:
    style = f"font-size='{size}' text-anchor='{anchor}' fill='{colour}'" + (" font-weight='600'" if bold else "")
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(text)}</text>"


def _rect(x: float, y: float, width: float, height: float, fill: str, edge: str) -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}'"
    return f"<rect {place} rx='4' fill='{fill}' stroke='{edge}'/>"


if __name__ == "__main__":
    OUT.write_text(draw(), encoding="utf-8")
    sys.stdout.write(f"{OUT}\n")
