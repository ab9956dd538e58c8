from .catalog import EXPORTERS
from .columns import IMAGE, Column, ObservationColumns, Part
from .config import ActionKind, DeltaFrom, ExportCfg, RotationForm, StateKind
from .exporter import Exporter
from .maniskill import ManiSkillExporter
from .robomimic import RobomimicExporter
from .run import ExportReport, run_export
from .source import ExportLayout, ExportSource
from .trajectory import Trajectory

__all__ = [
    "EXPORTERS",
    "IMAGE",
    "ActionKind",
    "Column",
    "DeltaFrom",
    "ExportCfg",
    "ExportLayout",
    "ExportReport",
    "ExportSource",
    "Exporter",
    "ManiSkillExporter",
    "ObservationColumns",
    "Part",
    "RobomimicExporter",
    "RotationForm",
    "StateKind",
    "Trajectory",
    "run_export",
]
