from .annotate.annotator import AnnotateCfg, AnnotationResult
from .annotate.source import PARTNET_URDF, UNKNOWN_CATEGORY
from .annotate.storage import AnnotatedUrdf
from .annotate.view import GRIP_MAX_M
from .annotation import (
    ANNOTATION_FILE,
    Articulation,
    FramedVector,
    Handle,
    HandleType,
    Openness,
    Part,
    PartKind,
    read_articulation,
    write_articulation,
)
from .articulated_object import ObjectAsset
from .config import ObjectCfg, ObjectSource
from .fixed_handle import FixedHandle
from .friction import OBJECT_FRICTION, joint_problems
from .importers.asset_converter_base import MARKER_FILE, AssetConverterBase
from .importers.mesh_converter import MeshConverter, MeshConverterCfg
from .importers.partnet.categories import CATEGORIES
from .importers.property_groups import MassPropertiesCfg
from .importers.urdf_converter import DriveType, InertiaFallback, UrdfConverter, UrdfConverterCfg
from .importers.urdf_surfaces import LinkSurfaces
from .library import (
    URDF_FILE,
    check_candidates,
    chooses_instance,
    describe_object_set,
    load_object,
    split_record,
)
from .procedural.building.assembly import HOLDING, Assembly, PanelGrip
from .procedural.building.drawing import Colour
from .procedural.building.finishes import CHROME, DARK, PLASTICS
from .procedural.building.generated_object import GeneratedObject
from .procedural.building.generator import ObjectGenerator
from .procedural.building.link_builder import LinkBuilder
from .procedural.building.panel import DRAWER_FRONT, LID_BEHIND, PanelBuilder
from .procedural.catalog import GENERATORS
from .scene_object import ObjectKeypoints, SceneObject
from .validation import articulation_problems, check_articulation, validate_articulation

__all__ = [
    "ANNOTATION_FILE",
    "CATEGORIES",
    "CHROME",
    "DARK",
    "DRAWER_FRONT",
    "GENERATORS",
    "GRIP_MAX_M",
    "HOLDING",
    "LID_BEHIND",
    "MARKER_FILE",
    "OBJECT_FRICTION",
    "PARTNET_URDF",
    "PLASTICS",
    "UNKNOWN_CATEGORY",
    "URDF_FILE",
    "AnnotateCfg",
    "AnnotatedUrdf",
    "AnnotationResult",
    "Articulation",
    "Assembly",
    "AssetConverterBase",
    "Colour",
    "DriveType",
    "FixedHandle",
    "FramedVector",
    "GeneratedObject",
    "Handle",
    "HandleType",
    "InertiaFallback",
    "LinkBuilder",
    "LinkSurfaces",
    "MassPropertiesCfg",
    "MeshConverter",
    "MeshConverterCfg",
    "ObjectAsset",
    "ObjectCfg",
    "ObjectGenerator",
    "ObjectKeypoints",
    "ObjectSource",
    "Openness",
    "PanelBuilder",
    "PanelGrip",
    "Part",
    "PartKind",
    "SceneObject",
    "UrdfConverter",
    "UrdfConverterCfg",
    "articulation_problems",
    "check_articulation",
    "check_candidates",
    "chooses_instance",
    "describe_object_set",
    "joint_problems",
    "load_object",
    "read_articulation",
    "split_record",
    "validate_articulation",
    "write_articulation",
]
