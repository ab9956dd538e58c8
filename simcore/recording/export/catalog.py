"""The catalog of export formats."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

EXPORTERS = Catalog(
    "export format",
    {
        "lerobot": CatalogEntry(
            "unlatch.simcore.recording.export.lerobot:LeRobotExporter",
            "LeRobot data set v3.0, for LeRobot's trainers, the Hugging Face hub and Rerun (extra export)",
            extra="export",
        ),
        "maniskill": CatalogEntry(
            "unlatch.simcore.recording.export.hdf5:ManiSkillExporter",
            "ManiSkill's trajectory.h5 and .json (extra hdf5)",
        ),
        "robomimic": CatalogEntry(
            "unlatch.simcore.recording.export.hdf5:RobomimicExporter", "robomimic's HDF5, one file (extra hdf5)"
        ),
    },
    group="unlatch.exporters",
    contract="unlatch.simcore.recording.export.exporter:Exporter",
    listed_by="unlatch list exporters",
)
"""Formats by name, the `format` of `unlatch export`."""
