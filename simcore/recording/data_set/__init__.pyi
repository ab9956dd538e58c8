from .data_set import DataSet
from .index import EpisodeSummary
from .location import DATASET_FILE, absolute_folder, check_same_header, missing_folders
from .shards import EPISODES, MAX_NUMBER, SHARD_SIZE, folder_in_shard, numbers_in, shards_in
from .writer_area import FolderWriter, clean_areas

__all__ = [
    "DATASET_FILE",
    "EPISODES",
    "MAX_NUMBER",
    "SHARD_SIZE",
    "DataSet",
    "EpisodeSummary",
    "FolderWriter",
    "absolute_folder",
    "check_same_header",
    "clean_areas",
    "folder_in_shard",
    "missing_folders",
    "numbers_in",
    "shards_in",
]
