"""Options of an upload to the Hugging Face Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unlatch.simcore.errors import ConfigError

_NAME = re.compile(r"[^/\s]+/[^/\s]+")
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.-]*")


@dataclass
class HubCfg:
    """Which data set of the Hub an export is uploaded to, and how."""

    push: str | None = None
    """Name of the data set on the Hub, `user/name`; null: nothing is uploaded."""
    private: bool = False
    """Whether a new data set on the Hub is private."""
    license: str | None = None
    """Licence on the data set's page, as the Hub spells it; null: `apache-2.0` if Unlatch generated all objects, else
    `unknown`."""
    clip: bool = True
    """Whether the data set's page shows a clip of the first episode."""

    def __post_init__(self) -> None:
        if self.push is None:
            for key, given in (("private", self.private), ("license", self.license), ("clip", not self.clip)):
                if given:
                    raise ConfigError(
                        f"{key} has no effect: push=null. Name the data set on the Hub, such as push=USER/NAME, or "
                        f"remove {key}.",
                        key=key,
                    )
        elif not _NAME.fullmatch(self.push):
            raise ConfigError(
                f"push='{self.push}' is not the name of a data set on the Hub. Expected USER/NAME, such as "
                "push=ann/microwaves. Change it.",
                key="push",
            )
        if self.license is not None and not _LICENSE.fullmatch(self.license):
            raise ConfigError(
                f"license='{self.license}' is not the name of a licence. Expected a name of "
                "https://huggingface.co/docs/hub/repositories-licenses, such as cc-by-4.0. Change it.",
                key="license",
            )
