"""The steps of `benchmarks/studio_clip.py`, which makes the clip of docs/studio.md, without a browser."""

from __future__ import annotations

from dataclasses import asdict
from types import ModuleType

import pytest
import yaml

from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.studio.document import TaskDocument, new_document
from unlatch.workflows.studio.jobs import PlanJob, PlanResult, SceneJob, SceneResult, TaskText
from unlatch.workflows.studio.work import StudioWork

LIST = ("skills", 0, "planner_setting", "constraint_list")


@pytest.fixture
def clip() -> ModuleType:
    pytest.importorskip("playwright.sync_api", reason="the extra `dev` brings playwright")
    from benchmarks import studio_clip

    return studio_clip


@pytest.fixture(scope="module")
def work() -> StudioWork:
    return StudioWork()


def task_text(document: TaskDocument) -> TaskText:
    return TaskText(document.name, document.text, (), 0)


def plan(work: StudioWork, document: TaskDocument) -> PlanResult:
    answer = work.do(PlanJob(task_text(document)))
    assert isinstance(answer, PlanResult), answer
    return answer


def set_value(document: TaskDocument, scene: SceneResult, path: tuple[str | int, ...], value: float) -> None:
    """Sets a value as a field of the page does."""
    regions = [asdict(region) for region in scene.scene.cfg.task.regions]
    document.set(path, value, base=scene.base, shown={"task.regions": regions})


@pytest.mark.parametrize("after", ["", "      hand: panda\n", "      pre_actuation_motions: []\n      hand: panda\n"])
def test_the_constraint_is_the_last_of_the_list_whatever_follows_it(clip, after):
    before = "skills:\n  - planner_setting:\n      constraint_list:\n"
    first = "        - type: keypoint_axis_parallel\n          tolerance: 0.06\n"
    text = clip.add_constraint(before + first + after)
    (skill,) = yaml.safe_load(text)["skills"]
    types = [entry["type"] for entry in skill["planner_setting"].pop("constraint_list")]
    assert types == ["keypoint_axis_parallel", "point2point_constraint"]
    assert skill["planner_setting"] == (yaml.safe_load(after) or {})


def test_a_text_without_constraints_is_refused(clip):
    with pytest.raises(UnlatchError, match="no constraint_list"):
        clip.add_constraint("task: {name: mine}\n")


@pytest.mark.slow
def test_the_constraint_contradicts_the_shipped_ones_and_its_remedy_leads_to_a_plan(clip, work):
    document = new_document(["task=open_microwave"])
    scene = work.do(SceneJob(task_text(document)))
    assert isinstance(scene, SceneResult), scene
    set_value(document, scene, ("task", "regions", 0, "center_m", 0), 0.62)
    set_value(document, scene, (*LIST, 1, "tolerance"), 0.06)
    document.write(clip.add_constraint(document.text))

    refused = plan(work, document)
    assert not refused.found
    assert refused.plans[0].contradictions[0]["indices"] == [0, 3]
    (remedy,) = [each for each in refused.plans[0].remedies if each["name"].startswith(clip.REMEDY)]

    set_value(document, scene, (*LIST, 3, "tolerance"), remedy["needed"])
    assert plan(work, document).found
