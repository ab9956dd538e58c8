"""Turns a drawing of pygfx into the levels of a picture on the device, so that only the picture is read back."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from unlatch.simcore.sim.renderers.lighting.environment_light import tone_curve
from unlatch.simcore.sim.renderers.readback import Readback

Array = np.ndarray

_GROUP = 64
_PIXELS_PER_THREAD = 4
"""Four pixels of three bytes are three words."""
_SHADER = """
const width = {width}u;
const scale = {scale}u;
@group(0) @binding(0) var drawing: texture_2d<f32>;
@group(0) @binding(1) var<storage, read> curve: array<u32>;
@group(0) @binding(2) var<storage, read_write> picture: array<u32>;

// loading a level of an sRGB texture decodes it; the nearest encoded level is the one that was drawn
fn encode(linear: vec3f) -> vec3f {{
    return select(1.055 * pow(linear, vec3f(1.0 / 2.4)) - 0.055, 12.92 * linear, linear <= vec3f(0.0031308));
}}

fn levels(pixel: u32) -> vec3u {{
    let corner = scale * vec2u(pixel % width, pixel / width);
    var sum = vec3u(scale * scale / 2u);
    for (var y = 0u; y < scale; y++) {{
        for (var x = 0u; x < scale; x++) {{
            let drawn = vec3u(255.0 * encode(textureLoad(drawing, corner + vec2u(x, y), 0).rgb) + 0.5);
            sum += vec3u(curve[drawn.x], curve[drawn.y], curve[drawn.z]);
        }}
    }}
    return sum / (scale * scale);
}}

@compute @workgroup_size({group})
fn main(@builtin(global_invocation_id) thread: vec3u) {{
    let at = 3u * thread.x;
    if (at >= arrayLength(&picture)) {{
        return;
    }}
    let pixel = 4u * thread.x;
    let a = levels(pixel);
    let b = levels(pixel + 1u);
    let c = levels(pixel + 2u);
    let d = levels(pixel + 3u);
    picture[at] = a.r | (a.g << 8u) | (a.b << 16u) | (b.r << 24u);
    picture[at + 1u] = b.g | (b.b << 8u) | (c.r << 16u) | (c.g << 24u);
    picture[at + 2u] = c.b | (d.r << 8u) | (d.g << 16u) | (d.b << 24u);
}}
"""


def make_picture_pass(device: Any, width: int, height: int, scale: int) -> Any:
    """Returns the last effect of a renderer of pygfx, with `read_picture` for its picture.

    Args:
        device: The device of wgpu.
        width: Of the picture [pixels].
        height: Of the picture [pixels].
        scale: Pixels of the drawing along each side of a pixel of the picture, which is their mean.
    """
    return _make_class()(device, width, height, scale)


@cache
def _make_class() -> type:
    import wgpu
    from pygfx.renderers.wgpu import EffectPass

    class PicturePass(EffectPass):  # type: ignore[misc]  # pygfx has no types
        """Applies the tone curve, averages, and packs pixels as three bytes."""

        wgsl = ""

        def __init__(self, device: Any, width: int, height: int, scale: int) -> None:
            super().__init__()
            self._device, self._shape = device, (height, width)
            self._n_threads = -(-width * height // _PIXELS_PER_THREAD)
            usage = wgpu.BufferUsage
            self._curve = device.create_buffer_with_data(data=tone_curve().astype(np.uint32), usage=usage.STORAGE)
            self._picture = device.create_buffer(size=12 * self._n_threads, usage=usage.STORAGE | usage.COPY_SRC)
            self._readback = Readback(device, 3 * width * height)
            code = _SHADER.format(width=width, scale=scale, group=_GROUP)
            module = device.create_shader_module(code=code)
            self._pipeline = device.create_compute_pipeline(
                layout="auto", compute={"module": module, "entry_point": "main"}
            )
            self._group: tuple[Any, Any] = (None, None)

        def render(self, command_encoder: Any, color_tex: Any, depth_tex: Any, target_tex: Any) -> None:
            """Records the computation and the copy of the picture; pygfx calls it."""
            if self._group[0] is not color_tex:
                entries = [
                    {"binding": 0, "resource": color_tex},
                    {"binding": 1, "resource": {"buffer": self._curve}},
                    {"binding": 2, "resource": {"buffer": self._picture}},
                ]
                layout = self._pipeline.get_bind_group_layout(0)
                self._group = (color_tex, self._device.create_bind_group(layout=layout, entries=entries))
            computing = command_encoder.begin_compute_pass()
            computing.set_pipeline(self._pipeline)
            computing.set_bind_group(0, self._group[1])
            computing.dispatch_workgroups(-(-self._n_threads // _GROUP))
            computing.end()
            copied = min(self._picture.size, self._readback.buffer.size)
            command_encoder.copy_buffer_to_buffer(self._picture, 0, self._readback.buffer, 0, copied)

        def start_reading(self) -> None:
            """Asks for the picture, after the drawing was submitted."""
            self._readback.start()

        def read_picture(self) -> Array:
            """Returns the picture (height, width, 3) uint8."""
            with self._readback.values(np.uint8) as values:
                return values.reshape(*self._shape, 3).copy()

    return PicturePass
