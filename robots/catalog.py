"""The robots by name."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

ROBOTS = Catalog(
    "robot",
    {
        "baxter": CatalogEntry(
            "unlatch.robots.baxter:baxter", "Rethink Baxter, two arms of 7 axes, grippers of 42 mm (extra robots)"
        ),
        "dual_panda": CatalogEntry(
            "unlatch.robots.dual_panda:dual_panda", "two Franka Emika Pandas on one stand, arms left and right"
        ),
        "franka_panda": CatalogEntry(
            "unlatch.robots.franka_panda:franka_panda", "Franka Emika Panda, 7 axes, parallel gripper of 80 mm"
        ),
        "ur5": CatalogEntry(
            "unlatch.robots.ur5:ur5", "Universal Robots UR5, 6 axes, two-finger gripper of 50 mm (extra robots)"
        ),
        "xarm6": CatalogEntry("unlatch.robots.xarm6:xarm6", "UFACTORY xArm 6, 6 axes, linkage gripper of 84 mm"),
    },
    group="unlatch.robots",
    product="unlatch.robots.description:RobotCfg",
)
