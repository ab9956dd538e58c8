"""The public names of `unlatch`: what they are, and that they are documented."""

import pytest

import unlatch

FUNCTIONS = (
    "annotate",
    "collect",
    "evaluate",
    "export",
    "load",
    "make_env",
    "open_dataset",
    "plan",
    "read_arrays",
    "render",
    "replay",
)


def test_the_functions_of_the_face_are_public_names():
    assert set(FUNCTIONS) <= set(unlatch.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_documents_arguments_result_errors_and_an_example(name: str):
    text = getattr(unlatch, name).__doc__
    assert [section for section in ("Args:", "Returns:", "Raises:", "Example:") if section not in text] == []


@pytest.mark.parametrize("name", unlatch.__all__)
def test_a_public_name_has_a_docstring(name: str):
    assert getattr(unlatch, name).__doc__


def test_an_unknown_name_raises_an_attribute_error():
    with pytest.raises(AttributeError, match="colect"):
        _ = unlatch.colect
