"""Plays npm, where no Node is: `view`, `install` and `ci` of packages without dependencies.

It does what `fairlead agent` relies on, the way npm does it: a lock file with hashes that `install` writes and `ci`
obeys, links in node_modules/.bin, a warning for packages that want another Node. Runs as a program of its own.
"""

import base64
import hashlib
import io
import json
import os
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NoReturn


def main(words: list[str]) -> None:
    match words:
        case ["view", package, "dist-tags.latest", "--json"]:
            print(json.dumps(packument(package)["dist-tags"]["latest"]))
        case ["install", *_]:
            ((name, version),) = json.loads(Path("package.json").read_text())["dependencies"].items()
            found = packument(name)["versions"].get(version)
            if found is None:
                fail("ETARGET", f"No matching version found for {name}@{version}.")
            installed = os.environ.get("NPM_SHIM_INSTALLS") or version  # an npm that knows better
            entry = {"version": installed, "resolved": found["dist"]["tarball"], **found["dist"], "bin": found["bin"]}
            warn_of_engine(name, found)
            unpack(name, entry)
            lock = {"lockfileVersion": 3, "packages": {"": {}, f"node_modules/{name}": entry}}
            Path("package-lock.json").write_text(json.dumps(lock))
        case ["ci", *_]:
            lock = json.loads(Path("package-lock.json").read_text())
            ((path, entry),) = [each for each in lock["packages"].items() if each[0]]
            unpack(path.removeprefix("node_modules/"), entry)
        case _:
            fail("EUSAGE", f"this npm does not know {words}")


def packument(name: str) -> dict[str, Any]:
    return json.loads(fetch(os.environ["npm_config_registry"] + name))  # noqa: SIM112 - as npm spells it


def unpack(name: str, entry: dict[str, Any]) -> None:
    data = fetch(entry["resolved"])
    if entry["integrity"] != f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}":
        fail("EINTEGRITY", f"{name} is not what package-lock.json says")
    place = Path("node_modules", name)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar.getmembers():
            file = place / member.name.removeprefix("package/")
            file.parent.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(member)
            assert content is not None
            file.write_bytes(content.read())
            file.chmod(0o755)
    programs = Path("node_modules/.bin")
    programs.mkdir(parents=True, exist_ok=True)
    for program, path in entry["bin"].items():
        (programs / program).symlink_to(Path("..", name, path))


def warn_of_engine(name: str, found: dict[str, Any]) -> None:
    wanted = found.get("engines", {}).get("node")
    if wanted:
        lines = [
            "Unsupported engine {",
            f"  package: '{name}@{found['version']}',",
            f"  required: {{ node: '{wanted}' }},",
            "  current: { node: 'v20.0.0', npm: '11.0.0' }",
            "}",
        ]
        print("\n".join(f"npm warn EBADENGINE {line}" for line in lines), file=sys.stderr)


def fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url) as response:
            return response.read()
    except urllib.error.HTTPError as fault:
        fail(f"E{fault.code}", f"{fault} - GET {url}")
    except OSError as fault:
        fail("ECONNREFUSED", str(fault))


def fail(code: str, words: str) -> NoReturn:
    print(f"npm error code {code}\nnpm error {words}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
