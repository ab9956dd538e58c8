"""Errors name keys of a part of a configuration by their full key."""

import pytest

from unlatch.configs.dataclass_reader import prefix_error_keys
from unlatch.simcore.errors import ConfigError

KEYS = ("cameras", "modalities", "renderer")


@pytest.mark.parametrize(
    ("message", "key", "expected"),
    [
        ("cameras[0].widht is unknown. Keys there: width.", "cameras[0].widht", "images.cameras[0].widht"),
        ("cameras=[] is empty. Expected at least one camera. Name one.", "cameras", "images.cameras"),
        ("cameras[1]: no such file.", "cameras[1]", "images.cameras[1]"),
    ],
)
def test_keys_get_their_prefix(message, key, expected):
    placed = prefix_error_keys("images", ConfigError(message, key=key), keys=KEYS)
    assert placed.message == f"images.{message}"
    assert placed.values["key"] == expected


def test_words_that_are_not_keys_are_not_changed():
    message = "task.cameras[0] of my.renderer: the cameras see nothing, file mine/cameras.yaml."
    assert prefix_error_keys("images", ConfigError(message), keys=KEYS).message == message
