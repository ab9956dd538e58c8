"""The page says what there is, and what it shows runs."""

import re
from pathlib import Path

from unlatch import randomization as dr
from unlatch.simcore.randomization.replicator import physics_view

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "randomization.md").read_text(encoding="utf-8")


def test_every_attribute_is_on_the_page():
    named = {"gravity", *physics_view.randomize_rigid_prim_view.__kwdefaults__}
    named |= set(physics_view.randomize_articulation_view.__kwdefaults__)
    rows = " ".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    assert named - {"linear_velocity", "angular_velocity", "velocity"} <= set(re.findall(r"`(\w+)`", rows))


def test_the_example_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/randomization.md", "exec"), {})
    dr.new_setup()
