"""usage: report_devices.py REPORT

Prints of each finding the line, the rule, the operator and the devices: "7 device-host-sync aten::item: cuda:1 to cpu".
"""

import json
import sys
from pathlib import Path

for finding in json.loads(Path(sys.argv[1]).read_text())["findings"]:
    print(f"{finding['locations'][0]['line']} {finding['rule']} {finding['op'] or '?'}: "
          f"{finding['from'] or '?'} to {finding['to'] or '?'}")
