from .coco_file import CocoFile as CocoFile
from .dope_file import dope_frame as dope_frame
from .drawing import draw_annotations as draw_annotations
