"""What reads files of other systems: converters of URDF and mesh files, and planner settings."""

from unlatch.configs.user_files import read_setting_file
from unlatch.objects.importers.asset_converter import AssetConverterBase, MassPropertiesCfg
from unlatch.objects.importers.mesh_object import MeshConverter, MeshConverterCfg
from unlatch.objects.importers.urdf_converter import DriveType, InertiaFallback, UrdfConverter, UrdfConverterCfg

__all__ = [
    "AssetConverterBase",
    "DriveType",
    "InertiaFallback",
    "MassPropertiesCfg",
    "MeshConverter",
    "MeshConverterCfg",
    "UrdfConverter",
    "UrdfConverterCfg",
    "read_setting_file",
]
