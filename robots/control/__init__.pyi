from .effort_mean import EffortMean as EffortMean
from .signal_view import SignalView as SignalView
from .signals import ArmSignals as ArmSignals
from .signals import MotorTargets as MotorTargets
from .target_spline import TargetSpline as TargetSpline
