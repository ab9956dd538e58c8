"""What is drawn in the scene, without a browser."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.document import new_document
from unlatch.workflows.studio.jobs import ShownCamera, ViewResult
from unlatch.workflows.studio.scene_marks import RegionBoxes, SceneMarks, SceneName, keep_names_apart
from unlatch.workflows.studio.state import RUN, SCENE, Clock, StudioState

REGION = RegionCfg(object="cabinet", center_m=[0.6, 0.0], half_extent_m=[0.1, 0.1])


@pytest.fixture
def state():
    return StudioState(new_document(["task=open_microwave"]))


def test_nothing_hides_the_controls_of_keypoints_while_they_are_moved(state):
    server, removed = MagicMock(), []
    server.scene.add_box.return_value.remove = lambda: removed.append("box")
    boxes = RegionBoxes(server, state, redraw=lambda: None)
    boxes.draw([REGION])
    assert server.scene.add_box.call_count == 1
    state.annotation = SimpleNamespace()
    boxes.draw([REGION])
    assert removed == ["box"]
    assert server.scene.add_box.call_count == 1
    assert not state.drawn().ghosts
    assert not state.drawn().keypoints
    state.annotation = None
    boxes.draw([REGION])
    assert server.scene.add_box.call_count == 2, "it comes back"


def test_cameras_are_drawn_where_they_are_in_a_run_and_not_while_it_plays(state):
    server = MagicMock()
    at_start, in_run = (
        ShownCamera("wrist", np.full(3, x), np.array([0.0, 0.0, 0.0, 1.0]), 1.0, 1.0) for x in (0.1, 0.9)
    )
    state.scene = SimpleNamespace(cameras=(at_start,))
    state.views = ViewResult({}, (in_run,))
    marks = SceneMarks(server, state, MagicMock())
    places = []
    for clock in (Clock(SCENE), Clock(RUN, 3, playing=True), Clock(RUN, 3)):
        server.reset_mock()
        state.clock = clock
        marks.draw_cameras()
        places.append([call.kwargs["position"][0] for call in server.scene.add_camera_frustum.call_args_list])
    assert places == [[0.1], [], [0.9]]


def test_names_of_points_that_the_view_shows_at_one_place_are_written_on_different_sides():
    names = [
        SceneName(SimpleNamespace(text=f"name {i}", font_screen_scale=0.75, anchor="top-left"), np.array([0.0, 0.0, z]))
        for i, z in enumerate((1.0, 2.0, 3.0, 4.0))
    ]
    keep_names_apart(names, Pose.identity())
    anchors = [name.label.anchor for name in names]
    assert anchors[0] == "top-left", "a name that covers no other stays"
    assert {*anchors} == {"top-left", "bottom-right", "bottom-left", "top-right"}, anchors


def test_a_name_that_covers_no_other_and_one_behind_the_camera_stay_as_they_are():
    places = ([-0.3, 0.0, 1.0], [0.3, 0.0, 1.0], [0.3, 0.0, -1.0])
    names = [
        SceneName(SimpleNamespace(text="name", font_screen_scale=0.75, anchor="top-left"), np.array(place))
        for place in places
    ]
    keep_names_apart(names, Pose.identity())
    assert [name.label.anchor for name in names] == ["top-left"] * 3
