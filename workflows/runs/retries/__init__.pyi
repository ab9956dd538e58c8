from .choice import Retries as Retries
from .choice import choose_retries as choose_retries
from .code_versions import MADE_WITH as MADE_WITH
from .code_versions import CodeVersions as CodeVersions
from .traceback_frames import frames_to_show as frames_to_show
from .traceback_frames import user_frames as user_frames
