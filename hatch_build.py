"""What the package page shows: `project.urls`, and the README with links that lead somewhere from there.

The public address of the repository is written down nowhere in it. Whoever builds the package names it, or `git` knows
it; without one the page has no links into the repository, and so no dead ones. Nothing here asks the network.
CONTRIBUTING.md tells it to the person who makes a release ("How to make a release").
"""

import os
import posixpath
import re
import subprocess
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

URL_VARIABLE: Final = "FAIRLEAD_PROJECT_URL"
FORGE_VARIABLE: Final = "FAIRLEAD_PROJECT_FORGE"
_GIT_PLACES: Final = {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"}
"""A hook of another repository sets these; the repository that is built is meant."""


# --- the forms of addresses ----------------------------------------------------------------------------------------


class Forge(NamedTuple):
    """Where a forge serves things, below the page of a repository."""

    file: str
    directory: str
    raw: str
    issues: str


FORGES: Final = {
    "github": Forge("blob/{ref}/{path}", "tree/{ref}/{path}", "raw/{ref}/{path}", "issues"),
    "gitlab": Forge("-/blob/{ref}/{path}", "-/tree/{ref}/{path}", "-/raw/{ref}/{path}", "-/issues"),
    "forgejo": Forge("src/{kind}/{ref}/{path}", "src/{kind}/{ref}/{path}", "raw/{kind}/{ref}/{path}", "issues"),
}
_REPOSITORIES: Final = {"github": "[^/]+/[^/]+", "gitlab": ".+/.+", "forgejo": ".+/.+"}
_HOSTS: Final = {"codeberg.org": "forgejo", "gitea.com": "forgejo", "salsa.debian.org": "gitlab"}
_FIRST_LABELS: Final = {"github": "github", "gitlab": "gitlab", "forgejo": "forgejo", "gitea": "forgejo"}
_NOT_PUBLIC: Final = (".local", ".localhost", ".internal", ".lan", ".home.arpa", ".test", ".example", ".invalid")


class Address(NamedTuple):
    """The page of a repository, and by which table its files are found. `forge` is "" where that is not known."""

    page: str
    forge: str


class Revision(NamedTuple):
    kind: str  # "tag" or "commit"
    ref: str


def find_address(environment: Mapping[str, str], origin: str) -> Address | None:
    """What the environment says, or else what `origin` is, if that is a public place. An empty setting means none."""
    named_forge = environment.get(FORGE_VARIABLE, "")
    if named_forge and named_forge not in FORGES:
        raise ValueError(f"{FORGE_VARIABLE} is {named_forge!r}. Choose one of: {', '.join(FORGES)}.")
    setting = environment.get(URL_VARIABLE)
    if setting is None:
        return read_address(origin, named_forge, must_be_public=True)
    address = read_address(setting, named_forge, must_be_public=False)
    if setting.strip() and address is None:
        raise ValueError(
            f"{URL_VARIABLE} is not the address of a repository. Write it as https://HOST/OWNER/REPOSITORY, "
            "or leave it empty for a package without links into the repository."
        )
    return address


def read_address(text: str, named_forge: str, *, must_be_public: bool) -> Address | None:
    """`https://host/owner/repo.git` and the two forms that ssh has. A password in it is left out."""
    short = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)/?(.+)", text.strip())
    try:
        parts = urlsplit(f"ssh://{short[1]}/{short[2]}" if short else text.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    path = parts.path.strip("/").removesuffix(".git")
    forge = named_forge or _HOSTS.get(host) or _FIRST_LABELS.get(host.partition(".")[0], "")
    if parts.scheme not in {"http", "https", "ssh"} or not re.fullmatch(r"[\w.~+-]+(/[\w.~+-]+)*", path, re.ASCII):
        return None
    if (must_be_public and not _is_public(host)) or (forge and not re.fullmatch(_REPOSITORIES[forge], path)):
        return None
    if parts.scheme != "ssh":
        where = f"[{host}]" if ":" in host else host
        return Address(f"{parts.scheme}://{where}{f':{port}' if port else ''}/{path}", forge)
    return Address(f"https://{host}/{path}", forge) if forge else None  # a server with ssh alone has no page to link to


def _is_public(host: str) -> bool:
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_NOT_PUBLIC)


# --- what git knows ------------------------------------------------------------------------------------------------


