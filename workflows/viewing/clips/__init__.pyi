from .clip import ClipCfg as ClipCfg
from .clip import WrittenClip as WrittenClip
from .clip import clip as clip
from .clip import write_clip as write_clip
from .page_clip import PageClip as PageClip
