"""Pushes an export to the Hugging Face Hub: options, connection, page of the data set, and upload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import yaml

from unlatch.objects.config import ObjectSource
from unlatch.simcore.errors import ConfigError, HubError, UnlatchError, count_noun, shorten
from unlatch.simcore.extras import import_extra
from unlatch.simcore.recording.export import lerobot_tables
from unlatch.simcore.recording.export.exporter import HubCfg
from unlatch.simcore.recording.export.lerobot import LeRobotSet, describe_set
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.statistics import share_text
from unlatch.workflows.viewing.clip import ClipCfg, write_clip
from unlatch.workflows.viewing.episode_files import collect_command

T = TypeVar("T")

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

        def find() -> Any:
            with suppress(self._errors.RepositoryNotFoundError):
                return self._api.dataset_info(name)
            return None

        found = self._call(f"The name '{name}' cannot be checked on the Hugging Face Hub", find)
        if found is None:
            return
        files = {item.rfilename for item in found.siblings}
        if own_file not in files and files - {".gitattributes", "README.md"}:
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
        place = {"repo_id": name, "repo_type": "dataset"}
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

        def tag() -> None:
            with suppress(self._errors.RevisionNotFoundError):
                self._api.delete_tag(**place, tag=version)
            self._api.create_tag(**place, tag=version, revision=commit.oid)

        self._call(what, tag)
        return str(address)

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
        # most characters of a message of the server or of huggingface_hub in one of ours
        text = shorten(" ".join(text.split()), 300) or type(message).__name__
        return text if text.endswith((".", "!", "?")) else f"{text}."


CLIP = "clip.webp"
CLIP_LOOK = ClipCfg(width=320, height=240, fps=10, speed=3.0)
_ORIGINS = "data_sets"
"""Key of `meta/unlatch.json` with facts about each data set that the episodes come from, by its digest."""
_MOST_LINES = 20
"""Most instructions or objects that the page lists."""

_CARD = """---
{header}---

# {title}

{clip}Demonstrations in simulation, made and verified by Unlatch {version}. It plans each motion, executes it in a
physics engine (PyBullet), and judges every episode by rules on its recorded states.

| episodes | frames | frames per second | duration | robot | format |
|---|---|---|---|---|---|
| {total_episodes:,} | {total_frames:,} | {fps} | {minutes:.1f} min | `{robot_type}` | LeRobot {codebase_version} |

```python
from lerobot.datasets import LeRobotDataset

data = LeRobotDataset("{name}")
```

## Tasks

{tasks}

Objects: {objects}.

## Success

{figures}

All attempts count, also those that were not exported. {failures}

## How it was made

{commands}

