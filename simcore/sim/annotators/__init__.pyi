from .annotated_frame import AnnotatedFrame, make_annotated_frame, take_annotated_frame
from .annotations import Annotations, annotate
from .annotator import Annotator
from .catalog import ANNOTATORS
from .config import AnnotationCfg

__all__ = [
    "ANNOTATORS",
    "AnnotatedFrame",
    "AnnotationCfg",
    "Annotations",
    "Annotator",
    "annotate",
    "make_annotated_frame",
    "take_annotated_frame",
]
