"""The root of the state tree: robots, objects, keypoints and contact views."""

from __future__ import annotations

from simcore.sim.world import World
from simcore.state import Module

NOT_RECORDED = ("interval", "rgb", "depth", "segmentation", "normals")
"""Tags of buffers that are no part of a recorded state: forces over a frame are rows of their own, images are made
later."""


class Group(Module):
    """A named list of modules."""


class Scene(Module):
    """Everything in one world that has state.

    Paths of its buffers are the keys of a record: `robots.<robot>.<arm>.joint_positions`,
    `objects.<name>.joint_positions`, `keypoints.<object>.<part>.<point>`.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.robots = Group()
        self.objects = Group()
        self.keypoints = Group()

    @property
    def world(self) -> World:
        """The world it lives in."""
        return self._world

    def add_robot(self, name: str, robot: Module) -> None:
        """Adds a robot under its name."""
        self.robots.add_child(name, robot)

    def add_object(self, name: str, item: Module) -> None:
        """Adds an object under its name."""
        self.objects.add_child(name, item)

    def add_keypoints(self, name: str, part: str, points: Module) -> None:
        """Adds the keypoints of a part."""
        if name not in self.keypoints.children:
            self.keypoints.add_child(name, Group())
        self.keypoints.children[name].add_child(part, points)
