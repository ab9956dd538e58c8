"""Opens the address of a page in a browser."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from unlatch.simcore.files import home_folder


@contextmanager
def opened_in_browser(url: str) -> Iterator[None]:
    """Opens an address with a token in a browser when the block begins.

    The browser gets a file of this user that leads to the address: every user of this computer can list the arguments
    of programs. The file is removed at the end.
    """
    home = home_folder()  # a browser that is installed as a snap reads no folder for temporary files
    folder_of_browser = home if home is not None and os.access(home, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="unlatch-", dir=folder_of_browser) as folder:
        file = Path(folder) / "open.html"
        link = escape(url, quote=True)
        file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}"><a href="{link}">open</a>')
        webbrowser.open(file.as_uri())
        yield
