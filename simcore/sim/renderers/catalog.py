"""Which renderers there are."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

RENDERERS = Catalog(
    "renderer",
    {
        "egl": CatalogEntry(
            "simcore.sim.renderers.egl:EglRenderer", "Bullet's OpenGL renderer without a screen: graphics card or Mesa"
        ),
        "embree": CatalogEntry(
            "simcore.sim.renderers.embree:EmbreeRenderer", "rays cast on the processor: extra 'raycast'"
        ),
        "tiny": CatalogEntry(
            "simcore.sim.renderers.tiny:TinyRenderer", "Bullet's software renderer: everywhere, on one core"
        ),
    },
    group="unlatch.renderers",
    contract="simcore.sim.renderers.renderer:Renderer",
)
