"""Records and data sets without physics, for tests of what is done with them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord


def episode(code: str | None = None, number: int = 0, **fields: Any) -> EpisodeRecord:
    """Returns an episode that ended with a failure code; None: it succeeded."""
    return EpisodeRecord(**{"number": number, "seed": number, "success": code is None, "code": code, **fields})


def data_set_of(
    folder: Path,
    codes: Sequence[str | None] | Mapping[int, str | None],
    *,
    header: Any = None,
    info: Any = None,
    **fields: Any,
) -> DataSet:
    """Writes a data set of episodes that ended with these codes, from number 0 on or by their numbers."""
    numbered = codes if isinstance(codes, Mapping) else dict(enumerate(codes))
    with DataSet.create_or_resume(folder, header=header or {"config": {}}, info=info) as data_set:
        for number, code in numbered.items():
            data_set.write(episode(code, number, **fields))
    return data_set
