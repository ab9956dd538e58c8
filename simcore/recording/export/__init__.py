"""Exports: data sets in the formats that policies are trained from, one exporter a file."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unlatch.simcore.recording.export.catalog import EXPORTERS
    from unlatch.simcore.recording.export.columns import Column, ObservationColumns
    from unlatch.simcore.recording.export.config import ActionKind, DeltaFrom, ExportCfg, RotationForm, StateKind
    from unlatch.simcore.recording.export.exporter import Exporter
    from unlatch.simcore.recording.export.run import ExportReport, run_export
    from unlatch.simcore.recording.export.source import ExportLayout, ExportSource
    from unlatch.simcore.recording.export.trajectory import Trajectory

__all__ = [
    "EXPORTERS",
    "ActionKind",
    "Column",
    "DeltaFrom",
    "ExportCfg",
    "ExportLayout",
    "ExportReport",
    "ExportSource",
    "Exporter",
    "ObservationColumns",
    "RotationForm",
    "StateKind",
    "Trajectory",
    "run_export",
]

_HOMES = {
    "EXPORTERS": "catalog",
    "ActionKind": "config",
    "Column": "columns",
    "DeltaFrom": "config",
    "ExportCfg": "config",
    "ExportReport": "run",
    "Exporter": "exporter",
    "ExportLayout": "source",
    "ObservationColumns": "columns",
    "RotationForm": "config",
    "ExportSource": "source",
    "StateKind": "config",
    "Trajectory": "trajectory",
    "run_export": "run",
}


def __getattr__(name: str) -> Any:
    """Imports on first use: every run's configuration names conventions of exports, few runs export."""
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
