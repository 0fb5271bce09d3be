"""An index of packages on loopback. What it serves may change while it runs, as publishers do."""

import hashlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from tests.support.package_index.packages import npm_integrity, npm_tarball, wheel


class PackageIndex:
    """`with PackageIndex() as index:`; `index.settings` are the variables that lead npm and pip to it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self._npm: dict[str, dict[str, Any]] = {}
        self._wheels: dict[str, list[str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def settings(self, home: Path) -> dict[str, str]:
        return {
            "npm_config_registry": f"{self.url}/npm/",
            "npm_config_cache": str(home / "npm-cache"),
            "PIP_INDEX_URL": f"{self.url}/simple/",
            "PIP_NO_CACHE_DIR": "1",
            "npm_config_fetch_retries": "0",
            "PIP_RETRIES": "0",
            "NO_PROXY": "127.0.0.1",
        }

    def publish_npm(self, name: str, version: str, programs: dict[str, Path], **manifest: object) -> None:
        data = npm_tarball(name, version, programs, **manifest)
        path = f"/tarballs/{name}-{version}.tgz"
        self.files[path] = data
        known = self._npm.setdefault(name, {"name": name, "dist-tags": {}, "versions": {}})
        known["dist-tags"]["latest"] = version
        known["versions"][version] = {
            "name": name,
            "version": version,
            "bin": {key: f"bin/{key}" for key in programs},
            "dist": {"tarball": f"{self.url}{path}", "integrity": npm_integrity(data)},
            **manifest,
        }
        self.files[f"/npm/{name}"] = json.dumps(known).encode()

    def publish_wheel(self, name: str, version: str, programs: dict[str, Path], *, requires_python: str = "") -> None:
        file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        data = wheel(name, version, programs, requires_python=requires_python)
        self.files[f"/wheels/{file}"] = data
        digest = hashlib.sha256(data).hexdigest()
        wants = f' data-requires-python="{requires_python.replace(">", "&gt;")}"' if requires_python else ""
        links = self._wheels.setdefault(name, [])
        links.append(f'<a href="/wheels/{file}#sha256={digest}"{wants}>{file}</a>')
        self.files[f"/simple/{name}/"] = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()

    def publish_registry(self, *agents: dict[str, Any]) -> str:
        self.files["/registry.json"] = json.dumps({"version": "1.0.0", "agents": list(agents)}).encode()
        return f"{self.url}/registry.json"

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(urlsplit(self.path).path)
                index.asked.append(path)
                data = index.files.get(path)
                self.send_response(404 if data is None else 200)
                is_page = path.startswith("/simple/")
                self.send_header("Content-Type", "text/html" if is_page else "application/json")
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Handler


def platform_here() -> str:
    here = os.uname()
    return f"{here.sysname.lower()}-{ {'arm64': 'aarch64'}.get(here.machine, here.machine) }"
