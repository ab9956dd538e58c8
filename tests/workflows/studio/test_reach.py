"""Which places of a region are tried, and what is said about the others."""

from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.jobs import ReachResult
from unlatch.workflows.studio.state import ReachMap, place_m, places_in, region_at

REGION = RegionCfg(object="microwave", center_m=[0.6, 0.0], half_extent_m=[0.2, 0.2], height_m=[0.0, 0.08])


def fill(found, region, plans):
    """Tries places until the map asks for no more; returns how many."""
    count = 0
    while (place := found.next_place(region)) is not None:
        found.found[place] = ReachResult(plans(*place_m(place)), "path_infeasible", "")
        count += 1
    return count


def test_places_lie_inside_the_region():
    places = [place_m(place) for place in places_in(REGION, 1)]
    assert len(places) == 81
    assert min(x for x, _ in places) == 0.4
    assert max(y for _, y in places) == 0.2


def test_a_region_smaller_than_a_step_has_one_place():
    tiny = RegionCfg(object="microwave", center_m=[0.613, 0.017], half_extent_m=[0.001, 0.001])
    assert len(list(places_in(tiny, 1))) == 1


def test_only_coarse_places_are_tried_where_all_plan():
    found = ReachMap()
    assert fill(found, REGION, lambda x, y: True) == 25
    assert found.share(REGION) == (81, 81)


def test_fine_places_are_tried_along_the_border():
    found = ReachMap()
    tried = fill(found, REGION, lambda x, y: x < 0.62)
    assert 25 < tried < 81
    for place in places_in(REGION, 1):
        assert found.colour_of(place) == (place_m(place)[0] < 0.62), place_m(place)


def test_places_at_the_edge_are_tried_where_the_edge_is_not_on_the_coarse_grid():
    region = RegionCfg(object="microwave", center_m=[0.68, 0.0], half_extent_m=[0.15, 0.15])
    found = ReachMap()
    fill(found, region, lambda x, y: x < 0.79)
    for place in places_in(region, 1):
        assert found.colour_of(place) == (place_m(place)[0] < 0.79), place_m(place)


def test_a_moved_region_keeps_what_is_known():
    found = ReachMap()
    fill(found, REGION, lambda x, y: True)
    moved = RegionCfg(object="microwave", center_m=[0.7, 0.0], half_extent_m=[0.2, 0.2])
    assert fill(found, moved, lambda x, y: True) < 25
    assert len(found.known_places(moved)) > 81


def test_a_place_faces_the_robot_at_the_middle_of_the_heights():
    place = region_at(REGION, (12, 0))
    assert place.center_m == list(place_m((12, 0)))
    assert place.half_extent_m == [0.0, 0.0]
    assert place.yaw_deg == 0.0
    assert place.height_m == [0.04, 0.04]
    assert place.object == "microwave"
