from .model import (
    Inertial,
    Joint,
    Link,
    Shape,
    ShapeKind,
    UrdfModel,
    composed_inertial,
    primitive_bounds,
    rigid_links,
    rigid_shapes,
)
from .package_paths import PACKAGE_FILE, PACKAGE_PREFIX, package_path
from .reader import MAX_MESH_BYTES, check_bytes, inside, model_folder, read_urdf
from .xml import parse_xml

__all__ = [
    "MAX_MESH_BYTES",
    "PACKAGE_FILE",
    "PACKAGE_PREFIX",
    "Inertial",
    "Joint",
    "Link",
    "Shape",
    "ShapeKind",
    "UrdfModel",
    "check_bytes",
    "composed_inertial",
    "inside",
    "model_folder",
    "package_path",
    "parse_xml",
    "primitive_bounds",
    "read_urdf",
    "rigid_links",
    "rigid_shapes",
]
