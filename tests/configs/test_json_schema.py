"""The JSON Schema of task files: every task is valid, and mistakes are found at their keys."""

import copy
from pathlib import Path

import jsonschema
import pytest
import yaml

from unlatch.configs.group_files import yaml_files
from unlatch.configs.json_schema import task_schema

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASKS = [*yaml_files("task").values(), *sorted((EXAMPLES / "configs" / "task").glob("*.yaml"))]


@pytest.fixture(scope="module")
def validator():
    schema = task_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_every_task_passes(validator, path):
    assert list(validator.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))) == []


def rename(content, key, new):
    content[new] = content.pop(key)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda c: c.update(tsak={}), []),
        (lambda c: rename(c["task"], "goal", "gaol"), ["task"]),
        (lambda c: c["task"].update(settle_s="long"), ["task", "settle_s"]),
        (lambda c: c["task"].update(settle_s=0.0), ["task", "settle_s"]),
        (lambda c: c["task"]["regions"][0].update(half_extent_m=[0.1, -0.1]), ["task", "regions"]),
        (lambda c: c["task"]["goal"][0].update(kind="moves"), ["task", "goal"]),
        (lambda c: c["skills"][0].update(name="opne"), ["skills"]),
        (lambda c: c["skills"][0].update(hold_s=1.0), ["skills"]),
        (lambda c: rename(c["skills"][0]["planner_setting"], "success_threshold", "success_treshold"), ["skills"]),
        (lambda c: c.update(seed=1.5), ["seed"]),
        (lambda c: c.update(sensors=[{"name": "x", "type": "camra"}]), ["sensors"]),
        (lambda c: c.update(skills={}), ["skills"]),
    ],
)
def test_a_mistake_is_found_where_it_is(validator, change, place):
    content = copy.deepcopy(yaml.safe_load(yaml_files("task")["open_drawer"].read_text(encoding="utf-8")))
    change(content)
    errors = list(validator.iter_errors(content))
    assert errors
    assert list(errors[0].path)[: len(place)] == place


@pytest.mark.parametrize("reference", ["${seed}", "${object.name}"])
def test_a_value_may_refer_to_another_key(validator, reference):
    content = yaml.safe_load(yaml_files("task")["open_drawer"].read_text(encoding="utf-8"))
    content["task"]["settle_s"] = reference
    assert list(validator.iter_errors(content)) == []


def test_keys_are_described():
    schema = task_schema()
    described = schema["$defs"]["TaskCfg"]["properties"]["max_duration_s"]
    assert described["description"].startswith("Simulated time after which an episode is a `timeout`")
    assert set(schema["$defs"]) >= {"skill_open", "skill_close", "skill_rotate", "sensor_camera", "PlannerSettingCfg"}
