"""The passes of a picture on wgpu: exact links and depth of each pixel, the levels of the picture, and the memory
from which Python reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.renderers.light import tone_curve

ROW_ALIGNMENT = 256
"""Rows of a texture are copied to starts that are multiples of this [bytes]."""


class Readback:
    """One block of memory. The copy to it is recorded, `start` follows the submission, and `values` waits for them.

    wgpu's own `read_texture` makes and frees such a block for every image, and waits before anything else can be
    submitted.
    """

    def __init__(self, device: Any, n_bytes: int) -> None:
        import wgpu

        usage = wgpu.BufferUsage
        self.buffer = device.create_buffer(size=-(-n_bytes // 8) * 8, usage=usage.COPY_DST | usage.MAP_READ)
        """The buffer to copy to."""
        self._n_bytes = n_bytes
        self._mapped: Any = None

    def start(self) -> None:
        """Asks for the values of everything that was submitted before."""
        self._mapped = self.buffer.map_async("READ")

    @contextmanager
    def values(self, dtype: DTypeLike) -> Iterator[Array]:
        """Yields the values (N,); they are gone afterwards."""
        self._mapped.sync_wait()
        try:
            yield np.frombuffer(self.buffer.read_mapped(copy=False)[: self._n_bytes], dtype=dtype)
        finally:
            self.buffer.unmap()


_INFINITY = int(np.float32(np.inf).view(np.uint32))
"""The bits of an infinite depth."""
_GEOMETRY_SHADER = """
const INFINITY = INFINITY_BITSu;
struct Camera { scale: vec2f, shift: vec2f, near: f32, far: f32 };
struct Link { T_camera_link: mat4x4f, id: u32, pad_a: u32, pad_b: u32, pad_c: u32 };
struct Corner { @builtin(position) clip: vec4f, @location(0) depth: f32, @location(1) @interpolate(flat) id: u32 };
@group(0) @binding(0) var<uniform> camera: Camera;
@group(0) @binding(1) var<storage, read> links: array<Link>;

@vertex fn vs_main(@location(0) vertex: vec3f, @builtin(instance_index) place: u32) -> Corner {
    let link = links[place];
    let p = (link.T_camera_link * vec4f(vertex, 1.0)).xyz;
    var corner: Corner;
    corner.clip = vec4f(camera.scale * p.xy + camera.shift * p.z, camera.near, p.z);
    corner.depth = p.z;
    corner.id = link.id;
    return corner;
}

