"""Which robots there are."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

ROBOTS = Catalog(
    "robot",
    {
        "dual_panda": CatalogEntry(
            "robots.dual_panda:dual_panda", "two Franka Emika Pandas on one stand, arms left and right"
        ),
        "franka_panda": CatalogEntry(
            "robots.franka_panda:franka_panda", "Franka Emika Panda, 7 axes, parallel gripper of 80 mm"
        ),
        "xarm6": CatalogEntry("robots.xarm6:xarm6", "UFACTORY xArm 6, 6 axes, linkage gripper of 84 mm"),
    },
    group="unlatch.robots",
)
