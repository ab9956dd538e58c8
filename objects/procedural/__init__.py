"""Small generators of articulated objects, one in each module. The same seed gives the same bytes.

A generator is a callable `generate(seed, *, name) -> GeneratedObject`. To add one, write a module here with a dataclass
of parameters, a function that draws them, a function that builds the object, and `generate = ObjectGenerator(category,
draw, build)`; `Assembly.set_texture` names the textures. Add a line in `catalog.py`, an object YAML, and its hashes in
the tests.
"""
