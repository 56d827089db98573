"""The list of what others' code a wheel of DevSan holds, with licences: SPDX 2.3, as JSON.

usage: sbom.py --build FOLDER --wheel FILE --out FILE

For each program and library of the wheel: the link that made it in the build folder is repeated with the linker telling which files it
takes (archives and start files: STATIC_LINK), and the build tells which headers its sources included (GENERATED_FROM). dpkg says which of
Debian's packages these are of, and their copyright files what the licences are; pip's metadata does for what is of a Python package.
Nothing of the system's libraries that are only loaded is listed. SOURCE_DATE_EPOCH is the time that it bears.
"""

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

from plugin_wheel import plugins

ROOT = Path(__file__).resolve().parents[2]
# Debian's names of licences for which SPDX has another.
SPDX_NAMES = {"Expat": "MIT", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause", "APACHE-2-LLVM-EXCEPTIONS": "Apache-2.0 WITH LLVM-exception",
              "BSL-1.0": "BSL-1.0", "Boost-1.0": "BSL-1.0", "Zlib": "Zlib", "CC0-1.0": "CC0-1.0", "Apache-2.0": "Apache-2.0"}


def ninja(build, *arguments):
    return subprocess.run(["ninja", "-C", build, *arguments], capture_output=True, text=True, check=True).stdout.removeprefix(f"ninja: Entering directory `{build}'\n")


