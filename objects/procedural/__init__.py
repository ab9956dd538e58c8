"""Small generators of articulated objects, one a file: same seed, same bytes.

A generator is a callable `generate(seed, *, name) -> GeneratedObject`. To add one: a file here with a dataclass of
parameters, a function that draws them, one that builds the object, and `generate = ObjectGenerator(category, draw,
build)`, where `Assembly.covers` says what shows of its material; a line in `catalog.py`, an object YAML, and its hashes
in the tests.
"""
