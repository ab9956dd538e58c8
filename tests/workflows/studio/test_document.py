"""The task file that is edited: undo, what is left out, and where it may be saved."""

import pytest
import yaml

from unlatch.configs.config_files import config_dir
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.studio.document import (
    TaskDocument,
    find_line,
    new_document,
    open_document,
    parse_key,
    read_tree,
    remove_value,
    set_value,
    value_at,
)

REGION = {"object": "${object.name}", "center_m": [0.68, 0.0], "yaw_deg": 25.0}
BASE = {"task": {"name": "open_microwave", "regions": [REGION], "settle_s": 0.5}, "skills": []}


@pytest.fixture
def document():
    return new_document(["task=open_microwave"])


def test_a_new_document_states_only_what_differs(document):
    assert yaml.safe_load(document.text) == {"defaults": ["open_microwave"], "task": {"name": "my_open_microwave"}}
    assert str(document.path) == "configs/task/my_open_microwave.yaml"


def test_choices_of_the_command_line_become_entries_of_the_file():
    tree = yaml.safe_load(new_document(["task=open_microwave", "robot=ur5", "object=oven", "seed=3"]).text)
    assert tree["defaults"] == ["open_microwave", {"override /object": "oven"}, {"override /robot": "ur5"}]
    assert tree["seed"] == 3


def test_a_task_is_derived_from_an_object(tmp_path):
    tree = yaml.safe_load(new_document(["object=cabinet", "skill=close", "part=door_0"]).text)
    assert tree["task"]["derived"] == {"skill": "close", "part": "door_0"}
    assert [entry["name"] for entry in tree["skills"]] == ["artpreplan", "close"]
    assert "&" not in new_document(["object=cabinet"]).text, "YAML references are hard to read"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "studio needs a task to begin with"),
        (["task=open_microwav"], "Did you mean 'open_microwave'"),
        (["task=open_microwave", "robot=pandaa"], "not the name of a robot"),
        (["task=open_microwave", "skill=open"], "Remove one of them"),
        (["task=open_microwave", "skills.0.part=door"], "entries of lists are edited on the page"),
        (["open_microwave"], "cannot be read"),
    ],
)
def test_wrong_words_are_explained(words, message):
    with pytest.raises(ConfigError, match=message):
        new_document(words)


def test_a_value_in_a_list_brings_the_whole_list_and_the_old_value_removes_it(document):
    before = document.text
    document.set(("task", "regions", 0, "center_m"), [0.6, 0.1], base=BASE)
    assert yaml.safe_load(document.text)["task"]["regions"] == [{**REGION, "center_m": [0.6, 0.1]}]
    document.set(("task", "regions", 0, "center_m"), [0.68, 0.0], base=BASE)
    assert document.text == before
    assert BASE["task"]["regions"] == [REGION], "the base is never changed"


def test_lists_that_an_episode_derives_are_written_out(document):
    shown = {"task.openness": [{"object": "microwave", "part": "door", "range": [0.0, 0.0]}]}
    document.set(("task", "openness", 0, "range"), [0.0, 0.2], base={"task": {"openness": []}}, shown=shown)
    assert yaml.safe_load(document.text)["task"]["openness"][0]["range"] == [0.0, 0.2]
    more = {"task.openness": [*shown["task.openness"], {"object": "oven", "part": "door", "range": [0.0, 0.0]}]}
    document.set(("task", "openness", 1, "range"), [0.1, 0.1], base={"task": {"openness": []}}, shown=more)
    assert [entry["range"] for entry in yaml.safe_load(document.text)["task"]["openness"]] == [[0.0, 0.2], [0.1, 0.1]]


def test_an_entry_that_does_not_exist_is_refused_and_changes_nothing(document):
    before = document.text
    with pytest.raises(ConfigError, match=r"task.regions has no entry 3"):
        document.set(("task", "regions", 3, "yaw_deg"), 1.0, base=BASE)
    assert document.text == before
    assert not document.can_undo


def test_a_gesture_is_one_step_of_undo(document):
    before = document.text
    for x in (0.61, 0.62, 0.63):
        document.set(("task", "regions", 0, "center_m"), [x, 0.0], base=BASE, gesture="move 0")
    document.end_gesture()
    document.set(("task", "regions", 0, "center_m"), [0.7, 0.0], base=BASE, gesture="move 0")
    document.undo()
    assert "[0.63, 0.0]" in document.text
    document.undo()
    assert document.text == before
    assert not document.can_undo
    document.redo()
    document.redo()
    assert "[0.7, 0.0]" in document.text
    assert not document.can_redo


