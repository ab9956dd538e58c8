"""What is drawn in the scene, without a browser."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.document import new_document
from unlatch.workflows.studio.drawing.region_boxes import RegionBoxes
from unlatch.workflows.studio.state import StudioState

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
