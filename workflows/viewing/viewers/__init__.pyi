from .html import to_html as to_html
from .rrd import to_rrd as to_rrd
