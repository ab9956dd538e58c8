"""`renderer=pygfx`: what is kept between images, its last pass, its types, and the graphics card that it draws on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.process import CARD_VARIABLE, WORKER_VARIABLE
from unlatch.simcore.sim.renderers import pygfx
from unlatch.simcore.sim.renderers.light import tone_curve
from unlatch.simcore.sim.renderers.pygfx import PygfxRenderer, choose_card, share_cards
from unlatch.simcore.sim.renderers.renderer import RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration
T_WORLD_CAMERA = Pose(np.diag([1.0, -1.0, -1.0]), [0.4, 0.0, 2.0])
"""Looks down."""
REQUEST = RenderRequest(Pinhole.from_fov(96, 72, 1.0), T_WORLD_CAMERA, near_m=0.02, far_m=10.0)


@pytest.fixture(scope="module")
def gfx():
    """The package; its tests are skipped where it or a driver is missing."""
    pytest.importorskip("fast_simplification")
    found = pytest.importorskip("pygfx")
    try:
        pygfx.open_device()
    except WorldError as exc:
        pytest.skip(exc.message)
    return found


def fill(world):
    """A board at a depth of 2 m with a block on it, whose top is at 1.6 m."""
    world.add_box("board", size_m=(1.5, 1.5, 0.1), T_world_box=Pose.from_translation((0.4, 0.0, -0.05)))
    world.add_box("block", size_m=(0.3, 0.3, 0.4), T_world_box=Pose.from_translation((0.4, 0.0, 0.2)))


def turn_light(world):
    world.light = replace(Light(), direction=(1.0, 1.0, 1.0))


def paint_block(world):
    (shape,) = world.bodies["block"].visual_shapes
    world.paint[shape.body, shape.link, shape.index] = Paint((0.1, 0.2, 0.9, 1.0), None)


def move_block(world):
    world.bodies["block"].set_root_pose(Pose.from_translation((0.6, 0.1, 0.2)))


def add_block(world):
    world.add_box("other", size_m=(0.2, 0.2, 0.2), T_world_box=Pose.from_translation((0.0, 0.3, 0.1)))


def assert_equal(images, expected):
    for name in ("rgb", "depth_m", "link_ids"):
        np.testing.assert_array_equal(getattr(images, name), getattr(expected, name))


class TestImages:
    @pytest.fixture
    def world(self, gfx):
        with World(WorldCfg(), visuals=True, renderer=PygfxRenderer()) as world:
            fill(world)
            yield world

    @pytest.mark.parametrize("change", [turn_light, paint_block, move_block, add_block])
    def test_after_a_change_an_image_is_that_of_a_world_that_was_so_from_the_start(self, world, change):
        before = world.renderer.render(world, REQUEST)
        assert_equal(world.renderer.render(world, REQUEST), before)
        change(world)
        after = world.renderer.render(world, REQUEST)
        assert (after.rgb != before.rgb).any()
        with World(WorldCfg(), visuals=True, renderer=PygfxRenderer()) as fresh:
            fill(fresh)
            change(fresh)
            assert_equal(after, fresh.renderer.render(fresh, REQUEST))

    def test_links_beyond_the_far_plane_are_nothing_at_an_infinite_depth(self, world):
        whole = world.renderer.render(world, REQUEST)
        near = world.renderer.render(world, replace(REQUEST, far_m=1.8))
        block = whole.depth_m < 1.8
        assert 0 < block.sum() < block.size
        np.testing.assert_array_equal(near.depth_m, np.where(block, whole.depth_m, np.inf))
        np.testing.assert_array_equal(near.link_ids, np.where(block, whole.link_ids, 0))

    def test_a_surface_that_the_light_grazes_has_no_stripes(self, world):
        world.light = replace(Light(), direction=(1.0, 0.3, 0.3))
        without = world.renderer.render(world, replace(REQUEST, shadow=False)).rgb.astype(int)
        lit = world.renderer.render(world, REQUEST).rgb.astype(int)
        towards_light = np.s_[15:57, 62:70]  # inside the board, where no shadow of the block falls
        np.testing.assert_allclose(lit[towards_light], without[towards_light], atol=2)
        assert (lit[:, :40] < without[:, :40] - 10).any()  # the block has a shadow

    @pytest.mark.parametrize(("width", "height", "scale"), [(8, 4, 2), (7, 5, 1)])
    def test_a_picture_is_the_rounded_mean_of_the_tone_mapped_samples(self, gfx, width, height, scale):
        import wgpu

        from unlatch.simcore.sim.renderers.pygfx_passes import make_picture_pass

        device, size = pygfx.open_device(), (width * scale, height * scale, 1)
        drawn = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 4), dtype=np.uint8)
        usage = wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.COPY_DST
        texture = device.create_texture(size=size, format="rgba8unorm-srgb", usage=usage)
        layout = {"bytes_per_row": 4 * size[0], "rows_per_image": size[1]}
        device.queue.write_texture({"texture": texture}, drawn, layout, size)

        step = make_picture_pass(device, width, height, scale)
        encoder = device.create_command_encoder()
        step.render(encoder, texture.create_view(), None, None)
        device.queue.submit([encoder.finish()])
        step.start_reading()

        levels = tone_curve()[drawn[..., :3]].astype(int).reshape(height, scale, width, scale, 3)
        expected = (levels.sum(axis=(1, 3)) + scale**2 // 2) // scale**2
        np.testing.assert_array_equal(step.read_picture(), expected)


STRUCTS = ("WGPULimits *", "WGPUColor *", "WGPURenderPassDescriptor *", "WGPUBindGroupEntry *")
ARRAYS = ("WGPUBindGroupEntry[]", "WGPUTexture[]", "char []", "uint8_t[]", "uint8_t []", "uint32_t []")
NUMBERS = ("intptr_t", "uintptr_t")


class TestStructTypes:
    """The struct types of wgpu that are read at once are those that cffi reads one by one."""

    @pytest.fixture
    def ffi(self, monkeypatch):
        pytest.importorskip("pygfx")
        from wgpu.backends.wgpu_native._ffi import ffi

        monkeypatch.setattr(ffi, "_parsed_types", {})
        return ffi

    def test_structs_are_known_without_another_run_of_the_parser(self, ffi, monkeypatch):
        pygfx._read_struct_types()
        monkeypatch.setattr(ffi._parser, "parse_type", None)
        assert all(ffi.new(name) for name in STRUCTS)
        assert all(len(ffi.new(name, 3)) == 3 for name in ARRAYS)
        assert all(ffi.cast(name, 7) for name in NUMBERS)


def make_adapter(device, adapter_type="DiscreteGPU", backend="Vulkan"):
    return SimpleNamespace(info={"device": device, "adapter_type": adapter_type, "backend_type": backend})


FIRST, SECOND, THIRD = (make_adapter("H100") for _ in range(3))
SMALL, SHARED = make_adapter("T400"), make_adapter("Iris", "IntegratedGPU")
SOFTWARE, ODD = make_adapter("llvmpipe", "CPU"), make_adapter("odd", "unknown")
ADAPTERS = [SOFTWARE, SHARED, FIRST, make_adapter("H100", backend="OpenGL"), SMALL, SECOND, THIRD]


class TestCards:
    @pytest.mark.parametrize(
        ("adapters", "number", "expected"),
        [
            *(
                (ADAPTERS, str(n), card)
                for n, card in ((0, FIRST), (1, SMALL), (2, SECOND), (4, SHARED), (5, SOFTWARE))
            ),
            # A card of a kind without a name comes after those with one.
            ((SOFTWARE, ODD, FIRST), "1", ODD),
        ],
    )
    def test_numbers_count_discrete_cards_first_in_the_order_of_the_driver(self, adapters, number, expected):
        assert choose_card(adapters, number) is expected

    @pytest.mark.parametrize("number", ["6", "two"])
    def test_a_number_that_is_no_card_names_those_that_are(self, number):
        with pytest.raises(ConfigError, match=f"UNLATCH_CARD='{number}' is not .* Known: 0 .H100., 1 .T400.,"):
            choose_card(ADAPTERS, number)

    def test_workers_take_turns_on_the_cards_of_the_preferred_model(self):
        chosen = [share_cards(ADAPTERS, make_adapter("H100"), worker) for worker in range(7)]
        assert all(card is (FIRST, SECOND, THIRD)[worker % 3] for worker, card in enumerate(chosen))
        assert share_cards(ADAPTERS, SMALL, 3) is SMALL

    @pytest.mark.parametrize(
        ("card", "worker", "expected"),
        [(None, None, FIRST), (None, "4", SECOND), ("2", None, SECOND), ("5", "1", SOFTWARE)],
    )
    def test_the_variable_decides_then_the_worker_then_the_preference_of_wgpu(
        self, monkeypatch, card, worker, expected
    ):
        fake = SimpleNamespace(
            enumerate_adapters_sync=lambda: ADAPTERS, request_adapter_sync=lambda power_preference: FIRST
        )
        monkeypatch.setattr(pytest.importorskip("wgpu"), "gpu", fake)
        for name, value in ((CARD_VARIABLE, card), (WORKER_VARIABLE, worker)):
            monkeypatch.delenv(name, raising=False)
            if value is not None:
                monkeypatch.setenv(name, value)
        assert pygfx.find_adapter() is expected

    @pytest.mark.parametrize("has_drawn", [False, True])
    def test_the_device_is_that_of_the_chosen_card_unless_the_process_has_drawn(self, monkeypatch, has_drawn):
        wgpu, chosen = pytest.importorskip("pygfx").renderers.wgpu, []

        def select(adapter):
            if has_drawn:
                raise RuntimeError("default device cannot be configured after it is created")
            chosen.append(adapter)

        monkeypatch.setattr(pygfx, "find_adapter", lambda: SECOND)
        monkeypatch.setattr(wgpu, "select_adapter", select)
        monkeypatch.setattr(wgpu, "get_shared", lambda: SimpleNamespace(device="its device"))
        monkeypatch.delenv(CARD_VARIABLE, raising=False)
        assert pygfx.open_device.__wrapped__() == "its device"
        assert chosen == [SECOND] * (not has_drawn)
        if has_drawn:
            monkeypatch.setenv(CARD_VARIABLE, "1")
            with pytest.raises(ConfigError, match="has drawn with pygfx before"):
                pygfx.open_device.__wrapped__()
