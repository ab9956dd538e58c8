"""Plans of whole chains, and where their objects are in each frame."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from unlatch.workflows.studio.document import TaskDocument, new_document
from unlatch.workflows.studio.jobs import PLAN, SCENE, VIEW, VIEW_PX, PlanResult, StudioJob, TaskText
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
def test_cameras_see_the_state_that_is_asked_for_and_that_of_the_wrist_moves_with_the_hand(work):
    document = new_document(["task=open_microwave", "camera=front_wrist"])
    task = TaskText(document.name, document.text)
    scene = work.do(StudioJob(SCENE, task))
    shown = scene.scene

    def view(**changes):
        """Returns the image of the front camera, and where the cameras are, in a changed state."""
        found = work.do(StudioJob(VIEW, task, scene=shown, state={**shown.state, **changes}))
        image = np.asarray(Image.open(io.BytesIO(found.images["front"])), dtype=float)
        return image, {camera.name: camera.position for camera in found.cameras}

    first, start = view()
    assert first.shape[1] <= VIEW_PX
    assert np.array_equal(first, view()[0])
    opened, _ = view(**{"objects.microwave.joint_positions": np.array([1.2])})
    assert np.abs(first - opened).max() > 60.0, "the door is open"
    assert start["wrist"] == pytest.approx({each.name: each.position for each in scene.cameras}["wrist"], abs=1e-6)
    key = next(key for key in shown.state if key.startswith("robot") and key.endswith("joint_positions"))
    turned = np.array(shown.state[key])
    turned.flat[0] += 0.5  # about the vertical axis of the base
    _, moved = view(**{key: turned})
    assert np.linalg.norm(moved["wrist"] - start["wrist"]) > 0.1
    assert moved["front"] == pytest.approx(start["front"])


def task_text(document: TaskDocument) -> TaskText:
    return TaskText(document.name, document.text, (), 0)


def plan(work: StudioWork, document: TaskDocument) -> PlanResult:
    answer = work.do(StudioJob(PLAN, task_text(document)))
    assert isinstance(answer, PlanResult), answer
    return answer
