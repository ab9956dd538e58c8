"""What `benchmarks/motion.py` reads at every physics step, compared with the record of the same episode."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.motion_samples import EpisodeMeter, ProbedEpisode
from tests.integration.episodes import same_bits
from unlatch.workflows.runs.loading import load

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_measuring_an_episode_does_not_change_it_and_agrees_with_its_record(episode):
    cfg = load("close_microwave")
    plain = episode("close_microwave")
    with EpisodeMeter(cfg) as meter:
        probed = meter.episode(0)
        assert isinstance(probed, ProbedEpisode)
        meter.episode = lambda number: probed
        motion = meter.measure(0)
        record, probe = probed.record(), probed.probe
    assert same_bits(record, plain)
    assert motion.success == plain.success
    frames, steps = np.array(probe.frames), probe.steps["left"]
    assert set(np.unique(frames, return_counts=True)[1]) == {cfg.world.physics_hz // cfg.world.record_hz}
    last = np.flatnonzero(np.diff(frames, append=frames[-1] + 1))
    q = np.array([steps[index].q for index in last])
    np.testing.assert_array_equal(q, record.arrays["robots.franka_panda.left.joint_positions"][frames[last]])
    recorded_n = record.arrays["contacts.franka_panda.left.fingers.force_max_n"]
    peak_n, touches_part = np.zeros(len(recorded_n) + 1), np.zeros(len(recorded_n) + 1, dtype=bool)
    np.maximum.at(peak_n, frames, [step.force_n for step in steps])
    np.logical_or.at(touches_part, frames, [step.touches_part for step in steps])
    assert recorded_n.max() > 1.0
    np.testing.assert_array_equal(peak_n[frames[0] :], recorded_n[frames[0] - 1 :])
    on_part_n = record.arrays["contacts.franka_panda.left.microwave.fingers_link.force_max_n"]
    np.testing.assert_array_equal(touches_part[frames[0] :], on_part_n[frames[0] - 1 :] > 0.0)
    assert motion.samples.travel[0] > 0.1  # the door moves by a good part of its range
