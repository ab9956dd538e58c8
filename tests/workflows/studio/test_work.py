"""Plans of whole chains, and where their objects are in each frame."""

import io
from dataclasses import asdict
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import yaml
from PIL import Image

from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.studio.document import TaskDocument, new_document
from unlatch.workflows.studio.jobs import PLAN, SCENE, VIEW, VIEW_PX, PlanResult, SceneResult, StudioJob, TaskText
from unlatch.workflows.studio.scene_marks import planned_state
from unlatch.workflows.studio.work import StudioWork
from unlatch.workflows.viewing.recorded_scene import load_assets, object_model, robot_model


@pytest.fixture(scope="module")
def work():
    return StudioWork()


def can_position(state):
    return np.asarray(state["objects.can.root_position"]).reshape(3)


@pytest.mark.slow
def test_every_skill_of_a_chain_with_a_search_is_planned_from_the_end_of_the_one_before(work):
    result = plan(work, new_document(["task=open_close_drawer"]))
    assert [each.skill for each in result.plans] == ["open", "close"]
    assert result.found
    first, second = result.plans
    assert second.keyframes[0].s == pytest.approx(first.keyframes[-1].s)
    assert second.segments[0].q[0] == pytest.approx(first.segments[-1].q[-1], abs=1e-6)
    assert result.stage_frames() == [first.frames, second.frames]
    assert result.moment(first.frames + 3) == (1, 3)


@pytest.mark.slow
def test_what_frees_a_part_has_no_entry_of_its_own_in_the_text(work):
    document = new_document(["object=locked_safe", "skill=open"])
    scene = work.do(StudioJob(SCENE, task_text(document)))
    assert scene.scene.lines[-1].startswith("locked_safe: door is latched: lever at 0 of")
    assert [(each["name"], each["part"]) for each in scene.skills] == [("artpreplan", None), ("open", "door")]
    result = plan(work, document)
    assert [(each.skill, each.part, each.key) for each in result.plans[-2:]] == [
        ("rotate", "knob", ""),
        ("open", "door", "skills[1]"),
    ]


def test_a_step_that_frees_a_part_does_not_take_the_place_of_an_entry_of_the_same_skill(work):
    text = "defaults: [override /object: push_latch_cabinet]\ntask: {name: press, derived: {skill: open}}\nskills:\n"
    for name in ("open", "close"):
        text += f"  - {{name: {name}, objects: [push_latch_cabinet], part: door}}\n"
    scene = work.do(StudioJob(SCENE, TaskText("press", f"# @package _global_\n{text}", (), 0)))
    # the chain is close (it presses the door, which pops out), open, close
    assert [each["name"] for each in scene.skills] == ["open", "close"]
    assert scene.skills[0]["strategies"] == ["edge"]


@pytest.mark.slow
def test_a_carried_object_follows_the_hand_and_stays_where_it_is_put(work):
    result = plan(work, new_document(["task=place_can"]))
    pick, place = result.plans
    cfg = result.scene.cfg
    assets, _ = load_assets(
        [cfg.object, *cfg.objects], result.scene.layout, result.scene.hashes, number=result.scene.episode
    )
    robot, can = robot_model(cfg.robot), object_model("can", assets["can"])
    scene = SimpleNamespace(robot=robot, objects={"can": can}, assets=assets)

    def at(frame):
        return can_position(planned_state(result, frame, cfg.robot, scene))

    start, lifted = at(0), at(pick.frames - 1)
    assert at(pick.carried.first) == pytest.approx(start)
    assert lifted[2] > start[2] + 0.05
    assert at(pick.frames) == pytest.approx(lifted, abs=0.02), "the next skill begins where this one ends"
    assert at(result.frames - 1) == pytest.approx(at(pick.frames + place.carried.last))
    assert at(result.frames - 1)[2] == pytest.approx(start[2], abs=0.03), "it stands on the table again"


@pytest.mark.slow
def test_cameras_see_the_state_that_is_asked_for(work):
    document = new_document(["task=open_microwave", "camera=front"])
    task = TaskText(document.name, document.text)
    shown = work.do(StudioJob(SCENE, task)).scene
    opened = dict(shown.state)
    opened["objects.microwave.joint_positions"] = np.array([1.2])
    first, same, other = (
        np.asarray(
            Image.open(io.BytesIO(work.do(StudioJob(VIEW, task, scene=shown, state=state)).images["front"])),
            dtype=float,
        )
        for state in (shown.state, shown.state, opened)
    )
    assert first.shape[1] <= VIEW_PX
    (seen_from,) = work.do(StudioJob(VIEW, task, scene=shown, state=opened)).cameras
    assert seen_from.name == "front"
    assert np.array_equal(first, same)
    assert np.abs(first - other).max() > 60.0, "the door is open"


@pytest.mark.slow
def test_a_camera_at_the_wrist_is_where_the_hand_is(work):
    document = new_document(["task=open_microwave", "camera=front_wrist"])
    task = TaskText(document.name, document.text)
    scene = work.do(StudioJob(SCENE, task))
    key = next(key for key in scene.scene.state if key.startswith("robot") and key.endswith("joint_positions"))
    turned = np.array(scene.scene.state[key])
    turned.flat[0] += 0.5  # about the vertical axis of the base
    start, moved = (
        {
            camera.name: camera.position
            for camera in work.do(StudioJob(VIEW, task, scene=scene.scene, state=state)).cameras
        }
        for state in (scene.scene.state, {**scene.scene.state, key: turned})
    )
    assert start["wrist"] == pytest.approx({each.name: each.position for each in scene.cameras}["wrist"], abs=1e-6)
    assert np.linalg.norm(moved["wrist"] - start["wrist"]) > 0.1
    assert moved["front"] == pytest.approx(start["front"])


LIST = ("skills", 0, "planner_setting", "constraint_list")


@pytest.fixture
def clip() -> ModuleType:
    pytest.importorskip("playwright.sync_api", reason="the extra `dev` brings playwright")
    from benchmarks import studio_clip

    return studio_clip


def task_text(document: TaskDocument) -> TaskText:
    return TaskText(document.name, document.text, (), 0)


def plan(work: StudioWork, document: TaskDocument) -> PlanResult:
    answer = work.do(StudioJob(PLAN, task_text(document)))
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
    scene = work.do(StudioJob(SCENE, task_text(document)))
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
