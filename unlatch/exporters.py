"""Exporters: data sets of other libraries, and what a new exporter is written with."""

from unlatch.simcore.catalogs import EXPORTERS
from unlatch.simcore.recording.export.columns import Column
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.exporter import Exporter, ExportReport, run_export
from unlatch.simcore.recording.export.lerobot import LeRobotSet
from unlatch.simcore.recording.export.trajectory import ExportSource, Trajectory

__all__ = [
    "EXPORTERS",
    "Column",
    "ExportCfg",
    "ExportReport",
    "ExportSource",
    "Exporter",
    "LeRobotSet",
    "Trajectory",
    "run_export",
]