@fragment fn fs_main(corner: Corner) -> @location(0) vec2u {
    if (corner.depth > camera.far) {
        return vec2u(0u, INFINITY);
    }
    return vec2u(corner.id, bitcast<u32>(corner.depth));
}
"""
_VALUES_FORMAT, _DEPTH_FORMAT = "rg32uint", "depth32float"
_LINK = np.dtype([("T_camera_link", np.float32, (4, 4)), ("id", np.uint32, 4)])
_LEAST_LINKS = 64


@dataclass(frozen=True, eq=False)
class UploadedMesh:
    """The triangles of one link on the graphics card."""

    vertices: Any
    indices: Any
    n_indices: int


@dataclass(frozen=True)
class PosedLink:
    """A link at its pose."""

    mesh: UploadedMesh
    T_world_link: Pose
    link_id: int
    """As in `RawImages.link_ids`."""
    sheet: bool
    """Whether it is visible from its front alone."""


class GeometryPass:
    """Draws links and depth with a device of wgpu; depth is interpolated in single precision."""

    def __init__(self, device: Any) -> None:
        import wgpu

        self._device, self._wgpu = device, wgpu
        self._module = device.create_shader_module(code=_GEOMETRY_SHADER.replace("INFINITY_BITS", str(_INFINITY)))
        stages = wgpu.ShaderStage
        self._layout = device.create_bind_group_layout(
            entries=[
                {"binding": 0, "visibility": stages.VERTEX | stages.FRAGMENT, "buffer": {"type": "uniform"}},
                {"binding": 1, "visibility": stages.VERTEX, "buffer": {"type": "read-only-storage"}},
            ]
        )
        self._pipelines = {sheet: self._make_pipeline("back" if sheet else "none") for sheet in (False, True)}
        self._camera = device.create_buffer(size=32, usage=wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST)
        self._links, self._group = self._make_links(_LEAST_LINKS)
        self._target: _GeometryTarget | None = None
        self._recorded: list[tuple[UploadedMesh, bool]] = []
        self._bundle: Any = None

    def upload(self, vertices: Array, faces: Array) -> UploadedMesh:
        """Uploads vertices (V, 3) [m] and faces (F, 3)."""
        usage = self._wgpu.BufferUsage
        indices = np.ascontiguousarray(faces, dtype=np.uint32)
        return UploadedMesh(
            self._device.create_buffer_with_data(
                data=np.ascontiguousarray(vertices, dtype=np.float32), usage=usage.VERTEX
            ),
            self._device.create_buffer_with_data(data=indices, usage=usage.INDEX),
            indices.size,
        )

    def draw(
        self, meshes: Sequence[PosedLink], pinhole: Pinhole, T_world_camera: Pose, *, near_m: float, far_m: float
    ) -> None:
        """Draws and asks for the values, which `read` returns; nothing is visible beyond `far_m`."""
        size = (pinhole.width, pinhole.height)
        self._write_camera(pinhole, near_m, far_m)
        self._write_links(meshes, T_world_camera)
        if self._target is None or self._target.size != size:
            self._target = _GeometryTarget(self._device, size)
        target = self._target
        encoder = self._device.create_command_encoder()
        drawing = encoder.begin_render_pass(
            color_attachments=[
                {
                    "view": target.values_view,
                    "load_op": "clear",
                    "store_op": "store",
                    "clear_value": (0, _INFINITY, 0, 0),
                }
            ],
            depth_stencil_attachment={
                "view": target.depth_view,
                "depth_load_op": "clear",
                "depth_store_op": "discard",
                "depth_clear_value": 0.0,  # the inverse of an infinite depth
            },
        )
        drawing.execute_bundles([self._record(meshes)])
        drawing.end()
        target.copy(encoder)
        self._device.queue.submit([encoder.finish()])
        target.readback.start()

    def read(self) -> tuple[Array, Array]:
        """Returns link ids (height, width) int32 and depth (height, width) float32 [m], as `RawImages` has them.

        Raises:
            WorldError: Nothing was drawn.
        """
        if self._target is None:
            raise WorldError("GeometryPass.read() was called before draw(), so there is nothing to read.")
        return self._target.read()

    def _record(self, meshes: Sequence[PosedLink]) -> Any:
        """Returns the commands that draw the meshes, which are recorded again only if there are other meshes."""
        wanted = [(placed.mesh, placed.sheet) for placed in meshes]
        if self._bundle is None or self._recorded != wanted:
            drawing = self._device.create_render_bundle_encoder(
                color_formats=[_VALUES_FORMAT], depth_stencil_format=_DEPTH_FORMAT
            )
            drawing.set_bind_group(0, self._group)
            for place, (mesh, sheet) in enumerate(wanted):
                drawing.set_pipeline(self._pipelines[sheet])
                drawing.set_vertex_buffer(0, mesh.vertices)
                drawing.set_index_buffer(mesh.indices, "uint32")
                drawing.draw_indexed(mesh.n_indices, 1, 0, 0, place)
            self._recorded, self._bundle = wanted, drawing.finish()
        return self._bundle

    def _write_camera(self, pinhole: Pinhole, near_m: float, far_m: float) -> None:
        width, height = pinhole.width, pinhole.height
        # the centre of pixel (u, v) is at (u + 0.5, v + 0.5) of the target, whose y points up
        shift = ((2.0 * pinhole.cx + 1.0) / width - 1.0, 1.0 - (2.0 * pinhole.cy + 1.0) / height)
        values = (2.0 * pinhole.fx / width, -2.0 * pinhole.fy / height, *shift, near_m, far_m, 0.0, 0.0)
        self._device.queue.write_buffer(self._camera, 0, np.array(values, dtype=np.float32))

    def _write_links(self, meshes: Sequence[PosedLink], T_world_camera: Pose) -> None:
        if len(meshes) * _LINK.itemsize > self._links.size:
            self._links, self._group = self._make_links(2 * len(meshes))
            self._bundle = None
        values: Array = np.zeros(len(meshes), dtype=_LINK)
        T_camera_world = T_world_camera.inverse().matrix
        # in double precision; WGSL's matrices are stored column by column
        values["T_camera_link"] = [(T_camera_world @ placed.T_world_link.matrix).T for placed in meshes]
        values["id"][:, 0] = [placed.link_id for placed in meshes]
        self._device.queue.write_buffer(self._links, 0, values)

    def _make_links(self, count: int) -> tuple[Any, Any]:
        usage = self._wgpu.BufferUsage
        links = self._device.create_buffer(size=count * _LINK.itemsize, usage=usage.STORAGE | usage.COPY_DST)
        group = self._device.create_bind_group(
            layout=self._layout,
            entries=[
                {"binding": 0, "resource": {"buffer": self._camera}},
                {"binding": 1, "resource": {"buffer": links}},
            ],
        )
        return links, group

    def _make_pipeline(self, cull_mode: str) -> Any:
        return self._device.create_render_pipeline(
            layout=self._device.create_pipeline_layout(bind_group_layouts=[self._layout]),
            vertex={
                "module": self._module,
                "entry_point": "vs_main",
                "buffers": [
                    {
                        "array_stride": 12,
                        "attributes": [{"format": "float32x3", "offset": 0, "shader_location": 0}],
                    }
                ],
            },
            primitive={"topology": "triangle-list", "cull_mode": cull_mode, "front_face": "ccw"},
            depth_stencil={"format": _DEPTH_FORMAT, "depth_write_enabled": True, "depth_compare": "greater"},
            fragment={"module": self._module, "entry_point": "fs_main", "targets": [{"format": _VALUES_FORMAT}]},
        )


class _GeometryTarget:
    """The textures of one size of images, and the memory in which they are read."""

    def __init__(self, device: Any, size: tuple[int, int]) -> None:
        import wgpu

        usage = wgpu.TextureUsage
        self.size = size
        self._values = device.create_texture(
            size=(*size, 1), format=_VALUES_FORMAT, usage=usage.RENDER_ATTACHMENT | usage.COPY_SRC
        )
        depth = device.create_texture(size=(*size, 1), format=_DEPTH_FORMAT, usage=usage.RENDER_ATTACHMENT)
        self.values_view, self.depth_view = self._values.create_view(), depth.create_view()
        self._row = -(-8 * size[0] // ROW_ALIGNMENT) * ROW_ALIGNMENT
        self.readback = Readback(device, self._row * size[1])

    def copy(self, encoder: Any) -> None:
        """Records the copy of the drawn values."""
        encoder.copy_texture_to_buffer(
            {"texture": self._values},
            {"buffer": self.readback.buffer, "bytes_per_row": self._row, "rows_per_image": self.size[1]},
            (*self.size, 1),
        )

    def read(self) -> tuple[Array, Array]:
        """Returns link ids (height, width) int32 and depth (height, width) float32 [m]."""
        width, height = self.size
        with self.readback.values(np.uint32) as values:
            pixels = values.reshape(height, -1, 2)[:, :width]
            return pixels[..., 0].astype(np.int32), pixels[..., 1].copy().view(np.float32)


_GROUP = 64
_PIXELS_PER_THREAD = 4
"""Four pixels of three bytes are three words."""
_PICTURE_SHADER = """
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
            code = _PICTURE_SHADER.format(width=width, scale=scale, group=_GROUP)
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
