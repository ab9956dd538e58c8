"""Sentences about layouts, goals and verdicts."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.solver.setting import SuccessMode
from unlatch.tasks.task import GoalCfg, GoalKind, RegionCfg
from unlatch.workflows.studio.document import new_document
from unlatch.workflows.studio.jobs import RUN, SCENE, ReachResult, ShownCamera, ViewResult
from unlatch.workflows.studio.page_state import words_of_evidence, words_of_goal, words_of_layout, words_of_success
from unlatch.workflows.studio.scene_marks import RegionBoxes, SceneMarks
from unlatch.workflows.studio.state import Clock, StudioState, next_place, place_m, places_in, region_at

UNITS = {("cabinet", "drawer"): "m", ("cabinet", "door"): "rad"}


@pytest.mark.parametrize("kind", GoalKind)
def test_every_condition_has_a_sentence(kind):
    part = None if kind.condition is not None else "drawer"
    of = "cabinet" if kind in (GoalKind.inside, GoalKind.on) else None
    words = words_of_goal(GoalCfg("cabinet", part=part, kind=kind, value=0.5, of=of), UNITS)
    assert words.startswith("cabinet" if part is None else "drawer of cabinet")
    assert "_" not in words


@pytest.mark.parametrize(
    ("goal", "units", "words"),
    [
        (GoalCfg("cabinet", part="drawer", value=0.15), UNITS, "drawer of cabinet has moved by at least 0.15 m"),
        (
            GoalCfg("cabinet", part="door", kind=GoalKind.open_fraction, value=0.5),
            UNITS,
            "door of cabinet is open by at least 50 % of its range",
        ),
        (  # a part with the name of its object is named once
            GoalCfg("drawer", part="drawer", kind=GoalKind.within_closed, value=0.01),
            {("drawer", "drawer"): "m"},
            "drawer is closed to within 0.01 m",
        ),
        (GoalCfg("can", kind=GoalKind.inside, of="drawer", region="drawer"), {}, "can is inside drawer"),
    ],
)
def test_a_goal_is_told_with_the_unit_of_its_part(goal, units, words):
    assert words_of_goal(goal, units) == words


DRAWN = {"x_m": 0.61, "y_m": -0.13, "yaw_rad": 0.35, "height_m": 0.05, "opening.door": 0.2}


@pytest.mark.parametrize(
    ("name", "drawn", "instance", "words"),
    [
        (
            "cabinet",
            DRAWN,
            {"source": "procedural", "category": "cabinet", "instance": "7"},
            "cabinet: generated cabinet 7, at x 0.61 m, y -0.13 m, turned 20°, on a plinth of 0.05 m, door open by "
            "0.20 rad",
        ),
        (
            "box",
            {},
            {"source": "procedural", "category": "box", "instance": "7", "rests_on": "back"},
            "box: generated box 7, on its back",
        ),
        ("object", {}, {"source": "urdf", "category": "object", "instance": "cupboard"}, "object: URDF cupboard"),
    ],
)
def test_a_layout_is_told_without_the_names_of_keys(name, drawn, instance, words):
    layout = {"objects": {name: {"drawn": drawn}}, "instances": {name: instance}}
    assert list(words_of_layout(layout, UNITS)) == [words]


def test_an_opening_is_positive_where_the_joint_counts_down():
    skill = {"name": "open", "object": "cabinet", "part": "door", "frame_start": 0, "success": True}
    skill |= {"s0": 0.1, "s_end": -0.679, "s_closed": 0.1, "s_open": -1.2}
    (words,) = words_of_evidence(EpisodeRecord(0, 1, True, skills=[skill]), UNITS)
    assert words.endswith("The door went from 0.000 to 0.779 rad open")


@pytest.mark.parametrize("mode", SuccessMode)
def test_every_way_to_compare_has_words(mode):
    before, after = words_of_success(mode, "m")
    assert before.endswith(" ")
    assert ("m" in after.split()) == (mode is not SuccessMode.fraction)


def test_the_evidence_of_each_skill_that_moves_something_is_told():
    drawer = {"object": "cabinet", "part": "drawer"}
    opened = {**drawer, "name": "open", "frame_start": 0, "success": True, "strategy": "bar", "success_mode": "abs"}
    opened |= {"s0": 0.0, "s_end": 0.2100001, "s_closed": 0.0, "s_open": 0.4, "success_threshold": 0.15}
    closed = {**opened, "name": "close", "s0": 0.21, "s_end": -1e-6, "success_mode": "zero"}

    def words(*skills: dict[str, object]) -> list[str]:
        search = {"name": "artpreplan", "object": "cabinet", "frame_start": 0, "success": True}  # it moves nothing
        return list(words_of_evidence(EpisodeRecord(0, 1, True, skills=[search, *skills]), UNITS))

    assert words(opened, {**drawer, "name": "close", "frame_start": None}) == [
        "open drawer: succeeded. The drawer went from 0.000 to 0.210 m open (wanted: moved by at least 0.15 m). "
        "Strategy: bar",
        "close drawer: not begun",
    ]
    assert "to 0.000 m open" in words(opened, closed)[1]
    assert words({**opened, "grip_force_n": 30.0})[0].endswith("bar. Grip: 30.0 N")
    (dragged,) = words({**opened, "grip_force_n": 30.0, "press_force_n": 24.0})
    assert dragged.endswith("bar. The fingertips press with 24.0 N")


REGION = RegionCfg(object="microwave", center_m=[0.6, 0.0], half_extent_m=[0.2, 0.2], height_m=[0.0, 0.08])


def fill(found, region, plans):
    """Tries places until the map asks for no more; returns how many."""
    count = 0
    while (place := next_place(found, region)) is not None:
        found[place] = ReachResult(plans(*place_m(place)), "path_infeasible", "")
        count += 1
    return count


def test_places_lie_inside_the_region():
    places = [place_m(place) for place in places_in(REGION, 1)]
    assert len(places) == 81
    assert min(x for x, _ in places) == 0.4
    assert max(y for _, y in places) == 0.2


def test_a_region_smaller_than_a_step_has_one_place():
    tiny = RegionCfg(object="microwave", center_m=[0.613, 0.017], half_extent_m=[0.001, 0.001])
    assert len(list(places_in(tiny, 1))) == 1


def test_every_second_place_is_tried_first_and_then_all():
    found = {}
    assert fill(found, REGION, lambda x, y: True) == 81
    assert all(i % 2 == 0 and j % 2 == 0 for i, j in list(found)[:25])
    assert set(found) == set(places_in(REGION, 1))


def test_a_moved_region_keeps_what_is_known():
    found = {}
    fill(found, REGION, lambda x, y: True)
    moved = RegionCfg(object="microwave", center_m=[0.7, 0.0], half_extent_m=[0.2, 0.2])
    assert fill(found, moved, lambda x, y: True) < 25
    assert len(found) > 81


def test_a_place_faces_the_robot_at_the_middle_of_the_heights():
    place = region_at(REGION, (12, 0))
    assert place.center_m == list(place_m((12, 0)))
    assert place.half_extent_m == [0.0, 0.0]
    assert place.yaw_deg == 0.0
    assert place.height_m == [0.04, 0.04]
    assert place.object == "microwave"


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
