from .coco_file import CocoFile
from .dope_file import dope_frame
from .drawing import draw_annotations

__all__ = [
    "CocoFile",
    "dope_frame",
    "draw_annotations",
]
