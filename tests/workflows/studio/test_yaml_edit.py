"""Single values of a YAML text are changed; every other byte stays."""

import pytest
import yaml

from unlatch.configs.config_files import config_dir
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.studio.document import find_line, parse_key, read_tree, remove_value, set_value, value_at

TASKS = [config_dir() / "task" / f"{name}.yaml" for name in ("open_drawer", "put_in_microwave", "turn_stove_knob")]
TEXT = """\
# @package _global_
defaults:
  - open_microwave  # the task that this one changes

task:
  name: mine   # a name
  settle_s: 0.5

# the end
"""


def test_a_value_is_replaced_where_it_stands_and_comments_stay():
    assert set_value(TEXT, ("task", "settle_s"), 1.0) == TEXT.replace("0.5", "1.0")


def test_a_new_key_comes_after_the_last_one_of_its_mapping():
    changed = set_value(TEXT, ("task", "max_duration_s"), 20.0)
    assert changed == TEXT.replace("  settle_s: 0.5\n", "  settle_s: 0.5\n  max_duration_s: 20.0\n")


def test_mappings_on_the_way_are_added():
    changed = set_value(TEXT, ("world", "solver_iterations"), 150)
    assert yaml.safe_load(changed)["world"] == {"solver_iterations": 150}
    assert changed.startswith(TEXT.partition("\n# the end")[0])


def test_a_removed_value_leaves_the_text_as_it_was():
    value = [{"object": "${object.name}", "center_m": [0.6, 0.1], "yaw_deg": 25.0}]
    for path, new in ((("task", "regions"), value), (("seed",), 3), (("task", "derived"), {"skill": "open"})):
        assert remove_value(set_value(TEXT, path, new), path) == TEXT, path


def test_a_missing_key_changes_nothing():
    assert remove_value(TEXT, ("task", "regions", 0)) == TEXT


def test_a_mapping_that_becomes_empty_is_removed():
    assert remove_value(set_value(TEXT, ("world", "physics_hz"), 480), ("world", "physics_hz")) == TEXT


def test_values_in_braces_are_replaced_too():
    text = "task: {name: mine, settle_s: 0.5}\n"
    assert set_value(text, ("task", "settle_s"), 1.0) == "task: {name: mine, settle_s: 1.0}\n"
    assert yaml.safe_load(set_value(text, ("task", "derived", "skill"), "open"))["task"]["derived"] == {"skill": "open"}
    assert remove_value(text, ("task", "name")) == "task: {settle_s: 0.5}\n"


@pytest.mark.parametrize("file", TASKS, ids=lambda file: file.stem)
def test_any_value_of_a_task_can_be_set_to_itself_and_to_another(file):
    text = file.read_text()
    tree = read_tree(text)

    def leaves(node, path):
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, item in items:
            yield from leaves(item, (*path, key))
        if not isinstance(node, dict | list):
            yield path, node

    found = [item for item in leaves(tree, ()) if item[0][0] != "defaults"]
    for path, value in found[::5]:
        assert value_at(yaml.safe_load(set_value(text, path, value)), path) == value
        changed = yaml.safe_load(set_value(text, path, "another"))
        assert value_at(changed, path) == "another"
        assert len(set_value(text, path, "another").splitlines()) == len(text.splitlines())


def test_long_entries_get_lines_of_their_own():
    entry = {"type": "frame_axis_parallel", **{f"a_long_key_of_the_entry_{i}": f"a_long_value_{i}" for i in range(4)}}
    changed = set_value(TEXT, ("skills",), [{"name": "open", "constraint_list": [entry]}])
    assert max(map(len, changed.splitlines())) <= 110
    assert yaml.safe_load(changed)["skills"] == [{"name": "open", "constraint_list": [entry]}]


def test_an_entry_on_one_line_is_opened_where_it_gets_too_long():
    text = "skills:\n  - {name: hold}\n  - {name: open, objects: [door]}\n  # the end\n"
    setting = {"success_threshold": 0.7, "constraint_list": [{"type": "point2point_constraint", "tolerance": 0.002}]}
    changed = set_value(text, ("skills", 1, "planner_setting"), setting)
    assert changed.splitlines()[2:6] == [
        "  - name: open",
        "    objects: [door]",
        "    planner_setting:",
        "      success_threshold: 0.7",
    ]
    assert yaml.safe_load(changed)["skills"][1] == {"name": "open", "objects": ["door"], "planner_setting": setting}
    assert changed.endswith("  # the end\n")
    opened = set_value("world: {physics_hz: 240}\n", ("world", "views"), [{"name": "a"}])
    assert opened == "world:\n  physics_hz: 240\n  views:\n    - name: a\n"


def test_the_line_of_a_key_is_found_or_that_of_the_closest_key_around_it():
    assert find_line(TEXT, parse_key("task.settle_s")) == 7
    assert find_line(TEXT, parse_key("task.regions[0].yaw_deg")) == 5
    assert find_line(TEXT, parse_key("skills[0].name")) is None
    listed = set_value(TEXT, ("task", "regions"), [{"object": "a", "center_m": [0.1, 0.2]}, {"object": "b"}])
    assert listed.splitlines()[find_line(listed, parse_key("task.regions[1].object")) - 1].strip() == "- object: b"


def test_a_mistake_names_its_line():
    with pytest.raises(ConfigError, match="cannot be read in line 3") as error:
        read_tree("task:\n  name: [1, 2\n")
    assert error.value.line is not None
    with pytest.raises(ConfigError, match="not a mapping"):
        read_tree("- a\n- b\n")
    with pytest.raises(ConfigError, match=r"task\.name has no key x"):
        set_value(TEXT, ("task", "name", "x"), 1)
