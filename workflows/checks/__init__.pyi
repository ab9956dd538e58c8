from .check_data_set import check_data_set as check_data_set
from .criteria_source import CriteriaSource as CriteriaSource
