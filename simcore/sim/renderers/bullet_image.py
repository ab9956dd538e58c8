"""Bullet's software renderer, and the call that it shares with Bullet's OpenGL renderer."""

from __future__ import annotations

from importlib.metadata import version
from typing import ClassVar

import numpy as np
import pybullet as p

from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderedWorld, Renderer, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light

_LINK_SHIFT = 24  # from this bit on, Bullet's segmentation mask holds the link's number plus 1
_BODY_MASK = (1 << _LINK_SHIFT) - 1


_TINY_SAMPLED_AT = (0.0, 1.0)
"""It samples pixel (u, v) at column u and row v + 1 of the frustum; images of tilted planes have shown this."""
_EVEN_LIGHT = Light(ambient=1.0, diffuse=0.0, specular=0.0, shadow=False)


class TinyRenderer(Renderer):
    """Works everywhere, on one core; the same frame gives bit-identical images."""

    name: ClassVar[str] = "tiny"
    draws_by_bullet: ClassVar[bool] = True

    @property
    def version(self) -> str:
        """See `Renderer`."""
        return f"pybullet {version('pybullet')} TinyRenderer"

    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """See `Renderer`."""
        return bullet_images(world, request, sampled_at=_TINY_SAMPLED_AT, renderer=p.ER_TINY_RENDERER)

    def render_albedo(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """As `render`, but the colours are those of the surfaces alone, without light and shadow."""
        return bullet_images(
            world, request, sampled_at=_TINY_SAMPLED_AT, renderer=p.ER_TINY_RENDERER, light=_EVEN_LIGHT
        )


def bullet_images(
    world: RenderedWorld,
    request: RenderRequest,
    *,
    sampled_at: tuple[float, float],
    renderer: int,
    light: Light | None = None,
) -> RawImages:
    """Renders images with one of Bullet's renderers.

    Args:
        world: The world.
        request: Camera and wanted images, through a pinhole.
        sampled_at: Position in the frustum at which pixel (0, 0) is sampled: column and row from its corner [pixels].
        renderer: `pybullet.ER_TINY_RENDERER` or `pybullet.ER_BULLET_HARDWARE_OPENGL`.
        light: The light; None: that of the world.
    """
    pinhole, near_m, far_m = request.optics, request.near_m, request.far_m
    T_world_camera, light = request.T_world_camera, light or world.light
    # OpenGL's camera looks along -z with y up
    look = Pose(T_world_camera.R @ np.diag([1.0, -1.0, -1.0]), T_world_camera.p).inverse().matrix
    _, _, rgba, buffer, mask = p.getCameraImage(
        pinhole.width,
        pinhole.height,
        viewMatrix=look.T.ravel().tolist(),
        projectionMatrix=_frustum_of(request, *sampled_at),
        lightDirection=light.direction,
        lightColor=light.colour,
        lightAmbientCoeff=light.ambient,
        lightDiffuseCoeff=light.diffuse,
        lightSpecularCoeff=light.specular,
        shadow=int(request.colours and request.shadow and light.shadow),
        renderer=renderer,
        flags=p.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        physicsClientId=world.client,
    )
    shape = (pinhole.height, pinhole.width)
    link_ids = convert_mask(world, np.reshape(np.asarray(mask, dtype=np.int32), shape))
    scaled: Array = np.reshape(np.asarray(buffer, dtype=np.float64), shape)
    depth_m: Array = (far_m * near_m / (far_m - (far_m - near_m) * scaled)).astype(np.float32)
    depth_m[link_ids == 0] = np.inf
    rgb: Array = np.reshape(np.asarray(rgba, dtype=np.uint8), (*shape, 4))[:, :, :3].copy()
    return RawImages(rgb, depth_m, link_ids)


def _frustum_of(request: RenderRequest, column: float, row: float) -> list[float]:
    """Returns the projection that samples pixel (u, v) on its ray; see `bullet_images`."""
    pinhole, near_m, far_m = request.optics, request.near_m, request.far_m
    x, y = near_m / pinhole.fx, near_m / pinhole.fy
    left, top = -(pinhole.cx + column) * x, (pinhole.cy + row) * y
    return list(p.computeProjectionMatrix(left, left + pinhole.width * x, top - pinhole.height * y, top, near_m, far_m))


def convert_mask(world: RenderedWorld, mask: Array) -> Array:
    """Converts Bullet's segmentation mask to `RawImages.link_ids`."""
    bodies = world.seen_bodies()
    most_id, most_links = (
        max((b.body_id for b in bodies), default=0),
        max((len(b.link_names) for b in bodies), default=0),
    )
    table: Array = np.zeros((most_id + 1, most_links + 1), dtype=np.int32)
    links = ((body.body_id, index) for body in bodies for index in body.link_names)
    for number, (body_id, index) in enumerate(links, start=1):
        table[body_id, index + 1] = number
    seen = mask >= 0
    ids: Array = np.zeros(mask.shape, dtype=np.int32)
    found = mask[seen]
    ids[seen] = table[found & _BODY_MASK, found >> _LINK_SHIFT]
    return ids
