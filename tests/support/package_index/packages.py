"""Makes packages: npm tarballs and wheels whose program is a scripted ACP agent."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path


def npm_tarball(name: str, version: str, programs: dict[str, Path], **manifest: object) -> bytes:
    """`programs` are the names of what the package brings, and executables whose content is put into it."""
    described = {"name": name, "version": version, "bin": {key: f"bin/{key}" for key in programs}, **manifest}
    files = {"package/package.json": json.dumps(described).encode()}
    files |= {f"package/bin/{key}": shim.read_bytes() for key, shim in programs.items()}
    return tarball(files)


def tarball(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def npm_integrity(data: bytes) -> str:
    return f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"


def wheel(name: str, version: str, programs: dict[str, Path], *, requires_python: str = "") -> bytes:
    """Its programs execute the shims, which stay where they are: a wheel's own scripts are Python functions."""
    module = name.replace("-", "_")
    lines = ["import os, sys", ""]
    for number, shim in enumerate(programs.values()):
        lines += [f"def main{number}():", f"    os.execv({str(shim)!r}, [{str(shim)!r}, *sys.argv[1:]])", ""]
    scripts = [f"{key} = {module}:main{number}" for number, key in enumerate(programs)]
    needed = [f"Requires-Python: {requires_python}"] if requires_python else []
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": "\n".join(lines),
        f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *needed, ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(["[console_scripts]", *scripts, ""]),
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for path, text in files.items():
            zipped.writestr(path, text)
    return buffer.getvalue()
