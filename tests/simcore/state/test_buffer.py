"""A buffer keeps a copy of one array, read-only, with its tags."""

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.state import Buffer


def test_a_new_buffer_is_empty_and_says_so():
    assert Buffer().get_value() is None
    assert repr(Buffer(tags=["rgb"])) == "Buffer(empty, tags=['rgb'])"


def test_a_value_is_copied_in():
    source = np.zeros(3)
    buffer = Buffer(source)
    source[0] = 1.0
    assert buffer.get_value()[0] == 0.0


def test_a_value_that_was_read_does_not_change():
    buffer = Buffer([1.0, 2.0])
    before = buffer.get_value()
    buffer.set_value([3.0, 4.0])
    np.testing.assert_array_equal(before, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 9.0


def test_shape_and_type_are_kept():
    buffer = Buffer(np.zeros((2, 3, 3), dtype=np.uint8))
    assert repr(buffer) == "Buffer(uint8[2, 3, 3], tags=[])"
    buffer.set_value(0.5)
    assert buffer.get_value().shape == ()


def test_none_empties_a_buffer():
    buffer = Buffer([1.0])
    buffer.set_value(None)
    assert buffer.get_value() is None


def test_tags_are_a_set():
    assert Buffer(tags=["rgb", "image", "rgb"]).tags == {"rgb", "image"}
    with pytest.raises(RecordingError, match=r"Tags of a buffer are a list of names, got the text 'rgb'"):
        Buffer(tags="rgb")


@pytest.mark.parametrize("value", [object(), {"a": 1}, [None, 1]])
def test_values_that_are_no_array_are_refused(value):
    with pytest.raises(RecordingError, match="A buffer holds an array of booleans, numbers or text"):
        Buffer().set_value(value)


def test_rows_of_unequal_length_are_refused():
    with pytest.raises(RecordingError, match="A buffer holds one array"):
        Buffer([[1, 2], [3]])
