"""usage: swap_headers.py FOLDER. Exchanges two precompiled headers there, with their checksums."""

import sys
from pathlib import Path

one, other = sorted(Path(sys.argv[1]).glob("*.pch"))
for suffix in ("", ".sum"):
    a, b, aside = Path(f"{one}{suffix}"), Path(f"{other}{suffix}"), Path(f"{one}{suffix}.aside")
    a.rename(aside)
    b.rename(a)
    aside.rename(b)