{description}"""


def write_card(folder: Path, cfg: HubCfg, source: ExportSource) -> None:
    """Writes `README.md` of a LeRobot set for the Hub, and facts about the data set into `meta/unlatch.json`.

    Args:
        folder: The set, which may have episodes of other data sets too.
        cfg: Name and licence.
        source: The data set that was exported last.

    Raises:
        RecordingError: The set is damaged, or cannot be written.
    """
    exported = LeRobotSet.open(folder)
    ours = lerobot_tables.read_json(folder / lerobot_tables.CONVENTIONS_FILE)
    ours[_ORIGINS] = {**ours.get(_ORIGINS, {}), source.identity: _describe_origin(source)}
    lerobot_tables.write_json(folder / lerobot_tables.CONVENTIONS_FILE, ours)
    origins: dict[str, Any] = ours[_ORIGINS]
    counts = Counter(str(row.get(lerobot_tables.SOURCE)) for row in exported.episodes)
    license = cfg.license or (
        "apache-2.0" if all(key in origins and origins[key]["generated_objects"] for key in counts) else "unknown"
    )
    robot = exported.info["robot_type"]
    header = {
        "license": license,
        "task_categories": ["robotics"],
        "tags": ["LeRobot", "unlatch", "articulated-objects", "simulation", robot],
        "configs": [{"config_name": "default", "data_files": "data/*/*.parquet"}],  # as LeRobot has it
    }
    tasks = sorted({origins[key]["task"] for key in counts if key in origins and origins[key]["task"]})
    instructions = Counter(str(task) for row in exported.episodes for task in row["tasks"])
    # `microwave` of `oven=microwave:7`
    categories = Counter(
        (text.partition("=")[2].rpartition(":")[0] or text) for row in exported.episodes for text in row["object"]
    )
    failed = sum(not row.get("success", True) for row in exported.episodes)
    card = _CARD.format(
        **{**exported.info, "version": ours["version"]},
        name=cfg.push,
        header=yaml.safe_dump(header, sort_keys=False),
        title=f"{', '.join(tasks) or 'Demonstrations'}, {robot}",
        clip=f"![A recorded episode, {CLIP_LOOK.speed:g} times as fast]({CLIP})\n\n"
        if (folder / CLIP).is_file()
        else "",
        minutes=exported.info["total_frames"] / exported.fps / 60.0,
        tasks=_list_counts(instructions, "- {name} ({count})"),
        objects=", ".join(f"{count_noun(count, 'episode')} with `{name}`" for name, count in categories.most_common()),
        figures=_list_figures(origins, counts),
        failures=f"{failed} of the episodes here are failures." if failed else "All episodes here are successes.",
        commands=_list_commands(origins, counts),
        description=describe_set(exported.info, ours),
    )
    (folder / lerobot_tables.CARD_FILE).write_text(card, encoding="utf-8")


def _describe_origin(source: ExportSource) -> dict[str, Any]:
    """Returns facts about a data set that its export does not keep."""
    summaries = source.data_set.summaries()
    objects = [source.config["object"], *source.config.get("objects", [])]
    return {
        "task": source.task,
        "attempts": len(summaries),
        "successes": sum(summary.success for summary in summaries),
        "generated_objects": all(item.get("source") == ObjectSource.procedural.value for item in objects),
        "command": collect_command(source.data_set, f"episodes={len(summaries)}"),
    }


def _list_counts(counts: Counter[str], line: str) -> str:
    """Returns a Markdown list of the most frequent entries."""
    lines = [line.format(name=name, count=count_noun(count, "episode")) for name, count in counts.most_common()]
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"- and {more:,} more"] if more > 0 else [])])


def _list_figures(origins: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """Returns the success rate of each data set that the episodes come from, as a Markdown list."""
    lines = []
    for key, count in counts.items():
        known = origins.get(key)
        figure = share_text(known["successes"], known["attempts"]) if known else "not known"
        task = f"`{known['task']}`" if known and known["task"] else f"data set `{key}`"
        lines.append(f"- {task}, {count_noun(count, 'episode')} here; attempts that succeed: {figure}")
    return "\n".join(lines)


def _list_commands(origins: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """Returns the commands that made the data sets, as one block of code."""
    commands = [origins[key]["command"] for key in counts if key in origins and origins[key]["command"]]
    if not commands:
        return "A Python program made it with `unlatch.collect`."
    return "\n".join(["```sh", *dict.fromkeys(commands), "```"])


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
    connection.check(str(cfg.push), private=cfg.private, own_file=lerobot_tables.CONVENTIONS_FILE)
    return connection


def push_export(connection: HubConnection, cfg: HubCfg, source: ExportSource, folder: Path) -> str:
    """Writes the page of a finished export, uploads everything, and returns the address.

    Raises:
        HubError: It cannot be uploaded, or its page cannot be made. The export stays; the message says what to do.
    """
    try:
        if cfg.clip and not (folder / CLIP).is_file():
            record = source.data_set.read(source.numbers[0])
            write_clip(config_of(source.data_set), record, CLIP_LOOK, str(folder / CLIP))
        write_card(folder, cfg, source)
        version = str(lerobot_tables.read_json(folder / lerobot_tables.INFO_FILE)["codebase_version"])
        return connection.upload(folder, str(cfg.push), private=cfg.private, version=version)
    except UnlatchError as exc:
        raise HubError(
            f"{exc.message} The export in '{folder}' is complete. To push it, run the same command again: it exports "
            "only what is missing.",
            **exc.values,
        ) from exc.__cause__
