"""A data set with one episode of each outcome."""

import dataclasses

import numpy as np
import pytest

from unlatch.simcore.recording.data_set import DataSet
from unlatch.skills.commands import Phase
from unlatch.workflows.runs.code_versions import header_of


@pytest.fixture(scope="session")
def data_set(tmp_path_factory, drawer_episode) -> DataSet:
    """Episode 0 as it was made; 1 without a layout; 2 without states; 4 slipped; 6 refused before an arm moved."""
    cfg, made = drawer_episode
    refused = {"success": False, "code": "plan_infeasible", "evidence": {"message": "No grasp was found."}}
    still = {key: array[: 5 + (len(array) == made.n_actions + 1)].copy() for key, array in made.arrays.items()}
    frame = int(np.flatnonzero(made.arrays["skills.phase"] == Phase.follow.value)[20])
    cut = {key: array[: frame + (len(array) == made.n_actions + 1)].copy() for key, array in made.arrays.items()}
    slipped = {"message": "The fingers lost 'drawer'", "frame": frame, "time_s": frame / 30.0}
    with DataSet.create_or_resume(tmp_path_factory.mktemp("phases") / "set", header=header_of(cfg)) as found:
        found.write(made)
        found.write(dataclasses.replace(made, number=1, **refused, arrays={}, layout={}))
        found.write(dataclasses.replace(made, number=2, **refused, arrays={}))
        found.write(dataclasses.replace(made, number=6, **refused, arrays=still))
        found.write(dataclasses.replace(made, number=4, success=False, code="slipped", evidence=slipped, arrays=cut))
    return found
