from .content import make_report as make_report
from .tally import Tally as Tally
