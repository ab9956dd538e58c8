from .annotated_frame import AnnotatedFrame as AnnotatedFrame
from .annotated_frame import take_annotated_frame as take_annotated_frame
from .annotations import Annotations as Annotations
from .annotations import annotate as annotate
from .annotator import Annotator as Annotator
from .catalog import ANNOTATORS as ANNOTATORS
from .config import AnnotationCfg as AnnotationCfg
