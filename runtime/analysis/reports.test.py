# The report's files: JSON by its schema, text as on the terminal; .devsan.toml of the working directory counts.
# RUN: %status 0 %sim --report=%t.json --report=%t.txt --report=%t.html -- %python %s run
# RUN: %python %s check %t.json
# RUN: %file_check < %t.txt
# RUN: FileCheck %s --check-prefix=HTML < %t.html
# HTML: <!doctype html>
# HTML: {{\[[0-9]+,[0-9]+,\[.*}}x.sum().item()
# HTML: "the host waited for cuda:1 in aten::item, 3 times"
# RUN: mkdir -p %t.dir/sub
# RUN: echo '[suppressions]' > %t.dir/.devsan.toml
# RUN: echo 'device-host-sync = ["*reports.test.py"]' >> %t.dir/.devsan.toml
# RUN: cd %t.dir/sub
# RUN: %status 0 %sim --fail-on=warning -- %python %s run 2>&1 | FileCheck %s --check-prefix=TOML
# TOML: no findings, 1 suppressed

# What happens inside a library, in a thread of its own, fails nothing, and is a line on the terminal; where own code calls it, that is shown.
# RUN: rm %t.dir/.devsan.toml
# RUN: mkdir -p %t.dir/site-packages
# RUN: %status 0 %sim --fail-on=warning --report=%t.all.txt -- %python %s library %t.dir/site-packages 2>&1 | FileCheck %s --check-prefix=FOLDED --implicit-check-not=library.py
# FOLDED: devsan run: passed: {{.*}}: 1 finding (0 errors, 1 warning, 0 notes)
# FOLDED-NEXT: devsan run: 1 finding inside library, which no code of the project called, is not shown; --report=FILE.txt holds all
# RUN: FileCheck %s --check-prefix=ALL < %t.all.txt
# ALL: site-packages/library.py:4: warning: the host waited
# RUN: %status 3 %sim --fail-on=warning -- %python %s library %t.dir/site-packages called 2>&1 | FileCheck %s --check-prefix=CALLED
# CALLED: site-packages/library.py:4: warning: the host waited
# CALLED: reports.test.py:[[#]]: note: called from library
import json
import sys
from pathlib import Path


def run():
    import torch

    x = torch.ones(4, device="cuda:1")
    for _ in range(3):
        # CHECK: reports.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::item, 3 times [device-host-sync]
        x.sum().item()


def check(path):
    report = json.load(open(path))
    assert report["schema"] == "devsan/1", report
    (finding,) = report["findings"]
    assert finding["rule"] == "device-host-sync"
    assert finding["severity"] == "warning"
    assert finding["origin"] == "runtime"
    assert finding["count"] == 3
    assert finding["from"] == "cuda:1"
    assert finding["op"] == "aten::item"
    assert finding["fingerprint"]
    (location,) = finding["locations"]
    # Relative to the repository, with the function as Python names it.
    assert location["file"] == "runtime/analysis/reports.test.py" or location["file"].startswith("/"), location
    assert location["function"] == "run", location
    functions = [frame["function"] for frame in finding["stack"]]
    assert functions[0] == "at::_ops::item::call", functions
    assert functions[-2:] == ["run", "<module>"], functions


def library(folder, called=""):
    (Path(folder) / "library.py").write_text("""\
import threading
def wait(x, depth=0):
    for _ in range(3 if depth == 12 else 0):
        x.sum().item()
    if depth < 12:
        wait(x, depth + 1)
def start(x):
    thread = threading.Thread(target=wait, args=(x,))
    thread.start()
    thread.join()
""")
    sys.path.insert(0, folder)
    import torch
    import library

    x = torch.ones(4, device="cuda:1")
    library.wait(x) if called else library.start(x)


if sys.argv[1] == "run":
    run()
elif sys.argv[1] == "library":
    library(*sys.argv[2:])
else:
    check(sys.argv[2])
