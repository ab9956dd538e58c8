"""Reads YAML files of users, as editors and tools of any system write them."""

from __future__ import annotations

import io
import re
from pathlib import Path

from omegaconf import DictConfig, ListConfig, OmegaConf
from yaml.reader import ReaderError

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import read_text

_BEFORE_CONTENT = re.compile(r"\A(?:%.*\n|---[ \t]*\n|[ \t]*\n)+")


def content_of(text: str) -> str:
    """Returns a YAML text from its first line of content on, without `---` and directives such as `%YAML 1.2`."""
    return _BEFORE_CONTENT.sub("", text)


class _NamedText(io.StringIO):
    """A text with the name of its file, which errors of YAML state."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


def load_yaml(file: Path) -> DictConfig | ListConfig:
    """Returns the content of a YAML file, without references resolved.

    Raises:
        ConfigError: It is not a text that YAML allows, or is nested too deeply.
        YAMLError: It is not YAML.
        OSError: It cannot be read.
    """
    text = read_text(file)
    try:
        return OmegaConf.load(_NamedText(text, str(file)))
    except ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise ConfigError(
            f"{file}, line {line}: the character with number {exc.character} is not allowed in YAML. Remove it."
        ) from exc
    except OSError as exc:  # so OmegaConf says that it is a number or a text
        raise ConfigError(
            f"{file} is one value. Expected a mapping, with lines such as 'key: value'. Correct the file."
        ) from exc
    except RecursionError as exc:
        raise ConfigError(f"{file} is nested too deeply for a configuration. Correct the file.") from exc
