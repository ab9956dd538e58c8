"""Names that refer into assets are checked before anything is written."""

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.loading import load


def check(*overrides: str) -> None:
    cfg = load("open_drawer", *overrides)
    check_assets(cfg)


@pytest.mark.slow
def test_a_sensor_may_be_mounted_on_any_existing_link():
    check("sensors=[front,wrist,imu]")
    check("sensors=[{name: a, type: imu, mount: {body: drawer, link: body}}]")


@pytest.mark.slow
def test_a_region_out_of_reach_is_refused_with_how_far_off_it_is():
    message = (
        r"^task\.regions\[0\]\.center_m=\[2\.5, 0\.0\] puts 'drawer' out of reach of franka_panda\. Move the region "
        r"at least 0\.\d\d m nearer\. It begins 2\.35 m from the arm, the arm is at most 1\.\d\d m long"
    )
    with pytest.raises(ConfigError, match=message):
        check("task.regions.0.center_m=[2.5,0.0]")


@pytest.mark.parametrize("center", ["[0.68,0.0]", "[1.3,0.6]", "[-0.9,0.0]"])
def test_a_region_that_an_arm_may_reach_is_accepted(center):
    check(f"task.regions.0.center_m={center}")


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        (
            "{body: franka_panda, link: panda_hnd}",
            r"^sensors\[0\]\.mount\.link='panda_hnd' is not a link of 'franka_panda'\. Did you mean 'panda_hand'",
        ),
        (
            "{body: drawer, link: lid}",
            r"^sensors\[0\]\.mount\.link='lid' is not a link of 'drawer'\..* Links: .*\. Name",
        ),
    ],
)
def test_an_unknown_link_is_refused_and_the_known_ones_are_listed(mount, message):
    with pytest.raises(ConfigError, match=message):
        check(f"sensors=[{{name: a, type: imu, mount: {mount}}}]")
