"""Opens the address of a page in a browser."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path


@contextmanager
def opened_in_browser(url: str) -> Iterator[None]:
    """Opens an address with a token in a browser when the block begins.

    The browser gets a file of this user that leads to the address: every user of this computer can list the arguments
    of programs. The file is removed at the end.
    """
    with tempfile.TemporaryDirectory(prefix="unlatch-") as folder:  # only this user can open it
        file = Path(folder) / "open.html"
        link = escape(url, quote=True)
        file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><a href="{link}">open</a>')
        webbrowser.open(file.as_uri())
        yield
