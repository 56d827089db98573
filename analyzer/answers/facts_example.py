"""usage: facts_example.py CHECK.md DEVSAN_CHECK FOLDER [FLAG...]

Runs the example of --dump-facts in CHECK.md in FOLDER, and compares what is printed with the page. FLAGs are compiler flags.
"""

import re
import subprocess
import sys
from pathlib import Path

page, program, folder, *flags = sys.argv[1:]
section = Path(page).read_text().split("\n## What is believed\n")[1]
name, source = re.search(r"```cpp\n// (\S+)\n(.*?)```", section, re.S).groups()
command, expected = re.search(r"```\n\$ devsan check (.*?)\n(.*?)```", section, re.S).groups()
Path(folder, name).write_text(f"// {name}\n{source}")
printed = subprocess.run([program, "--torch=none", *command.split(), "--", *flags], cwd=folder, capture_output=True, text=True)
sys.exit(0 if printed.stdout == expected else f"printed:\n{printed.stdout}{printed.stderr}\nthe page has:\n{expected}")
