from .panda import drawn_panda as drawn_panda
