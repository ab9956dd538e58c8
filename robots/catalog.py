"""The robots by name."""

from __future__ import annotations

from unlatch.simcore.errors import unknown_name
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
        "fr3": CatalogEntry(
            "unlatch.robots.fr3:fr3", "Franka Research 3, 7 axes, parallel gripper of 80 mm (extra robots)"
        ),
        "franka_panda": CatalogEntry(
            "unlatch.robots.franka_panda:franka_panda", "Franka Emika Panda, 7 axes, parallel gripper of 80 mm"
        ),
        "franka_robotiq": CatalogEntry(
            "unlatch.robots.franka_robotiq:franka_robotiq",
            "Franka Emika Panda, 7 axes, Robotiq 2F-85 of 85 mm (extra robots)",
        ),
        "ur5": CatalogEntry(
            "unlatch.robots.ur5:ur5", "Universal Robots UR5, 6 axes, two-finger gripper of 50 mm (extra robots)"
        ),
        "ur5e": CatalogEntry(
            "unlatch.robots.ur5e:ur5e", "Universal Robots UR5e, 6 axes, Robotiq 2F-85 of 85 mm (extra robots)"
        ),
        "xarm6": CatalogEntry("unlatch.robots.xarm6:xarm6", "UFACTORY xArm 6, 6 axes, linkage gripper of 84 mm"),
    },
    group="unlatch.robots",
    product="unlatch.robots.description:RobotCfg",
    listed_by="unlatch list robots",
    default="franka_panda",
)


def check_robot_name(name: str, *, where: str) -> None:
    """Checks that the catalog has a robot of this name.

    Args:
        name: The name.
        where: Full key of the name in the configuration.

    Raises:
        ConfigError: It has none; the message proposes close names.
    """
    known = ROBOTS.names()
    if name not in known:
        raise unknown_name(
            name, "a robot", where=where, known=known, listed_by=ROBOTS.listed_by, default=ROBOTS.default
        )
