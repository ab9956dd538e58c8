"""What the scene of an episode says of an object that does not rest."""

from unlatch.workflows.episode.scene import _describe_unrest


def test_an_object_that_fell_is_to_be_put_on_something():
    assert _describe_unrest("can", 44.2, 0.0, fell_m=44.2) == (
        "'can' does not rest where it was put. Move its region to where something is below it: it fell by 44.20 m"
    )


def test_an_object_that_moved_is_to_stand_level():
    text = _describe_unrest("can", 0.012, 0.3, fell_m=0.001)
    assert text.endswith("stands level and touches nothing: it moved by 12 mm and turned by 0.30 rad")
