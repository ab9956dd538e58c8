"""Exports: data sets in the formats that policies are trained from, one exporter a file."""

from simcore.recording.export.catalog import EXPORTERS
from simcore.recording.export.columns import Column, ObservationColumns
from simcore.recording.export.config import ActionKind, DeltaFrom, ExportCfg, RotationForm, StateKind
from simcore.recording.export.exporter import Exporter
from simcore.recording.export.run import ExportReport, run_export
from simcore.recording.export.source import Layout, Source
from simcore.recording.export.trajectory import Trajectory

__all__ = [
    "EXPORTERS",
    "ActionKind",
    "Column",
    "DeltaFrom",
    "ExportCfg",
    "ExportReport",
    "Exporter",
    "Layout",
    "ObservationColumns",
    "RotationForm",
    "Source",
    "StateKind",
    "Trajectory",
    "run_export",
]
