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
    },
    group="unlatch.exporters",
    contract="simcore.recording.export.exporter:Exporter",
)
"""Formats by name, the `format` of `unlatch export`."""
