from .page_process import PageProcess as PageProcess
