"""Files of the cache that run as code: only those count that nobody but this user can have written.

A program in the cache runs as the user who loads it. So it is used only if it, its folder and the folders up to the
cache directory belong to this user (or to root) and nobody else may write to them. Others may write to the cache
directory itself if it is sticky, as `/tmp` is: there, nobody can replace what belongs to this user.
"""

from __future__ import annotations

import logging
import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from unlatch.simcore.cache import CACHE_VARIABLE, OWN_MODE, cache_root
from unlatch.simcore.native_output import speaks_for_all

logger = logging.getLogger(__name__)


def is_own(path: Path) -> bool:
    """Returns whether only this user or root can have written a file or folder of the cache; True if it is missing.

    If not, logs one line that says why, and what to do.
    """
    problem = foreign_access(path)
    if problem is not None:
        _warn_once(problem)
    return problem is None


def foreign_access(path: Path) -> str | None:
    """Returns who else can have written a file or folder of the cache, and what to do; None: nobody."""
    if not hasattr(os, "geteuid"):  # Windows, where modes say nothing
        return None
    root, place = cache_root().resolve(), path.resolve()
    for part in (path, *path.parents):
        if part.resolve() == root:
            break
        if part.is_symlink():  # whoever owns it can change where it leads
            return f"{path} leads to {place} by a link. Remove it"
    for checked in (*reversed(place.parents), place)[len(root.parents) :]:
        try:
            found = checked.stat()
        except FileNotFoundError:
            return None
        except OSError as exc:
            return f"{checked} cannot be read ({exc.strerror}). Make it readable"
        if found.st_uid not in (os.geteuid(), 0):
            return f"{checked} belongs to {_user_name(found.st_uid)}. Remove it"
        is_sticky_root = checked == root and found.st_mode & stat.S_ISVTX
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky_root:
            others = "every user of this computer" if found.st_mode & stat.S_IWOTH else "its group"
            return f"{others} may write to {checked}. Run chmod go-w {shlex.quote(str(checked))}"
    return None


def close_to_others(path: Path) -> None:
    """Takes the right to write to a file from all others, who have it by the umask of some systems.

    Raises:
        OSError: It cannot be changed.
    """
    path.chmod(path.stat().st_mode & OWN_MODE)


def _user_name(number: int) -> str:
    with suppress(ImportError, KeyError):
        import pwd  # not on every system

        return f"user {pwd.getpwuid(number).pw_name}"
    return f"user {number}"


_warned: list[str] = []
"""What this process has said: one line is enough, as one remedy mostly helps for all programs."""


def _warn_once(problem: str) -> None:
    if not _warned and speaks_for_all():
        _warned.append(problem)
        logger.warning(
            "A compiled program of the cache is not used, which is slower: %s, or set %s to a folder of your own.",
            problem,
            CACHE_VARIABLE,
        )
