"""Annotators: what an image shows, as boxes, poses, points and masks. Each is a function of one `AnnotatedFrame`."""
