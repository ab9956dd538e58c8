"""Reads YAML files of users, as editors and tools of any system write them."""

from __future__ import annotations

import io
import re
from pathlib import Path

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, ListConfig, OmegaConf
from yaml.reader import ReaderError

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import read_text

_BEFORE_CONTENT = re.compile(r"\A(?:%.*\n|---[ \t]*\n|[ \t]*\n)+")
YAML_SCHEME = "yaml"
"""Scheme of folders of users on Hydra's search path."""


class YamlFolder(FileConfigSource):
    """A folder of YAML files for Hydra; Hydra's own reads UTF-8 without a byte order mark only."""

    @staticmethod
    def scheme() -> str:
        """Returns the scheme of its paths."""
        return YAML_SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        """Returns the content of a file.

        Raises:
            ConfigError: It is not a text, is empty, or is not a mapping.
            YAMLError: It is not YAML.
        """
        file = Path(self.path) / self._normalize_file_name(config_path)
        text = read_text(file)
        content = load_yaml(file)
        if not text.strip():
            raise ConfigError(f"{file} is empty. Expected keys and values, as `unlatch config` shows them. Write it.")
        if not isinstance(content, DictConfig):
            raise ConfigError(f"{file} is a list. Expected a mapping, lines of `key: value`. Correct the file.")
        header = ConfigSource._get_header_dict(content_of(text))
        return ConfigResult(config=content, path=f"{YAML_SCHEME}://{self.path}", provider=self.provider, header=header)


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
        OSError: It cannot be read, or is one number or text.
    """
    text = read_text(file)
    try:
        return OmegaConf.load(_NamedText(text, str(file)))
    except ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise ConfigError(
            f"{file}, line {line}: the character with number {exc.character} is not allowed in YAML. Remove it."
        ) from exc
    except RecursionError as exc:
        raise ConfigError(f"{file} is nested too deeply for a configuration. Correct the file.") from exc
