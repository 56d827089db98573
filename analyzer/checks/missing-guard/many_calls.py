"""usage: many_calls.py FILE

Writes a library of functions in layers, each of which calls all of the next: more ways than can be followed one by one.
"""

import sys
from pathlib import Path

LAYERS, WIDTH = 12, 30


def name(layer, number):
    return f"f{layer}_{number}"


lines = [f"void {name(layer, number)}(float *x);" for layer in range(LAYERS) for number in range(WIDTH)]
for layer in range(LAYERS):
    for number in range(WIDTH):
        calls = " ".join(f"{name(layer + 1, other)}(x);" for other in range(WIDTH)) if layer + 1 < LAYERS else ""
        lines.append(f"void {name(layer, number)}(float *x) {{ {calls} }}")
Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
