"""Pushes an export to the Hugging Face Hub; what can be checked is checked before the export begins."""

from __future__ import annotations

from pathlib import Path

from unlatch.simcore.errors import ConfigError, HubError, UnlatchError
from unlatch.simcore.recording.export.lerobot.meta_files import CONVENTIONS_FILE, INFO_FILE, read_json
from unlatch.simcore.recording.export.source import ExportSource
from unlatch.workflows.hub.card import write_card, write_clip_of
from unlatch.workflows.hub.config import HubCfg
from unlatch.workflows.hub.connection import HubConnection

_FORMAT = "lerobot"
"""The format that trainers read from the Hub."""


def prepare_push(cfg: HubCfg, format: str) -> HubConnection:
    """Checks the name and the token; returns the connection.

    Raises:
        ConfigError: The format cannot be pushed, or the name is wrong or taken.
        PluginError: huggingface_hub is not installed.
        HubError: There is no token, or the Hub refuses it or cannot be reached.
    """
    if format != _FORMAT:
        raise ConfigError(
            f"push={cfg.push} does not fit format={format}. Expected format={_FORMAT}, which trainers read from the "
            f"Hub. Export without push, then upload the files: hf upload {cfg.push} OUT --repo-type dataset.",
            key="push",
        )
    connection = HubConnection()
    connection.check(str(cfg.push), private=cfg.private, own_file=CONVENTIONS_FILE)
    return connection


def push_export(connection: HubConnection, cfg: HubCfg, source: ExportSource, folder: Path) -> str:
    """Writes the page of a finished export, uploads everything, and returns the address.

    Raises:
        HubError: It cannot be uploaded, or its page cannot be made. The export stays; the message says what to do.
    """
    try:
        if cfg.clip:
            write_clip_of(folder, source)
        write_card(folder, cfg, source)
        version = str(read_json(folder / INFO_FILE)["codebase_version"])
        return connection.upload(folder, str(cfg.push), private=cfg.private, version=version)
    except UnlatchError as exc:
        raise HubError(
            f"{exc.message} The export in '{folder}' is complete. To push it, run the same command again: it exports "
            "only what is missing.",
            **exc.values,
        ) from exc.__cause__
