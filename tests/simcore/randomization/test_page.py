"""The page says what there is, and what it shows runs."""

import re
import sys
from pathlib import Path

from unlatch import randomization as dr
from unlatch.simcore.randomization.replicator import physics_view

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "docs" / "_site"))
from data_tables import attribute_tables

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "randomization.md").read_text(encoding="utf-8")


def test_every_attribute_is_on_the_page():
    named = {"gravity", *physics_view.randomize_rigid_prim_view.__kwdefaults__}
    named |= set(physics_view.randomize_articulation_view.__kwdefaults__)
    words = set(re.findall(r"`(\w+)`", PAGE.partition("## Attributes")[2]))
    velocities = {"linear_velocity", "angular_velocity", "velocity"}
    assert {name for name in named - velocities if not name.startswith("tendon_")} <= words
    table = attribute_tables()
    assert [name for name in named - {"gravity"} if f"\n| `{name}` | (" not in table] == []


def test_the_example_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/randomization.md", "exec"), {})
    dr.new_setup()
