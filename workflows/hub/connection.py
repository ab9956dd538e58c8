"""The connection to the Hugging Face Hub: every error becomes one line, and none contains the token."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from unlatch.simcore.errors import ConfigError, HubError, shorten
from unlatch.simcore.extras import import_extra

T = TypeVar("T")

_DATASET = "dataset"
_MOST_CHARACTERS = 300
"""Most characters of a message of the server or of huggingface_hub in one of ours."""
_LOG_IN = (
    "Make a token with write access at https://huggingface.co/settings/tokens, then run `hf auth login` or set HF_TOKEN"
)
_ADVICE = {
    401: f"The token is wrong or expired. {_LOG_IN}.",
    403: "The token may not write there. Use a token with write access to this user or organization.",
    404: "Check the name, and that the token may see the data set.",
    409: "The name is taken, or another upload is running. Choose another name, or try again.",
    413: "A file is too large for the Hub. Export with smaller files: data_files_size_in_mb=..., "
    "video_files_size_in_mb=....",
    429: "Too many requests. Wait a few minutes and try again.",
}
"""What to do, by the status code of the answer."""


@dataclass(frozen=True)
class _RemoteDataSet:
    """A data set that is on the Hub already."""

    private: bool
    files: frozenset[str]


class HubConnection:
    """The Hub, with the token of this user.

    The token is found as huggingface_hub finds it: HF_TOKEN, else the saved login. No message contains it, and errors
    of huggingface_hub, which may quote requests and answers, are not chained to ours.
    """

    def __init__(self) -> None:
        """Finds the token; sends nothing.

        Raises:
            PluginError: huggingface_hub is not installed.
            HubError: There is no token, or it is damaged.
        """
        names = ("huggingface_hub", *(f"huggingface_hub.{part}" for part in ("constants", "errors", "utils")))
        modules: list[Any] = [import_extra(name, extra="hub", needed_by="push=...") for name in names]
        self._hub, self._constants, self._errors, self._utils = modules
        self._token = ""
        self._token = self._call("The token of the Hugging Face Hub cannot be read", self._hub.get_token) or ""
        if not self._token:
            raise HubError(f"push=... needs a token of the Hugging Face Hub, and there is none. {_LOG_IN}.")
        if not self._token.isascii() or not self._token.isprintable() or " " in self._token:
            raise HubError(f"The token of the Hugging Face Hub has characters that no token has. {_LOG_IN}.")
        self._api: Any = self._hub.HfApi(token=self._token, library_name="unlatch")

    def check(self, name: str, *, private: bool, own_file: str) -> None:
        """Checks that a data set of a name can be made or replaced with the token; changes nothing on the Hub.

        Args:
            name: Name of the data set, `user/name`.
            private: Whether it shall be private.
            own_file: A file that every data set of ours has; one on the Hub without this file is not replaced.

        Raises:
            ConfigError: The name is wrong or taken.
            HubError: The Hub cannot be reached, or refuses the token.
        """
        try:
            self._utils.validate_repo_id(name)
        except self._errors.HFValidationError as exc:
            raise ConfigError(
                f"push='{name}' is not the name of a data set on the Hub: {self._one_line(exc)} Change it.", key="push"
            ) from None
        self._check_token(name)
        found = self._find(name)
        if found is None:
            return
        if own_file not in found.files and found.files - {".gitattributes", "README.md"}:
            raise ConfigError(
                f"push='{name}' is taken: the data set there has no {own_file}, so `unlatch export` did not make it. "
                "Choose another name, or delete that data set on the Hub.",
                key="push",
            )
        if private and not found.private:
            raise ConfigError(
                f"private=true, but '{name}' exists and is public. Make it private in its settings on the Hub, choose "
                "another name, or remove private=true.",
                key="private",
            )

    def upload(self, folder: Path, name: str, *, private: bool, version: str) -> str:
        """Makes a data set, or replaces its files, in one commit, and tags it; returns its address.

        Args:
            folder: The files.
            name: Name of the data set, `user/name`.
            private: Whether a new data set is private.
            version: Version of the format: LeRobot reads the commit with this tag.

        Raises:
            HubError: The Hub cannot be reached, or refuses a request.
        """
        place = {"repo_id": name, "repo_type": _DATASET}
        what = f"'{name}' cannot be pushed to the Hugging Face Hub"
        address: str = self._call(what, lambda: self._api.create_repo(**place, private=private, exist_ok=True))
        commit = self._call(
            what,
            lambda: self._api.upload_folder(
                **place,
                folder_path=folder,
                commit_message="unlatch export",
                delete_patterns=["data/*", "meta/*", "videos/*"],
            ),
        )
        self._call(what, lambda: self._tag(place, version, commit.oid))
        return str(address)

    def _tag(self, place: dict[str, str], version: str, commit: str) -> None:
        with suppress(self._errors.RevisionNotFoundError):
            self._api.delete_tag(**place, tag=version)
        self._api.create_tag(**place, tag=version, revision=commit)

    def _check_token(self, name: str) -> None:
        user = self._call("The token cannot be checked on the Hugging Face Hub", self._api.whoami)
        owners = [str(item.get("name")) for item in (user, *user.get("orgs", []))]
        owner = name.partition("/")[0]
        if owner not in owners:
            raise ConfigError(
                f"push='{name}' belongs to '{owner}', but the token to '{owners[0]}', who may write to: "
                f"{', '.join(owners)}. Change the name, or use another token.",
                key="push",
            )
        if user.get("auth", {}).get("accessToken", {}).get("role") == "read":
            raise HubError(f"The token of the Hugging Face Hub may read only. {_LOG_IN}.")

    def _find(self, name: str) -> _RemoteDataSet | None:
        def ask() -> Any:
            try:
                return self._api.dataset_info(name)
            except self._errors.RepositoryNotFoundError:
                return None

        info = self._call(f"The name '{name}' cannot be checked on the Hugging Face Hub", ask)
        if info is None:
            return None
        return _RemoteDataSet(private=bool(info.private), files=frozenset(item.rfilename for item in info.siblings))

    def _call(self, what: str, function: Callable[[], T]) -> T:
        """Calls huggingface_hub without its progress bars.

        Raises:
            HubError: It raised an error; the message begins with `what`.
        """
        shown = not self._utils.are_progress_bars_disabled()
        self._utils.disable_progress_bars()
        try:
            return function()
        except (self._errors.HTTPError, OSError, ValueError, RuntimeError) as exc:
            error = self._hub_error(what, exc)
        finally:
            if shown:
                self._utils.enable_progress_bars()
        raise error  # outside of the handler: nothing links it to an error that may contain the token

    def _hub_error(self, what: str, exc: BaseException) -> HubError:
        """Returns our error for one of huggingface_hub, which may be raised from the one that says why."""
        while not isinstance(exc, self._errors.HfHubHTTPError) and exc.__cause__ is not None:
            exc = exc.__cause__
        if isinstance(exc, self._errors.HfHubHTTPError):
            status = exc.response.status_code
            answer = self._one_line(exc.server_message or exc.response.reason_phrase)
            advice = _ADVICE.get(status, "Try again later, or see https://status.huggingface.co.")
            text = f"{what}: status {status}, {answer} {advice}"
        else:
            text = f"{what} ({self._constants.ENDPOINT}): {self._one_line(exc)} Check the network connection."
            status = None
        return HubError(text, status=status)

    def _one_line(self, message: object) -> str:
        """Returns a foreign message without the token, in one line that ends with a full stop."""
        text = str(message).replace(self._token, "(the token)") if self._token else str(message)
        text = shorten(" ".join(text.split()), _MOST_CHARACTERS) or type(message).__name__
        return text if text.endswith((".", "!", "?")) else f"{text}."
