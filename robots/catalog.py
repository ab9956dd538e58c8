"""Which robots there are."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

ROBOTS = Catalog(
    "robot",
    {
        "franka_panda": CatalogEntry(
            "robots.franka_panda:franka_panda", "Franka Emika Panda, 7 axes, parallel gripper of 80 mm"
        ),
    },
    group="unlatch.robots",
)
