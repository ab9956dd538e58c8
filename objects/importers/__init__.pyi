from .asset_converter_base import MARKER_FILE, AssetConverterBase
from .link_inertia import inertia_problem
from .mesh_converter import MeshConverter, MeshConverterCfg
from .property_groups import MassPropertiesCfg
from .synthesized_object import load_synthesized_object, synthesized_object_set
from .urdf_converter import DriveType, InertiaFallback, UrdfConverter, UrdfConverterCfg
from .urdf_folder import is_urdf_folder, urdf_instances
from .urdf_object import load_urdf_object, urdf_object_set
from .urdf_surfaces import LinkSurfaces, read_surfaces

__all__ = [
    "MARKER_FILE",
    "AssetConverterBase",
    "DriveType",
    "InertiaFallback",
    "LinkSurfaces",
    "MassPropertiesCfg",
    "MeshConverter",
    "MeshConverterCfg",
    "UrdfConverter",
    "UrdfConverterCfg",
    "inertia_problem",
    "is_urdf_folder",
    "load_synthesized_object",
    "load_urdf_object",
    "read_surfaces",
    "synthesized_object_set",
    "urdf_instances",
    "urdf_object_set",
]
