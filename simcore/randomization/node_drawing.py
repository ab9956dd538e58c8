"""Draws a graph of nodes as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from unlatch.simcore.errors import shorten

_COLUMNS = {"OgnOnRLFrame": 0, "OgnIntervalFiltering": 1, "OgnCountIndices": 1, "Random3f": 2}
"""Column of a node by its type; all others are in the last column."""
_LAST = 3
_WIDTH, _GAP_X, _GAP_Y, _LINE, _MARGIN = 300, 110, 26, 16, 20
_MAX_TEXT = 40
_FILLS = ("#dbe9f6", "#e3f1dc", "#fdf0cf", "#f7dfdb")


def draw_graph(content: Mapping[str, Any]) -> str:
    """Returns the SVG of a graph in the form of `Graph.to_dict`."""
    heights = [_MARGIN] * (_LAST + 1)
    boxes: list[str] = []
    ports: dict[tuple[str, str, str], tuple[float, float]] = {}
    for node in content["nodes"]:
        column = _COLUMNS.get(node["type"], _LAST)
        x, y = _MARGIN + column * (_WIDTH + _GAP_X), heights[column]
        lines = [(side, *port) for side in ("in", "out") for port in node[f"{side}puts"].items()]
        height = _LINE * (len(lines) + 2)
        boxes.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="5" fill="{_FILLS[column]}"/>')
        boxes.append(_draw_text(x + 8, y + _LINE, f"{node['type']}  {node['name']}", weight="bold"))
        for row, (side, name, value) in enumerate(lines, start=2):
            at = y + row * _LINE
            words = name if value is None else f"{name}: {value}"
            anchor = "start" if side == "in" else "end"
            edge, inset = (x, 8) if side == "in" else (x + _WIDTH, -8)
            boxes.append(_draw_text(edge + inset, at, shorten(words, _MAX_TEXT), anchor=anchor))
            ports[node["name"], side, name] = (edge, at - 0.25 * _LINE)
        heights[column] = y + height + _GAP_Y
    lines_drawn = [
        _draw_curve(ports[edge["from_node"], "out", edge["from_port"]], ports[edge["to_node"], "in", edge["to_port"]])
        for edge in content["edges"]
    ]
    width, height = 2 * _MARGIN + (_LAST + 1) * _WIDTH + _LAST * _GAP_X, max(heights)
    body = "\n".join([*lines_drawn, *boxes])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _draw_text(x: float, y: float, words: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def _draw_curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x0, y0), (x1, y1) = start, end
    bend = max(40.0, 0.5 * abs(x1 - x0))
    return (
        f'<path d="M {x0} {y0} C {x0 + bend} {y0}, {x1 - bend} {y1}, {x1} {y1}" fill="none" stroke="#777" '
        'stroke-width="1"/>'
    )
