"""The catalog of renderers."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

AUTO = "auto"
"""The name that stands for the renderer that suits the images and this machine."""

RENDERERS = Catalog(
    "renderer",
    {
        "egl": CatalogEntry(
            "unlatch.simcore.sim.renderers.egl:EglRenderer",
            "depth and labels by OpenGL without a screen: graphics card or Mesa",
        ),
        "embree": CatalogEntry(
            "unlatch.simcore.sim.renderers.embree:EmbreeRenderer", "rays cast on the processor: extra 'raycast'"
        ),
        "mitsuba": CatalogEntry(
            "unlatch.simcore.sim.renderers.mitsuba:MitsubaRenderer",
            "path tracing for pictures of record: extra 'pathtrace'",
        ),
        "pygfx": CatalogEntry(
            "unlatch.simcore.sim.renderers.pygfx:PygfxRenderer",
            "physically based pictures by wgpu: Vulkan, extra 'render'",
        ),
        "tiny": CatalogEntry(
            "unlatch.simcore.sim.renderers.bullet_image:TinyRenderer",
            "Bullet's software renderer: everywhere, on one core",
        ),
    },
    group="unlatch.renderers",
    contract="unlatch.simcore.sim.renderers.renderer:Renderer",
    listed_by="unlatch list renderers",
    stand_ins=(AUTO,),
)
