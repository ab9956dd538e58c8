"""Names that the pages, examples and templates of version 0.2 imported or listed are still there, with a warning."""

import importlib
import re
import warnings
from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from unlatch import objects, old_path_table, robots
from unlatch.simcore import randomization

NAMES = Path(__file__).with_name("names_of_0_2.txt").read_text(encoding="utf-8").splitlines()
"""A module of version 0.2 and its names, in each line."""
RANDOMIZATION = "gate graph new_setup orchestrator physics_view trigger utils"
"""What pages called as `dr.NAME`."""
CASES = [
    (module, name)
    for module, *names in map(str.split, [*NAMES, f"unlatch.simcore.randomization {RANDOMIZATION}"])
    for name in names
]


def warned(act: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(item.message) for item in caught if issubclass(item.category, DeprecationWarning)]


@pytest.mark.parametrize(("module", "name"), CASES, ids=lambda word: word)
def test_a_name_of_version_0_2_is_there_and_a_moved_one_says_where_it_is(module: str, name: str):
    found = importlib.import_module(module)
    if module not in old_path_table.GONE and name not in old_path_table.REMAINING.get(module, ("", ()))[1]:
        assert hasattr(found, name)
        return
    vars(found).pop(name, None)  # a name that was used before is kept, and warns no more
    (text,) = warned(lambda: getattr(found, name))
    old, new = re.fullmatch(r"(\S+) is (\S+) now\. The next version has only that name\.", text).groups()
    assert old == f"{module}.{name}"
    home, _, new_name = new.rpartition(".")
    assert getattr(importlib.import_module(home), new_name) is getattr(found, name)


@pytest.mark.parametrize("module", [*old_path_table.GONE, *old_path_table.REMAINING])
def test_an_entry_of_the_table_leads_to_a_module(module: str):
    new = old_path_table.GONE.get(module) or old_path_table.REMAINING[module][0]
    assert importlib.import_module(module).__name__ == module
    assert importlib.import_module(new).__name__ == new


@pytest.mark.parametrize("module", old_path_table.GONE)
def test_a_name_that_never_was_is_refused_with_the_new_module(module: str):
    with pytest.raises(AttributeError, match="never_was"):
        _ = importlib.import_module(module).never_was


@pytest.mark.parametrize("name", old_path_table.ROBOTS.values())
def test_the_module_of_a_robot_makes_its_description(name: str):
    module = importlib.import_module(f"unlatch.robots.{name}")
    (text,) = warned(lambda: getattr(module, name))
    assert f"unlatch.robots.load_robot('{name}')" in text
    with pytest.warns(DeprecationWarning, match="load_robot"):
        assert getattr(module, name)() == robots.load_robot(name)


def test_the_module_of_the_panda_has_its_model():
    with pytest.warns(DeprecationWarning, match=r"unlatch\.robots\.model_path\('franka_panda'\)"):
        from unlatch.robots.franka_panda import urdf_path
    assert urdf_path() == robots.model_path("franka_panda")


def test_a_package_whose_names_moved_still_has_its_modules():
    assert warned(lambda: randomization.distribution) == []


def test_a_generator_in_the_form_of_version_0_2_makes_the_same_object():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from unlatch.objects.procedural.building.drawing import draw_fields, uniform
    assert uniform is objects.uniform
    sizes = make_dataclass("Sizes", [("width_m", Annotated[float, uniform(0.1, 0.2)]), ("height_m", float)])

    def draw(rng: np.random.Generator) -> Any:
        return draw_fields(sizes, rng, height_m=0.3)

    def build(assembly: objects.Assembly, p: Any) -> None:
        body = objects.LinkBuilder("body")
        body.box("block", (0.0, 0.0, 0.0), (p.width_m, p.width_m, p.height_m), rgba=(0.5, 0.5, 0.5, 1.0))
        assembly.add_body(body, mass_kg=1.0, edge=(0.0, 0.0, p.height_m))

    table = {"width_m": uniform(0.1, 0.2), "height_m": 0.3}
    old, new = objects.ObjectGenerator("block", draw, build)(3), objects.ObjectGenerator("block", table, build)(3)
    assert old.parameters == new.parameters
    assert repr(old.model) == repr(new.model)
