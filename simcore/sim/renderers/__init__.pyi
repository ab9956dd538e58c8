from .auto import best_renderer
from .bullet_image import TinyRenderer, convert_mask
from .catalog import RENDERERS
from .egl import EglRenderer
from .embree import EmbreeRenderer
from .renderer import Light, RawImages, Renderer, RenderRequest

__all__ = [
    "RENDERERS",
    "EglRenderer",
    "EmbreeRenderer",
    "Light",
    "RawImages",
    "RenderRequest",
    "Renderer",
    "TinyRenderer",
    "best_renderer",
    "convert_mask",
]
