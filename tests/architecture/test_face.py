"""The public names of `unlatch`: what they are, and that they are documented."""

import ast
from pathlib import Path

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
    "render",
    "replay",
)
STUB = Path(unlatch.__file__).with_suffix(".pyi")


def test_the_names_that_editors_see_are_those_that_are_imported():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    listed = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    imported = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(imported) == listed == unlatch.__all__
    assert set(FUNCTIONS) <= set(listed)


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
