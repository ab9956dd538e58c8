"""The tree of buffers: paths, tags, order of calls, and the round trip that replay relies on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.state import Buffer, Module, Rendering


def test_a_buffer_is_empty_until_it_has_a_value_and_after_none():
    buffer = Buffer(tags=["rgb"])
    assert buffer.get_value() is None
    assert repr(buffer) == "Buffer(empty, tags=['rgb'])"
    buffer.set_value(0.5)
    assert buffer.get_value().shape == ()
    buffer.set_value(None)
    assert buffer.get_value() is None
    assert repr(Buffer(np.zeros((2, 3, 3), dtype=np.uint8))) == "Buffer(uint8[2, 3, 3], tags=[])"


def test_a_value_is_a_copy_that_does_not_change():
    source = np.array([1.0, 2.0])
    buffer = Buffer(source)
    source[0] = 9.0
    before = buffer.get_value()
    buffer.set_value([3.0, 4.0])
    np.testing.assert_array_equal(before, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 9.0


def test_tags_are_a_set():
    assert Buffer(tags=["rgb", "image", "rgb"]).tags == {"rgb", "image"}
    with pytest.raises(RecordingError, match=r"Tags of a buffer are a list of names, got the text 'rgb'"):
        Buffer(tags="rgb")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, "holds an array of booleans, numbers or text") for value in (object(), {"a": 1}, [None, 1])),
        ([[1, 2], [3]], "holds one array"),
    ],
)
def test_values_that_are_no_array_are_refused(value, message):
    with pytest.raises(RecordingError, match=f"A buffer {message}"):
        Buffer(value)


class Camera(Module):
    def __init__(self):
        super().__init__()
        self.rgb_image = Buffer(tags=["rgb", "image"])
        self.depth_image = Buffer(np.ones((2, 2)), tags=["depth", "image"])
        self.pose = Buffer(np.zeros(7))


class Robot(Module):
    def __init__(self, log, *, simulated):
        super().__init__()
        self.joint_positions = Buffer()
        self.camera = Camera()
        self._log, self._simulated = log, simulated

    def _read_state(self):
        self._log.append("read robot")
        self.joint_positions.set_value(self._simulated["q"])

    def _write_state(self):
        self._log.append("write robot")
        self._simulated["q"] = self.joint_positions.get_value().copy()


class Door(Module):
    def __init__(self, log):
        super().__init__()
        self.angle = Buffer(0.0)
        self._log = log

    def _read_state(self):
        self._log.append("read door")

    def _write_state(self):
        self._log.append("write door")


class World:
    def __init__(self):
        self.log = []
        self.simulated = {"q": np.arange(3.0)}
        self.scene = Module()
        self.scene.robots = Module()
        self.scene.robots.add_child("panda", Robot(self.log, simulated=self.simulated))
        self.scene.add_child("door", Door(self.log))


@pytest.fixture
def world():
    return World()


def test_paths_are_relative_to_the_module_that_is_asked_and_empty_buffers_are_only_named(world):
    world.scene.update_state()
    assert "robots.panda.camera.rgb_image" in dict(world.scene.named_buffers())
    assert set(world.scene.state_dict()) == {
        "robots.panda.joint_positions",
        "robots.panda.camera.depth_image",
        "robots.panda.camera.pose",
        "door.angle",
    }
    panda = world.scene.children["robots"].children["panda"]
    assert set(panda.state_dict()) == {"joint_positions", "camera.depth_image", "camera.pose"}


@pytest.mark.parametrize(
    ("include", "exclude", "wanted"),
    [
        (["depth"], [], {"depth_image"}),
        (["image"], [], {"depth_image", "rgb_image"}),
        (["image"], ["rgb"], {"depth_image"}),
        (None, ["image"], {"pose"}),
        ([], [], set()),
        (["no_such_tag"], [], set()),
        (None, [], {"depth_image", "rgb_image", "pose"}),
    ],
)
def test_tags_select_buffers(include, exclude, wanted):
    camera = Camera()
    camera.rgb_image.set_value(np.zeros((2, 2, 3)))
    assert set(camera.state_dict(include_tags=include, exclude_tags=exclude)) == wanted


def test_tags_may_be_given_by_position_and_never_as_one_text():
    camera = Camera()
    assert set(camera.state_dict(["image"], ["rgb"])) == {"depth_image"}
    with pytest.raises(RecordingError, match=r"include_tags='rgb' is a text, expected a list of tags"):
        camera.state_dict("rgb")
    with pytest.raises(RecordingError, match=r"exclude_tags='rgb' is a text"):
        camera.state_dict(exclude_tags="rgb")


@pytest.mark.parametrize("kind", Rendering)
def test_a_switch_reaches_every_module_below_and_no_other(kind):
    class Eye(Module):
        def __init__(self):
            super().__init__()
            self._kinds = []

        def _switch_rendering(self, kind, *, on):
            self._kinds.append((kind, on))

    root, near, far, aside = Module(), Eye(), Eye(), Eye()
    root.near = near
    near.far = far
    root.aside = aside
    getattr(near, f"enable_{kind.name}_rendering")()
    assert near._kinds == far._kinds == [(kind, True)]
    assert aside._kinds == []
    root.disable_rendering()
    assert aside._kinds == [(each, False) for each in Rendering]


def test_update_and_replay_go_from_the_top_down_in_order(world):
    world.scene.update_state()
    world.scene.write_replay_data()
    assert world.log == ["read robot", "read door", "write robot", "write door"]


def test_a_recorded_state_restores_the_simulation(world):
    world.scene.update_state()
    recorded = world.scene.state_dict()
    world.simulated["q"] = np.full(3, 9.0)
    world.scene.update_state()
    np.testing.assert_array_equal(recorded["robots.panda.joint_positions"], [0, 1, 2])
    world.scene.load_state_dict(recorded)
    world.scene.write_replay_data()
    np.testing.assert_array_equal(world.simulated["q"], [0, 1, 2])


NAMES = st.text(alphabet="abcXYZ019_-", min_size=1, max_size=6)
VALUES = st.lists(st.floats(allow_nan=False), max_size=4)
TREES = st.recursive(VALUES, lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12)


def build(tree):
    module = Module()
    for name, node in tree.items():
        if isinstance(node, dict):
            module.add_child(name, build(node))
        else:
            setattr(module, name, Buffer(np.array(node, dtype=float)))
    return module


@pytest.mark.property
@given(tree=st.dictionaries(NAMES.filter(lambda n: not n.startswith("_")), TREES, max_size=4))
def test_state_loads_into_an_equal_tree_bit_for_bit(tree):
    def without_hidden(node):
        hidden = {k: v for k, v in node.items() if not k.startswith("_")}
        return {k: without_hidden(v) if isinstance(v, dict) else v for k, v in hidden.items()}

    tree = without_hidden(tree)
    source, target = build(tree), build(tree)
    for _, buffer in target.named_buffers():
        buffer.set_value(None)
    state = source.state_dict()
    target.load_state_dict(state)
    loaded = target.state_dict()
    assert list(loaded) == list(state)
    for path, value in state.items():
        assert value.tobytes() == loaded[path].tobytes()


def test_an_unknown_path_is_refused_and_nothing_is_loaded(world):
    world.scene.update_state()
    state = {"robots.panda.joint_positions": np.full(3, 7.0), "robots.panda.joint_position": np.zeros(3)}
    with pytest.raises(RecordingError, match=r"'robots.panda.joint_position' has no buffer in Module\. Did you mean"):
        world.scene.load_state_dict(state)
    np.testing.assert_array_equal(world.scene.state_dict()["robots.panda.joint_positions"], [0, 1, 2])


@pytest.mark.parametrize("name", ["door", "a.b", "", "my door", "ä"])
def test_a_child_needs_a_free_name_that_can_be_a_key(world, name):
    with pytest.raises(RecordingError, match=r"is taken or has other characters .* Taken: door, robots\."):
        world.scene.add_child(name, Module())
    with pytest.raises(RecordingError, match="'pose' is taken"):  # by a buffer
        Camera().add_child("pose", Module())


def test_an_attribute_that_is_set_anew_leaves_nothing_of_the_old_one():
    camera = Camera()
    camera._cache = Buffer([1.0])  # no part of the tree
    camera.pose = Buffer([1.0], tags=["new"])
    assert camera.state_dict(include_tags=["new"]).keys() == {"pose"}
    camera.pose = Camera()
    assert "pose" not in camera.state_dict()
    assert "pose.depth_image" in camera.state_dict()
    camera.pose = None
    assert set(camera.state_dict()) == {"depth_image"}
    del camera.depth_image
    assert camera.state_dict() == {}


def test_a_subclass_without_super_init_is_refused():
    class Forgetful(Module):
        def __init__(self):
            self.pose = Buffer()

    with pytest.raises(RecordingError, match=r"'pose' is set on Forgetful .* Call super\(\)\.__init__\(\) first"):
        Forgetful()
