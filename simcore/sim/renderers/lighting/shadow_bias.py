"""Shadow maps of pygfx whose bias grows with the slope of a surface.

A shadow map stores the distance from the light for texels of a few millimetres. On a surface that the light grazes,
this distance changes a lot within one texel, so the surface would shadow itself in stripes. A constant bias that
prevents it everywhere would detach shadows from the objects that cast them. pygfx has only the constant bias.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_SLOPE_SCALE = 3.0
"""Bias as a multiple of the change of depth from one texel to the next. Soft shadows read texels up to three away."""
_LARGEST_BIAS = 0.006
"""Limit of that bias, as a share of the depth that the shadow map covers: 4 cm. Else light leaks at steep edges."""


def use_sloped_bias(mesh: Any) -> None:
    """Makes pygfx draw a mesh into shadow maps with a bias that grows with the slope.

    pygfx keeps the pipeline of a mesh's shadow on the mesh, by a key. It takes the one that is set here.
    """
    from pygfx.renderers.wgpu.engine import shadowutil

    positions = mesh.geometry.positions
    key = (positions.itemsize, positions.format, shadowutil.get_shadow_topology(mesh), "none", False)
    mesh._gfx_shadow_pipeline_none = (key, _make_pipeline(*key))


@cache
def _make_pipeline(stride: int, vertex_format: str, topology: str, cull_mode: str, instanced: bool) -> Any:
    from pygfx.renderers.wgpu import get_shared
    from pygfx.renderers.wgpu.engine import shadowutil

    device = get_shared().device
    if shadowutil.global_bind_group_layout is None:  # else pygfx makes it in its first drawing
        entries = [shadowutil.bind_group_layout_entry]
        shadowutil.global_bind_group_layout = device.create_bind_group_layout(entries=entries)
    return shadowutil.create_shadow_pipeline(
        _BiasedDevice(device), stride, vertex_format, topology, cull_mode, instanced
    )


class _BiasedDevice:
    """A device of wgpu whose pipelines draw depth with a bias that grows with the slope."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def create_render_pipeline(self, **settings: Any) -> Any:
        settings["depth_stencil"].depth_bias_slope_scale = _SLOPE_SCALE
        settings["depth_stencil"].depth_bias_clamp = _LARGEST_BIAS
        return self._device.create_render_pipeline(**settings)
