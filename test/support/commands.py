"""Commands that tests run."""

import subprocess


def run(*command, status=0, timeout=900, **options):
    """What a command prints, errors among it; an assertion with that, where it ends otherwise than with STATUS (None: any)."""
    words = [str(word) for word in command]
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **options)
    if status is not None and result.returncode != status:
        raise AssertionError(f"{words} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout
