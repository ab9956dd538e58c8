from .annotator import PARTNET_LICENCE, AnnotateCfg, AnnotationResult, PosedPart, annotate_source, sized_parts
from .geometry import ObjectGeometry
from .joints import JointChoice, all_joint_ends, part_names
from .openness import joint_limits
from .part import annotated_part
from .peer_info import read_peer_info
from .posing import Ends, PosedMesh, PosedObject, pose_object
from .source import (
    PARTNET_URDF,
    UNKNOWN_CATEGORY,
    SourceObject,
    find_urdf,
    read_category,
    read_json,
    read_source,
)
from .storage import AnnotatedUrdf, check_replaceable, load_annotation, marked, write_annotation_file
from .view import GRIP_MAX_M, Grip

__all__ = [
    "GRIP_MAX_M",
    "PARTNET_LICENCE",
    "PARTNET_URDF",
    "UNKNOWN_CATEGORY",
    "AnnotateCfg",
    "AnnotatedUrdf",
    "AnnotationResult",
    "Ends",
    "Grip",
    "JointChoice",
    "ObjectGeometry",
    "PosedMesh",
    "PosedObject",
    "PosedPart",
    "SourceObject",
    "all_joint_ends",
    "annotate_source",
    "annotated_part",
    "check_replaceable",
    "find_urdf",
    "joint_limits",
    "load_annotation",
    "marked",
    "part_names",
    "pose_object",
    "read_category",
    "read_json",
    "read_peer_info",
    "read_source",
    "sized_parts",
    "write_annotation_file",
]
