"""Small projects that each differ in a few files, and what devsan check has to find in one source of them."""

import concurrent.futures
import os
import subprocess


def write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)


def count_differing(arguments, cases, around, source, rules, found):
    """How many cases, pairs of files and what is expected, find something else; each is printed.

    arguments: FOLDER DEVSAN_CHECK... -- FLAGS..., of the command line.
    around:    the files that all cases have, unless a case has them otherwise.
    found:     what a report in text says, to be compared.
    """
    folder, *rest = arguments
    split = rest.index("--")
    command, flags = rest[:split], rest[split:]

    def differs(case):
        number, (files, expected) = case
        project = os.path.join(folder, str(number))
        os.makedirs(os.path.join(project, ".git"))
        write(project, {**around, **files})
        run = subprocess.run(
            [*command, "--checks=" + ",".join(rules), os.path.join(project, source), *flags],
            capture_output=True,
            text=True,
            check=False,
        )
        if found(run.stdout) == expected and run.returncode in (0, 1):
            return False
        print(f"{files}: expected {expected}, found {found(run.stdout)}\n{run.stdout}{run.stderr}")
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return sum(pool.map(differs, enumerate(cases)))
