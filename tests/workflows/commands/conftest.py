"""A data set with one episode of each outcome."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.commands import Phase
from unlatch.workflows.runs.code_versions import header_of


@pytest.fixture(scope="session")
def data_set(tmp_path_factory, drawer_episode) -> DataSet:
    """Episode 0 as it was made, and others like it, see the comments."""
    cfg, made = drawer_episode

    def cut(frame: int) -> dict[str, np.ndarray]:
        return {key: array[: frame + (len(array) == made.n_actions + 1)].copy() for key, array in made.arrays.items()}

    def failed(number: int, code: str, message: str, **changes: Any) -> EpisodeRecord:
        evidence = {"message": message, **changes.pop("evidence", {})}
        return replace(made, number=number, success=False, code=code, evidence=evidence, **changes)

    frame = int(np.flatnonzero(made.arrays["skills.phase"] == Phase.follow.value)[20])
    at, never = {"frame": frame, "time_s": frame / 30.0}, ("plan_infeasible", "No grasp was found.")
    diverged = cut(30)
    diverged["robots.franka_panda.left.joint_positions"][-3:] = np.nan
    trace = 'Traceback (most recent call last):\n  File "/home/me/skill.py", line 7, in make_commands\n    framez\n'
    with DataSet.create_or_resume(tmp_path_factory.mktemp("shown") / "set", header=header_of(cfg)) as found:
        found.write(made)
        found.write(failed(1, *never, arrays={}, layout={}))
        found.write(failed(2, *never, arrays={}))  # without states
        found.write(failed(4, "slipped", "The fingers lost 'drawer'", evidence=at, arrays=cut(frame)))
        found.write(replace(made, number=5, assets={"drawer": "0" * 64}))  # of another object
        found.write(failed(6, *never, arrays=cut(5)))  # refused before an arm moved
        found.write(failed(7, "diverged", "q is not finite", arrays=diverged))
        found.write(failed(8, "error", "NameError: framez", evidence={"traceback": trace}, arrays={}))  # without states
    return found
