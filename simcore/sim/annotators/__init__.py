"""Annotators compute labels of an image: boxes, poses, points and masks. Each is a function of one `AnnotatedFrame`."""
