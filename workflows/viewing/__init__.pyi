from .annotation_editor import serve_editor
from .annotation_picture import annotation_png
from .contact_sheet import contact_frame
from .conversion_report import write_report
from .object_picture import object_sheet
from .overlay import Overlay
from .phases import PhasesCfg, draw_phases
from .picture import SheetRow, compose_sheet, write_picture
from .scene_picture import DrawnScene, RecordedWorld, open_record, open_scene

__all__ = [
    "DrawnScene",
    "Overlay",
    "PhasesCfg",
    "RecordedWorld",
    "SheetRow",
    "annotation_png",
    "compose_sheet",
    "contact_frame",
    "draw_phases",
    "object_sheet",
    "open_record",
    "open_scene",
    "serve_editor",
    "write_picture",
    "write_report",
]
