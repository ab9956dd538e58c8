"""Tasks of Unlatch as environments of LeRobot. LeRobot imports this package because of its name."""

from importlib.util import find_spec

import gymnasium

import unlatch
from lerobot_env_unlatch.env import LeRobotEnv

__all__ = ["LeRobotEnv"]

for spec in [spec for spec in gymnasium.registry.values() if spec.namespace == unlatch.__name__]:
    gymnasium.register(
        id=f"lerobot_env_unlatch/{spec.kwargs['task']}",
        entry_point=LeRobotEnv,
        kwargs={"task": spec.kwargs["task"]},
        # LeRobot asks the environment itself for its task, and it ends its episodes itself
        order_enforce=False,
        disable_env_checker=True,
    )

if find_spec("lerobot") is not None:
    from lerobot_env_unlatch import configuration as configuration
