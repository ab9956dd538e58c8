"""Exporters write a data set in the form of another library; a new one derives from `Exporter`.

    import numpy as np
    from unlatch.exporters import Exporter

    class CsvExporter(Exporter):
        def write(self, draft, trajectories, *, parts, base):
            for trajectory in trajectories:
                action = trajectory.columns["action"]
                np.savetxt(draft / f"{trajectory.number}.csv", action.values, header=",".join(action.names))

`LeRobotSet` reads a data set that `unlatch export` has written for LeRobot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unlatch.simcore.catalogs import EXPORTERS
from unlatch.simcore.extras import import_extra
from unlatch.simcore.recording.export.columns import Column
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.exporter import Exporter, ExportReport, run_export
from unlatch.simcore.recording.export.trajectory import ExportSource, Trajectory

if TYPE_CHECKING:
    from unlatch.simcore.recording.export.lerobot import LeRobotSet

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


def __getattr__(name: str) -> Any:
    """Returns `LeRobotSet`, which needs the extra `export`.

    Raises:
        PluginError: The extra is not installed.
    """
    if name != "LeRobotSet":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_extra("pyarrow", extra="export", needed_by="LeRobotSet")
    from unlatch.simcore.recording.export.lerobot import LeRobotSet

    return LeRobotSet
