"""Which formats there are."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

EXPORTERS = Catalog(
    "export format",
    {
        "lerobot": CatalogEntry(
            "simcore.recording.export.lerobot.exporter:LeRobotExporter",
            "LeRobot data set v3.0, for LeRobot's trainers, the Hugging Face hub and Rerun",
        ),
        "maniskill": CatalogEntry(
            "simcore.recording.export.maniskill:ManiSkillExporter", "ManiSkill's trajectory.h5 and .json (extra hdf5)"
        ),
        "robomimic": CatalogEntry(
            "simcore.recording.export.robomimic:RobomimicExporter", "robomimic's HDF5, one file (extra hdf5)"
        ),
    },
    group="unlatch.exporters",
    contract="simcore.recording.export.exporter:Exporter",
)
"""Formats by name, the `format` of `unlatch export`."""