def programs_of(wheel, build):
    """What the build linked of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name).name for name in archive.namelist() if archive.open(name).read(4) == b"\x7fELF"}
    if wheel.name.startswith("devsan_clang_tidy-"):  # names them itself
        names = {library.name for name, library in plugins(build).items() if name in names}
    linked = re.findall(r"^(\S+): \w+_LINKER__", ninja(build, "-t", "targets", "all"), re.M)
    found = [target for target in linked if Path(target).name in names]
    missing = names - {Path(target).name for target in found} - {Path(name).name for name in names if ".so." in name}
    if not found:
        sys.exit(f"sbom: error: {build} has linked nothing that is in {wheel.name}")
    return found, sorted(missing)


def linked_files(build, target):
    """The files outside of the build that the linker takes into the program."""
    command = ninja(build, "-t", "commands", "-s", target).splitlines()[-1]
    link = next(part for part in command.split(" && ") if f" -o {target}" in part)
    with tempfile.TemporaryDirectory(prefix="devsan-sbom-") as folder:
        words = shlex.split(link)
        words[words.index("-o") + 1] = str(Path(folder, "linked"))
        traced = subprocess.run([*words, "-Wl,--trace"], cwd=build, capture_output=True, text=True, check=True).stdout
    files = {re.sub(r"\([^()]*\)$", "", line) for line in traced.splitlines()}
    return {os.path.realpath(os.path.join(build, file)) for file in files if not re.search(r"\.so(\.|$)", file)}


def included_files(build, targets):
    """The headers that the objects of these targets, and the precompiled headers among them, included."""
    wanted = set(ninja(build, "-t", "inputs", *targets).splitlines())
    files, is_wanted = set(), False
    for line in ninja(build, "-t", "deps").splitlines():
        if line.startswith("    "):
            if is_wanted:
                files.add(line.strip())
        elif line:
            is_wanted = line.rsplit(": #deps", 1)[0] in wanted
    return {os.path.realpath(os.path.join(build, file)) for file in files}


def packages_of(files, build):
    """Debian's packages, and Python's as ("pypi", name), that files outside of the checkout are of."""
    found, system = defaultdict(set), set()
    for file in files:
        if match := re.search(r"/site-packages/([^/]+)/", file):
            found["pypi", match[1]].add(file)
        elif not file.startswith((f"{ROOT}/", f"{build}/")):
            system.add(file)
    if system:
        # Where /lib is a link to /usr/lib a package may list a file under either name.
        names = {name: file for file in system for name in (file, file.removeprefix("/usr")) if os.path.realpath(name) == file}
        told = subprocess.run(["dpkg-query", "-S", *sorted(names)], capture_output=True, text=True).stdout
        for package, name in re.findall(r"^([^:\s]+)(?::\w+)?: (\S+)$", told, re.M):
            found["deb", package].add(names[name])
            system.discard(names[name])
    for file in system:  # built by hand, as a Python may be
        name = re.search(r"/include/([^/]+)/", file)
        found["generic", name[1] if name else Path(file).name].add(file)
    return found


def debian_package(name):
    version, architecture = subprocess.run(["dpkg-query", "-W", "-f", "${Version} ${Architecture}\n", name], capture_output=True, text=True,
                                           check=True).stdout.splitlines()[0].split()
    text = Path(f"/usr/share/doc/{name}/copyright").read_text(encoding="utf-8", errors="replace")
    # Of the machine-readable form: the licence of all files but those that are named apart.
    main = re.search(r"^Files:\s+\*.*?^License:\s+(\S+(?: with \S+)*)", text, re.M | re.S)
    return version, text, SPDX_NAMES.get(main[1]) if main else None, f"pkg:deb/debian/{name}@{version}?arch={architecture}"


def python_package(name, files):
    folder = Path(re.match(r".*/site-packages/", next(iter(files)))[0])
    # A folder's name need not be that of the package.
    of = next((one for one in importlib.metadata.distributions(path=[str(folder)]) if any(file.parts[0] == name for file in one.files or ())), None)
    if of is None:
        return generic_package(name, files)
    metadata = of.metadata
    name = metadata["Name"]
    licences = sorted(file for file in of.files if ".dist-info" in file.parts[0] and re.match(r"(LICEN[CS]E|NOTICE|COPYING)", file.name))
    text = "\n\n".join(file.locate().read_text(encoding="utf-8", errors="replace") for file in licences)
    return metadata["Version"], text, metadata.get("License-Expression"), f"pkg:pypi/{name}@{metadata['Version']}"


def generic_package(name, files):
    return None, "", None, f"pkg:generic/{name}"


def describe(kind, name, files):
    read = {"deb": lambda name, _: debian_package(name), "pypi": python_package, "generic": generic_package}[kind]
    version, text, licence, purl = read(name, files)
    reference = f"LicenseRef-{kind}-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}"
    package = {
        "SPDXID": f"SPDXRef-{kind}-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}", "name": name, "versionInfo": version or "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence or (reference if text else "NOASSERTION"), "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }
    if licence and text:
        package["attributionTexts"] = [text]
    if not text:
        package["comment"] = "of no package: its licence is not told here"
    extracted = None if licence or not text else {"licenseId": reference, "name": f"the licences of {name}", "extractedText": text}
    return package, extracted


def main():
    parser = argparse.ArgumentParser(prog="sbom.py")
    for option in ("--build", "--wheel", "--out"):
        parser.add_argument(option, type=Path, required=True)
    arguments = parser.parse_args()
    build, wheel = arguments.build.resolve(), arguments.wheel.resolve()
    targets, unknown = programs_of(wheel, build)
    linked = packages_of(set().union(*(linked_files(build, target) for target in targets)), build)
    included = packages_of(included_files(build, targets), build)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    version = wheel.name.split("-")[1]
    name = wheel.name.split("-")[0].replace("_", "-")
    reference = f"SPDXRef-{name}"
    own = {"SPDXID": reference, "name": name, "versionInfo": version, "packageFileName": wheel.name, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
           "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    if unknown:
        own["comment"] = f"not linked in this build, and so not looked into: {', '.join(unknown)}"
    packages, extracted, relations = [own], [], [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": reference}]
    for kind, name in sorted(linked.keys() | included.keys()):
        package, licence = describe(kind, name, linked[kind, name] | included[kind, name])
        packages.append(package)
        extracted += [licence] if licence else []
        for files, relation in ((linked, "STATIC_LINK"), (included, "GENERATED_FROM")):
            if files[kind, name]:
                relations.append({"spdxElementId": reference, "relationshipType": relation, "relatedSpdxElement": package["SPDXID"]})
    created = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": wheel.name,
                "documentNamespace": f"urn:sha256:{digest}",
                "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: devsan-script-release"]},
                "packages": packages, "hasExtractedLicensingInfos": extracted, "relationships": relations}
    arguments.out.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{arguments.out.name}: {len(targets)} programs and libraries, {len(packages) - 1} packages in them")


if __name__ == "__main__":
    main()
