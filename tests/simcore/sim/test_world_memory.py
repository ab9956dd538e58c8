"""A world that is emptied and filled again does not grow, whatever files it reads."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg

BOX = (
    '<robot name="box"><link name="box"><collision><geometry><box size="1 1 1"/></geometry></collision></link></robot>'
)
PADDING_BYTES = 200_000
ROUNDS = 250


def load_new_files(folder: Path, reset_every: int) -> list[float]:
    """Loads another file in every round; returns the memory that belongs to this process alone after each [MB]."""
    process, used_mb = psutil.Process(), []
    with World(WorldCfg()) as world:
        for number in range(ROUNDS):
            path = folder / f"box{number}.urdf"
            path.write_text(BOX + f"<!--{'x' * PADDING_BYTES}-->")
            if number % reset_every == 0:
                world.reset()
            else:
                world.remove("box")
            world.load_urdf(path, name="box", T_world_root=Pose.identity())
            path.unlink()
            used_mb.append(process.memory_full_info().uss / 1e6)
    return used_mb


@pytest.mark.slow
@pytest.mark.parametrize("reset_every", [1, 100], ids=["as an episode", "as the collision checker"])
def test_the_file_cache_of_bullet_does_not_grow(tmp_path: Path, reset_every: int):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:  # memory of other tests comes and goes here
        used_mb = pool.submit(load_new_files, tmp_path, reset_every).result()
    assert used_mb[-1] < used_mb[0] + 150 * PADDING_BYTES / 1e6, f"{used_mb[0]:.0f} MB grew to {used_mb[-1]:.0f} MB"
