"""Importers read files of other systems: URDFs and meshes for simulation, and planner settings of InternDataEngine.

    from unlatch.importers import UrdfConverter, UrdfConverterCfg

    converter = UrdfConverter(UrdfConverterCfg(asset_path="cabinet.urdf", out_dir="ready/cabinet"))
    print(converter.urdf_path, converter.notices)

The names of classes and fields are those of Isaac Lab's converters.
"""

from unlatch.configs.user_files import read_setting_file
from unlatch.objects.importers.asset_converter import (
    AssetConverterBase,
    AssetConverterBaseCfg,
    CollisionPropertiesCfg,
    MassPropertiesCfg,
    RigidBodyPropertiesCfg,
)
from unlatch.objects.importers.mesh_object import MeshConverter, MeshConverterCfg
from unlatch.objects.importers.urdf_converter import (
    DriveType,
    InertiaFallback,
    JointDriveCfg,
    PDGainsCfg,
    UrdfConverter,
    UrdfConverterCfg,
)
from unlatch.simcore.meshes.convex_decomposition import CollisionApproximation, ConvexDecompositionCfg

__all__ = [
    "AssetConverterBase",
    "AssetConverterBaseCfg",
    "CollisionApproximation",
    "CollisionPropertiesCfg",
    "ConvexDecompositionCfg",
    "DriveType",
    "InertiaFallback",
    "JointDriveCfg",
    "MassPropertiesCfg",
    "MeshConverter",
    "MeshConverterCfg",
    "PDGainsCfg",
    "RigidBodyPropertiesCfg",
    "UrdfConverter",
    "UrdfConverterCfg",
    "read_setting_file",
]
