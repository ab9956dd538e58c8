from .appearance import OWN, PLAIN, LinkAppearance, TextureStore
from .pictures import (
    LookAtCamera,
    framing_camera,
    link_labels,
    project_points,
    require_visuals,
    take_images,
    take_picture,
    visible_links,
)
from .scenery import SOLIDS, add_panel, add_solid
from .visual_geometry import bullet_primitive_mesh, link_mesh
from .visual_shapes import Paint, VisualShape, read_visual_shapes

__all__ = [
    "OWN",
    "PLAIN",
    "SOLIDS",
    "LinkAppearance",
    "LookAtCamera",
    "Paint",
    "TextureStore",
    "VisualShape",
    "add_panel",
    "add_solid",
    "bullet_primitive_mesh",
    "framing_camera",
    "link_labels",
    "link_mesh",
    "project_points",
    "read_visual_shapes",
    "require_visuals",
    "take_images",
    "take_picture",
    "visible_links",
]
