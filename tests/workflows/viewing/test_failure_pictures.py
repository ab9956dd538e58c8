"""A missed grasp is shown by pictures that differ, and names the phase that failed."""

from itertools import pairwise

import numpy as np
import pytest

from unlatch.simcore.recording.data_set import DataSet
from unlatch.skills.commands import Phase
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.phase_moments import find_rounds
from unlatch.workflows.viewing.phase_sheet import take_phase_pictures
from unlatch.workflows.viewing.scene_picture import open_record

_LEAST_SHARE = 0.005
"""Least share of pixels that differ between two pictures: that of the fingers."""
_CHANGED = 24
"""Least change of a colour that a person sees [of 255]."""


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("number", [4, 14])
def test_pictures_of_a_missed_grasp_differ_and_name_the_phase(noisy_drawers, number):
    data_set = DataSet.open(noisy_drawers)
    record = data_set.read(number)
    assert record.code == "grasp_missed"
    rounds = find_rounds(record)
    with open_record(config_of(data_set), record) as shown:
        sheet = take_phase_pictures(shown, rounds)
    assert rounds[-1].failed_phase is Phase.grasp
    failure = sheet.sections[-1]
    assert failure.title.startswith("failure in phase grasp: The fingers closed to 0.0 mm and hold nothing of 'drawer'")
    assert [tile.failed for tile in failure.tiles] == [False, False, True]
    widths = [float(tile.opening.split()[1]) for tile in failure.tiles]  # `fingers 77 mm`
    assert widths[0] > 60
    assert 10 < widths[1] < 60
    assert widths[2] == 0
    tiles = [tile for section in sheet.sections for tile in section.tiles]
    for one, other in pairwise(tiles):
        change = np.abs(one.picture.astype(int) - other.picture.astype(int)).max(axis=2)
        assert np.mean(change > _CHANGED) > _LEAST_SHARE, (one.label, other.label)
