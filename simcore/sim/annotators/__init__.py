"""Annotators compute labels of an image: boxes, poses, points and masks. Each is a function of one `AnnotatedFrame`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
