"""The root of the tree: its paths are the keys of a record."""

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.keys import INTERVAL, STATE, kind_of
from unlatch.simcore.sim.contacts import ContactView
from unlatch.simcore.sim.scene import NOT_RECORDED, Scene
from unlatch.simcore.sim.sensors.imu import Imu, ImuCfg
from unlatch.simcore.state import Buffer, Module

pytestmark = pytest.mark.integration


class Thing(Module):
    def __init__(self) -> None:
        super().__init__()
        self.root_position = Buffer(np.zeros(3))


@pytest.fixture
def scene(world):
    made = Scene(world)
    made.add_object("box", Thing())
    made.add_keypoints("box", "lid", Thing())
    made.add_keypoints("box", "knob", Thing())
    for name in ("panda.environment", "panda.left.box.fingers_link", "panda.left.box.fingers_base"):
        made.add_contact_view(ContactView(name, lambda *_: True))
    made.add_sensor(Imu(ImuCfg(name="gyro", type="imu"), world))
    made.update_state()
    return made


def test_paths_are_record_keys_and_tags_separate_states_from_intervals(scene):
    state = scene.state_dict(exclude_tags=NOT_RECORDED)
    forces = scene.state_dict(include_tags=["interval"])
    assert {kind_of(key) for key in state} == {STATE}
    assert {kind_of(key) for key in forces} == {INTERVAL}
    assert state.keys() | forces.keys() == scene.state_dict().keys()
    assert "keypoints.box.knob.root_position" in state
    assert "sensors.gyro.angular_velocity" in state
    assert "contacts.panda.left.box.fingers_base.force_max_n" in forces
    assert "contacts.panda.environment.force_mean_n" in forces


def test_a_recorded_frame_loads_and_skips_values_outside_the_scene(scene):
    frame = {
        "objects.box.root_position": np.ones(3),
        "time": np.float64(0.1),
        "skills.index": np.int64(0),
        "validity.collision_valid": np.bool_(True),
        "sensors.gyro.angular_velocity": np.full(3, 2.0),
        "sensors.elsewhere.temperature": np.float64(300.0),
    }
    scene.load_state_dict(frame)
    assert scene.state_dict()["objects.box.root_position"].tolist() == [1.0, 1.0, 1.0]
    assert scene.state_dict()["sensors.gyro.angular_velocity"].tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "path", ["objects.bix.root_position", "sensors.gyro.angular_velocit", "robots.panda.q", "actions.hold"]
)
def test_a_state_of_another_scene_is_refused(scene, path):
    with pytest.raises(RecordingError, match=r"has no buffer in Scene\."):
        scene.load_state_dict({path: np.zeros(3)})
