"""The drawing of the packages is that of the code: `python docs/_site/package_drawing.py` makes it again."""

import re
import sys
from functools import cache

import pytest

from tests.architecture.test_layers import MODULES, PACKAGES, ROOT

sys.path.insert(0, str(ROOT / "docs" / "_site"))
import package_drawing as drawing

tomllib = pytest.importorskip("tomllib")

DRAWN = drawing.OUT.read_text(encoding="utf-8")
draw = cache(drawing.draw)
CHANGE = 0.2
"""Largest share by which a package may grow or shrink before it must be drawn again."""


def words(svg: str) -> list[str]:
    return [text for text in re.findall(r">([^<]+)</text>", svg) if not re.fullmatch(r"[\d,]+(, \d+| lines, .*)", text)]


def sizes(svg: str) -> dict[str, int]:
    """Lines by package."""
    packages = re.findall(r"<g data-package='(\w+)'>.*?>([\d,]+) lines, ", svg, re.DOTALL)
    return {name: int(lines.replace(",", "")) for name, lines in packages}


def contract(name: str) -> dict[str, list[str]]:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (found,) = (entry for entry in content["tool"]["importlinter"]["contracts"] if entry["name"] == name)
    return found


def test_every_package_is_in_the_layer_that_the_linter_holds():
    assert sorted(drawing.packages()) == sorted(PACKAGES)
    layers = [set(layer.split(" | ")) for layer in contract("imports between packages go down only")["layers"]]
    assert [set(layer) for layer in drawing.LAYERS] == layers


def test_side_products_are_those_that_the_core_may_not_import():
    boxes = [box for layer in drawing.LAYERS for rows in layer.values() for row in rows for box in row]
    side = {f"unlatch.{name}" for box in boxes if box.kind == drawing.SIDE for name in box.modules}
    assert side == set(contract("the core imports no side product")["forbidden_modules"])


def test_every_module_is_in_one_box():
    boxes = {box for layer in drawing.LAYERS for rows in layer.values() for row in rows for box in row}
    assert sum(drawing.measure(box)[0] for box in {*boxes, drawing.PUBLIC}) == len(MODULES)
    assert [box.label for box in boxes if drawing.measure(box)[0] == 0] == []


def test_the_file_has_the_boxes_and_arrows_of_the_code():
    new = draw()
    assert words(DRAWN) == words(new)
    assert DRAWN.count("<line ") == new.count("<line ")


def test_the_file_has_about_the_sizes_of_the_code():
    drawn, now = sizes(DRAWN), sizes(draw())
    assert drawn.keys() == now.keys()
    assert {name for name in now if abs(now[name] - drawn[name]) > CHANGE * now[name]} == set()
