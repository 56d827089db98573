"""What DevSan tells a program's user while the program runs."""

import sys

_told = set()


def note_once(text):
    if text not in _told:
        _told.add(text)
        print(f"devsan: note: {text}", file=sys.stderr)