def ask_git(root: Path, *words: str) -> str:
    """Its answer, or "" where git is missing, the directory is no repository, or the question has no answer."""
    environment = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
    try:
        asked = subprocess.run(
            ["git", *words], cwd=root, env=environment, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def is_repository(root: Path) -> bool:
    """Whether it is a repository of its own, and not a directory in somebody else's."""
    top = ask_git(root, "rev-parse", "--show-toplevel")
    return bool(top) and Path(top).resolve() == root.resolve()


def find_revision(root: Path, version: str) -> Revision:
    """The tag of the release if the checkout is at it, else the commit. Outside git it is a release, of that tag."""
    if is_repository(root) and (commit := ask_git(root, "rev-parse", "HEAD")):
        tags = ask_git(root, "tag", "--points-at", "HEAD").splitlines()
        return next(
            (Revision("tag", tag) for tag in (f"v{version}", version) if tag in tags), Revision("commit", commit)
        )
    return Revision("tag", f"v{version}")


# --- the page ------------------------------------------------------------------------------------------------------


class Links(NamedTuple):
    """Makes absolute addresses of the paths of files. All of them are "" where the forge is not known."""

    root: Path
    address: Address | None
    revision: Revision

    def page_of(self, path: str) -> str:
        forge = FORGES.get(self.address.forge) if self.address else None
        return self._fill(forge.directory if (self.root / path).is_dir() else forge.file, path) if forge else ""

    def raw(self, path: str) -> str:
        forge = FORGES.get(self.address.forge) if self.address else None
        return self._fill(forge.raw, path) if forge else ""

    def _fill(self, form: str, path: str) -> str:
        assert self.address
        filled = form.format(kind=self.revision.kind, ref=quote(self.revision.ref), path=quote(path))
        return f"{self.address.page}/{filled}"


def make_urls(links: Links) -> dict[str, str]:
    if not links.address:
        return {}
    urls = {"Homepage": links.address.page, "Source": links.address.page}
    if forge := FORGES.get(links.address.forge):
        urls |= {
            "Documentation": links.page_of("docs/guide.md"),
            "Changelog": links.page_of("CHANGELOG.md"),
            "Issues": f"{links.address.page}/{forge.issues}",
            "Security": links.page_of("SECURITY.md"),
        }
    return urls


_PARTS: Final = re.compile(
    r"""
      ^(?P<fence>```+|~~~+)[^\n]*\n .*? ^(?P=fence)[^\n]*$           # code is left as it is
    | (?P<ticks>`+)(?!`) (?:(?!\n\n).)*? (?<!`)(?P=ticks)(?!`)
    | (?P<tag> <img\b[^>]*> )
    | !\[(?P<alt>[^\]]*)\] \((?P<picture>[^()\s]+)(?:\s+"[^"]*")?\)
    | \[(?P<text> (?: `[^`]*` | !\[[^\]]*\]\([^)]*\) | [^\[\]`] )* )\] \((?P<target>[^()\s]+)(?:\s+"[^"]*")?\)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_STAYS: Final = re.compile(r"#|//|[a-z][a-z0-9+.-]*:", re.IGNORECASE)
"""How a target begins that means the same on every page: an anchor of the text itself, or a whole address."""


def rewrite_readme(text: str, links: Links) -> str:
    """Links and pictures that lead into the repository become absolute; without an address their words remain."""

    def rewrite(part: re.Match[str]) -> str:
        if part["tag"]:
            return _rewrite_tag(part["tag"], links)
        if part["picture"]:
            address = _make_absolute(part["picture"], links.raw)
            return f"![{part['alt']}]({address})" if address else part["alt"]
        if part["target"]:
            words, address = rewrite_readme(part["text"], links), _make_absolute(part["target"], links.page_of)
            return f"[{words}]({address})" if address else words
        return part[0]

    return _PARTS.sub(rewrite, text)


def _rewrite_tag(tag: str, links: Links) -> str:
    source = re.search(r'\bsrc="([^"]*)"', tag)
    if source is None:
        return tag
    if address := _make_absolute(source[1], links.raw):
        return tag[: source.start(1)] + address + tag[source.end(1) :]
    alt = re.search(r'\balt="([^"]*)"', tag)
    return f"<em>{alt[1]}</em><br>" if alt else ""


def _make_absolute(target: str, find: Callable[[str], str]) -> str:
    if _STAYS.match(target):
        return target
    path, mark, anchor = target.partition("#")
    file = posixpath.normpath(path)
    address = "" if file.startswith("..") else find(file)
    return f"{address}{mark}{anchor}" if address else ""


class PackagePage(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        if "readme" in metadata:  # from the PKG-INFO of an sdist: its wheel says the same, wherever it is built
            metadata.setdefault("urls", {})
            return
        root = Path(self.root)
        origin = ask_git(root, "remote", "get-url", "origin") if is_repository(root) else ""
        links = Links(root, find_address(os.environ, origin), find_revision(root, metadata["version"]))
        text = rewrite_readme((root / "README.md").read_text(encoding="utf-8"), links)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = make_urls(links)
