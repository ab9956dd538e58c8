"""The last step of a drawing on the device: tone curve, mean of samples, and three bytes a pixel."""

import numpy as np
import pytest

from unlatch.simcore.errors import WorldError
from unlatch.simcore.sim.renderers.light import tone_curve
from unlatch.simcore.sim.renderers.pygfx import open_device


@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize(("width", "height"), [(8, 4), (7, 5), (1, 1)])
def test_a_picture_is_the_rounded_mean_of_the_tone_mapped_samples(width: int, height: int, scale: int) -> None:
    wgpu = pytest.importorskip("wgpu")
    from unlatch.simcore.sim.renderers.pygfx_passes import make_picture_pass

    try:
        device = open_device()
    except WorldError as exc:
        pytest.skip(str(exc))
    size = (width * scale, height * scale, 1)
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
