"""The root of the state tree: robots, objects, keypoints, contact views and sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from unlatch.simcore.sim.contacts import ContactView, FingerLoads
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Module

if TYPE_CHECKING:
    from unlatch.simcore.sim.sensors.sensor import Sensor

Array = np.ndarray

NOT_RECORDED = frozenset(("interval", "rgb", "depth", "segmentation", "normals", "point_cloud"))
"""Tags of buffers that are not part of a recorded state: forces and efforts over a frame have their own rows, images
are rendered later."""
_EPISODE_KEYS = frozenset({"time", "skills", "validity"})
"""First words of state keys that belong to the episode, not to the scene."""


class Scene(Module):
    """Everything in one world that has state.

    Paths of its buffers are the keys of a record: `robots.<robot>.<arm>.joint_positions`,
    `objects.<name>.joint_positions`, `keypoints.<object>.<part>.<point>`, `regions.<object>.<region>.position`,
    `contacts.<view>.force_max_n`,
    `sensors.<name>.<value>`. Modules are read and written in this order.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.robots = Module()
        self.objects = Module()
        self.keypoints = Module()
        self.regions = Module()
        self.contacts = Module()
        self.sensors = Module()

    def add_robot(self, name: str, robot: Module) -> None:
        """Adds a robot under its name."""
        self.robots.add_child(name, robot)

    def add_object(self, name: str, item: Module) -> None:
        """Adds an object under its name."""
        self.objects.add_child(name, item)

    def add_keypoints(self, name: str, part: str, points: Module) -> None:
        """Adds the keypoints of a part."""
        _get_group(self.keypoints, name).add_child(part, points)

    def add_region(self, name: str, region: str, module: Module) -> None:
        """Adds a region of an object."""
        _get_group(self.regions, name).add_child(region, module)

    def add_contact_view(self, view: ContactView | FingerLoads) -> None:
        """Adds a contact view or the loads of an arm's fingers; the words of its name are its groups."""
        *groups, last = view.name.split(".")
        _get_group(self.contacts, *groups).add_child(last, view)

    def add_sensor(self, sensor: Sensor[SensorCfg]) -> None:
        """Adds a sensor under its name."""
        self.sensors.add_child(sensor.cfg.name, sensor)

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Writes the values of one frame into the buffers of the tree; `write_replay_data` then moves the world there.

        Values of a frame that do not belong to the scene are skipped: time, skills and validity, and the values of
        sensors that this scene does not have, since sensors only read the scene.

        Raises:
            RecordingError: A path names no buffer of this tree; then nothing was written.
        """
        if "time" in state:
            self.world.shown_step = round(float(state["time"]) * self.world.cfg.physics_hz)
        super().load_state_dict({path: value for path, value in state.items() if self._belongs_to_scene(path)})

    def _belongs_to_scene(self, path: str) -> bool:
        first, _, rest = path.partition(".")
        if first == "sensors":
            return rest.partition(".")[0] in self.sensors.children
        return first not in _EPISODE_KEYS


def _get_group(parent: Module, *names: str) -> Module:
    """Returns the group at a path below a module, and creates it if it is missing."""
    for name in names:
        if name not in parent.children:
            parent.add_child(name, Module())
        parent = parent.children[name]
    return parent
