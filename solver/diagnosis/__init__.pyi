from .contradiction import find_contradictions as find_contradictions
from .diagnosis import Diagnosis as Diagnosis
from .diagnosis import nearest_goal as nearest_goal
from .goal_explanation import explain_goal as explain_goal
from .path_end import PathEnd as PathEnd
from .path_end import holds_at as holds_at
