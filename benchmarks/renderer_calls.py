"""Measures one call of Bullet's renderers by image size. Needs only pybullet and numpy.

    python benchmarks/renderer_calls.py [repeats=20]

Use it to choose between the processors and the graphics card of a machine before you install anything else. The scene
is PyBullet's Panda and boxes, with another configuration of the arm in every call. Prints the median wall time, without
the first call. `ratio` is TinyRenderer's time divided by EGL's. Every call makes colours with shadows, depth and
segmentation.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec

import numpy as np
import pybullet as p
import pybullet_data

SIZES = ((64, 64), (128, 96), (320, 240), (640, 480), (1280, 720))


def scene(client: int) -> int:
    """Loads the scene; returns the Panda's body."""
    p.setAdditionalSearchPath(pybullet_data.getDataPath(), physicsClientId=client)
    panda = p.loadURDF("franka_panda/panda.urdf", useFixedBase=True, physicsClientId=client)
    for index in range(6):
        half = [0.05 + 0.02 * index, 0.05, 0.08]
        shape = p.createVisualShape(p.GEOM_BOX, halfExtents=half, physicsClientId=client)
        place = [0.5 + 0.1 * (index % 3), 0.3 * (index // 3) - 0.2, 0.1]
        p.createMultiBody(baseVisualShapeIndex=shape, basePosition=place, physicsClientId=client)
    return panda


def median_ms(client: int, panda: int, renderer: int, width: int, height: int, repeats: int) -> float:
    """Returns the median time of a call [ms]."""
    look = p.computeViewMatrix((0.15, -1.15, 0.95), (0.5, 0.0, 0.25), (0.0, 0.0, 1.0))
    projection = p.computeProjectionMatrixFOV(48.0, width / height, 0.02, 10.0)
    found = []
    for index in range(repeats + 1):
        for joint in range(7):
            p.resetJointState(panda, joint, 0.4 * np.sin(index + joint), physicsClientId=client)
        started = time.perf_counter()
        p.getCameraImage(
            width,
            height,
            viewMatrix=look,
            projectionMatrix=projection,
            shadow=1,
            renderer=renderer,
            flags=p.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
            physicsClientId=client,
        )
        found.append(1e3 * (time.perf_counter() - started))
    return float(np.median(found[1:]))


def row(name: str, values: list[float]) -> None:
    """Prints a row of the table."""
    print(f"{name:10}" + "".join(f"{value:12.2f}" for value in values))


def main(arguments: list[str]) -> None:
    """Prints the table of times."""
    given = dict(argument.split("=", 1) for argument in arguments)
    repeats = int(given.get("repeats", "20"))
    client = p.connect(p.DIRECT)
    panda = scene(client)
    tiny = [median_ms(client, panda, p.ER_TINY_RENDERER, *size, repeats) for size in SIZES]
    plugin = find_spec("eglRenderer")
    there = plugin is not None and p.loadPlugin(str(plugin.origin), "_eglRendererPlugin", physicsClientId=client) >= 0
    egl = [median_ms(client, panda, p.ER_BULLET_HARDWARE_OPENGL, *size, repeats) for size in SIZES] if there else []
    print(
        f"\nWall time of a call [ms], median of {repeats}; {os.cpu_count()} processors, numpy in pybullet: "
        f"{p.isNumpyEnabled()}"
    )
    print(f"{'':10}" + "".join(f"{f'{width}x{height}':>12}" for width, height in SIZES))
    row("tiny", tiny)
    if egl:
        row("egl", egl)
        row("ratio", [a / b for a, b in zip(tiny, egl, strict=True)])


if __name__ == "__main__":
    main(sys.argv[1:])