def test_a_change_after_undo_drops_what_was_undone(document):
    document.write(document.text + "seed: 1\n")
    document.undo()
    document.write(document.text + "seed: 2\n")
    assert not document.can_redo
    document.undo()
    assert "seed" not in document.text


def test_a_file_is_saved_byte_for_byte_and_opened_again(document, tmp_path):
    document.write(document.text + "# a comment of mine\n")
    file = document.save(str(tmp_path / "configs" / "task" / "mine.yaml"))
    assert file.read_text() == document.text
    assert document.is_saved
    assert document.name == "mine"
    opened = open_document(file)
    assert opened.text == document.text
    assert opened.is_saved
    opened.write(opened.text + "seed: 1\n")
    assert not opened.is_saved
    opened.save(str(file))  # its own file


def test_a_file_of_somebody_else_is_replaced_only_on_request(document, tmp_path):
    file = tmp_path / "task" / "mine.yaml"
    file.parent.mkdir()
    file.write_text("seed: 5\n")
    with pytest.raises(ConfigError, match="exists"):
        document.save(str(file))
    assert file.read_text() == "seed: 5\n"
    document.save(str(file), replace=True)
    assert file.read_text() == document.text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("mine.yaml", "Expected FOLDER/task/NAME.yaml"),
        ("task/mine.txt", "Expected FOLDER/task/NAME.yaml"),
        ("task/my task.yaml", "Expected FOLDER/task/NAME.yaml"),
        ("task/open_microwave.yaml", "exists already"),
    ],
)
def test_a_path_at_which_no_command_finds_the_task_is_refused(document, tmp_path, path, message):
    with pytest.raises(ConfigError, match=message):
        document.save(str(tmp_path / path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.yaml", None, "cannot be read"),
        ("binary.yaml", b"\xff\xfe\x00", "UTF-8"),
        ("password.txt", b"secret", "no task file"),
    ],
)
def test_a_file_that_cannot_be_read_is_explained(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        open_document(tmp_path / name)


def test_a_wrong_text_is_opened_to_be_corrected_on_the_page(tmp_path):
    (tmp_path / "wrong.yaml").write_text("a: [")
    assert isinstance(open_document(tmp_path / "wrong.yaml"), TaskDocument)


TASKS = ["open_drawer", "put_in_microwave", "turn_stove_knob"]
TEXT = """\
# @package _global_
defaults:
  - open_microwave  # the task that this one changes

task:
  name: mine   # a name
  settle_s: 0.5

# the end
"""


def test_a_value_is_replaced_where_it_stands_and_a_new_key_comes_after_the_last_one_of_its_mapping():
    assert set_value(TEXT, ("task", "settle_s"), 1.0) == TEXT.replace("0.5", "1.0")
    changed = set_value(TEXT, ("task", "max_duration_s"), 20.0)
    assert changed == TEXT.replace("  settle_s: 0.5\n", "  settle_s: 0.5\n  max_duration_s: 20.0\n")


def test_mappings_on_the_way_are_added():
    changed = set_value(TEXT, ("world", "solver_iterations"), 150)
    assert yaml.safe_load(changed)["world"] == {"solver_iterations": 150}
    assert changed.startswith(TEXT.partition("\n# the end")[0])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("task", "regions"), [{"object": "${object.name}", "center_m": [0.6, 0.1], "yaw_deg": 25.0}]),
        (("seed",), 3),
        (("task", "derived"), {"skill": "open"}),
        (("world", "physics_hz"), 480),  # a mapping that becomes empty is removed
    ],
)
def test_a_removed_value_leaves_the_text_as_it_was(path, value):
    assert remove_value(set_value(TEXT, path, value), path) == TEXT
    assert remove_value(TEXT, ("task", "regions", 0)) == TEXT, "a missing key changes nothing"


def test_values_in_braces_are_replaced_too():
    text = "task: {name: mine, settle_s: 0.5}\n"
    assert set_value(text, ("task", "settle_s"), 1.0) == "task: {name: mine, settle_s: 1.0}\n"
    assert yaml.safe_load(set_value(text, ("task", "derived", "skill"), "open"))["task"]["derived"] == {"skill": "open"}
    assert remove_value(text, ("task", "name")) == "task: {settle_s: 0.5}\n"


@pytest.mark.parametrize("name", [TASKS[0], *(pytest.param(name, marks=pytest.mark.heavy) for name in TASKS[1:])])
def test_any_value_of_a_task_can_be_set_to_itself_and_to_another(name):
    text = (config_dir() / "task" / f"{name}.yaml").read_text()
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
