from .ambient_occlusion import darken_corners as darken_corners
from .environment_light import environment_light as environment_light
from .environment_light import tone_map as tone_map
from .shadow_bias import use_sloped_bias as use_sloped_bias
