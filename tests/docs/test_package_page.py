"""The package page: its links lead to the place that the package was built from, or there are none."""

import email
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hatch_build import FORGES, Address, Links, Revision, find_address, read_address, rewrite_readme
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
NEEDED = (
    "*.md",
    "*.toml",
    "hatch_build.py",
    "LICENSE",
    ".env.example",
    "docs/*.md",
    "docs/pictures/*.svg",
    "docs/pictures/*.png",
    "packaging/*",
)
SEAL = ("-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")


# --- building ------------------------------------------------------------------------------------------------------


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(["git", *SEAL, *words], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(directory: Path, origin: str = "") -> Path:
    """The files that matter here, as they are now, in a repository of their own."""
    for path in [ROOT / "src/fairlead/__init__.py", *(path for pattern in NEEDED for path in ROOT.glob(pattern))]:
        copy = directory / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    git(directory, "init", "--quiet")
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "all of it")
    if origin:
        git(directory, "remote", "add", "origin", origin)
    return directory


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    directory = tmp_path / "fairlead"
    directory.mkdir()
    return make_repository(directory)


def run_build(directory: Path, kind: str, **settings: str) -> subprocess.CompletedProcess[str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLEAD_PROJECT_")}
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", directory / "dist"],
        cwd=directory,
        env=others | settings,
        capture_output=True,
        text=True,
        check=False,
    )


def build_wheel(directory: Path, **settings: str) -> Message:
    """What the METADATA of a wheel says that was built here."""
    done = run_build(directory, "wheel", **settings)
    assert done.returncode == 0, done.stderr
    (wheel,) = (directory / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        return email.message_from_string(archive.read(name).decode())


def unpack_sdist(directory: Path, target: Path) -> Path:
    (sdist,) = (directory / "dist").glob("*.tar.gz")
    shutil.unpack_archive(sdist, target)  # tarfile in the Python of Debian 12 has no filters yet
    return target / sdist.name.removesuffix(".tar.gz")


def urls(metadata: Message) -> dict[str, str]:
    return dict(line.split(", ") for line in metadata.get_all("Project-URL", []))


class Page(HTMLParser):
    """What a page links to, what it shows, and its words."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[str] = []
        self.text = ""
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if (tag, name) == ("a", "href")]
        self.pictures += [value or "" for name, value in attrs if (tag, name) == ("img", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(metadata: Message) -> Page:
    return Page(str(metadata.get_payload()))


def is_dead(link: str) -> bool:
    return not re.match(r"https://\w|#\w", link)


# --- a package that was built where its address is known -----------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "page", "files", "raw", "issues"),
    [
        (
            "https://me:sesame@github.com/owner/fairlead.git",
            "https://github.com/owner/fairlead",
            "blob",
            "raw",
            "issues",
        ),
        (
            "git@gitlab.com:group/part/fairlead.git",
            "https://gitlab.com/group/part/fairlead",
            "-/blob",
            "-/raw",
            "-/issues",
        ),
        (
            "ssh://git@codeberg.org:22/o/fairlead",
            "https://codeberg.org/o/fairlead",
            "src/commit",
            "raw/commit",
            "issues",
        ),
    ],
)
def test_the_page_links_to_the_repository_that_it_was_built_from(
    repository: Path, *, origin: str, page: str, files: str, raw: str, issues: str
):
    git(repository, "remote", "add", "origin", origin)
    commit = git(repository, "rev-parse", "HEAD")
    metadata = build_wheel(repository)
    assert urls(metadata) == {
        "Homepage": page,
        "Source": page,
        "Documentation": f"{page}/{files}/{commit}/docs/guide.md",
        "Changelog": f"{page}/{files}/{commit}/CHANGELOG.md",
        "Issues": f"{page}/{issues}",
        "Security": f"{page}/{files}/{commit}/SECURITY.md",
    }
    built, written = page_of(metadata), Page(README)
    assert [link for link in [*built.links, *built.pictures] if is_dead(link)] == []
    assert built.pictures == [f"{page}/{raw}/{commit}/{path}" for path in written.pictures]
    assert built.links == [f"{page}/{files}/{commit}/{link}" if is_dead(link) else link for link in written.links]
    assert built.text == written.text
    assert "sesame" not in metadata.as_string()


def test_a_release_links_to_its_tag(repository: Path):
    git(repository, "remote", "add", "origin", "git@github.com:owner/fairlead.git")
    git(repository, "tag", "--annotate", "--message", "the release", "v0.1.0")
    git(repository, "tag", "another")
    metadata = build_wheel(repository)
    assert metadata["Version"] == "0.1.0"
    assert urls(metadata)["Changelog"] == "https://github.com/owner/fairlead/blob/v0.1.0/CHANGELOG.md"


def test_a_forge_that_is_not_known_is_linked_to_as_a_whole(repository: Path):
    git(repository, "remote", "add", "origin", "https://code.somewhere.org/fairlead.git")
    metadata = build_wheel(repository)
    assert urls(metadata) == {
        "Homepage": "https://code.somewhere.org/fairlead",
        "Source": "https://code.somewhere.org/fairlead",
    }
    assert [link for link in page_of(metadata).links if is_dead(link)] == []


# --- and where it is not -------------------------------------------------------------------------------------------


def test_without_an_address_the_page_has_words_where_links_were(repository: Path):
    git(repository, "remote", "add", "origin", str(ROOT))
    metadata = build_wheel(repository)
    built, written = page_of(metadata), Page(README)
    assert urls(metadata) == {}
    assert built.links == [link for link in written.links if not is_dead(link)]
    assert built.links
    assert built.pictures == []
    alternatives = re.findall(r' alt="([^"]+)"', README)
    for text in alternatives:
        assert built.text.count(text) == 1
        built.text = built.text.replace(text, "")
    assert built.text == written.text


def test_the_address_of_another_repository_around_this_one_is_not_taken(tmp_path: Path, repository: Path):
    shutil.rmtree(repository / ".git")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "remote", "add", "origin", "https://github.com/somebody/else")
    assert urls(build_wheel(repository)) == {}


# --- what the person who builds it says ----------------------------------------------------------------------------


def test_the_setting_wins_and_an_archive_without_git_is_the_release(repository: Path):
    shutil.rmtree(repository / ".git")
    metadata = build_wheel(
        repository,
        FAIRLEAD_PROJECT_URL="https://code.somewhere.org/owner/fairlead/",
        FAIRLEAD_PROJECT_FORGE="forgejo",
    )
    assert urls(metadata)["Security"] == "https://code.somewhere.org/owner/fairlead/src/tag/v0.1.0/SECURITY.md"


def test_an_empty_setting_builds_a_page_without_links(repository: Path):
    git(repository, "remote", "add", "origin", "https://github.com/owner/fairlead")
    assert urls(build_wheel(repository, FAIRLEAD_PROJECT_URL="")) == {}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"FAIRLEAD_PROJECT_URL": "github"}, "Write it as https://HOST/OWNER/REPOSITORY"),
        ({"FAIRLEAD_PROJECT_FORGE": "sourceforge"}, "Choose one of: github, gitlab, forgejo."),
    ],
)
def test_a_setting_that_cannot_be_meant_stops_the_build(repository: Path, settings: dict[str, str], sentence: str):
    done = run_build(repository, "wheel", **settings)
    assert done.returncode != 0
    assert sentence in done.stderr


# --- sdist, then wheel ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["git@github.com:owner/fairlead.git", "/srv/fairlead"])
def test_a_wheel_from_the_sdist_says_what_the_sdist_says_wherever_it_is_built(
    tmp_path: Path, repository: Path, origin: str
):
    git(repository, "remote", "add", "origin", origin)
    expected = build_wheel(repository)
    assert run_build(repository, "sdist").returncode == 0
    elsewhere = unpack_sdist(repository, tmp_path / "packagers")
    assert email.message_from_string((elsewhere / "PKG-INFO").read_text()).items() == expected.items()
    git(elsewhere, "init", "--quiet")
    git(elsewhere, "remote", "add", "origin", "https://gitlab.com/packagers/fairlead")
    assert build_wheel(elsewhere).as_string() == expected.as_string()


# --- the parts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://github.com/o/r", Address("https://github.com/o/r", "github")),
        ("https://token@github.com/o/r.git/", Address("https://github.com/o/r", "github")),
        ("org-1@github.com:o/r.git", Address("https://github.com/o/r", "github")),
        ("github.com:o/r.git", Address("https://github.com/o/r", "github")),
        ("git@github.com:/o/r.git", Address("https://github.com/o/r", "github")),
        ("https://gitlab.gnome.org/a/b/c.git", Address("https://gitlab.gnome.org/a/b/c", "gitlab")),
        ("https://codeberg.org/o/r.git?x=1#y", Address("https://codeberg.org/o/r", "forgejo")),
        ("https://code.somewhere.org:8443/r", Address("https://code.somewhere.org:8443/r", "")),
        ("http://8.8.8.8/o/r", Address("http://8.8.8.8/o/r", "")),
        ("https://github.com/o", None),
        ("https://github.com/o/r/tree/main", None),
        ("me@server.somewhere.org:git/r.git", None),
        ("git@work:o/r.git", None),
        ("ssh://git@localhost/o/r", None),
        ("http://127.0.0.1:3000/o/r.git", None),
        ("http://[::1]:3000/o/r.git", None),
        ("http://192.168.1.4/o/r.git", None),
        ("https://gitlab.local/o/r.git", None),
        ("https://git:port/o/r", None),
        ("https://github.com/o/a b", None),
        ("file:///srv/r.git", None),
        ("/srv/r.git", None),
        ("../r", None),
        (r"C:\r", None),
        ("", None),
    ],
)
def test_an_origin_is_an_address_if_a_browser_can_open_it_from_anywhere(origin: str, address: Address | None):
    assert find_address({}, origin) == address


def test_a_person_may_name_a_place_that_only_they_can_reach():
    named = {"FAIRLEAD_PROJECT_URL": "http://git/o/r", "FAIRLEAD_PROJECT_FORGE": "gitlab"}
    assert find_address(named, "https://github.com/o/r") == Address("http://git/o/r", "gitlab")


def test_code_and_whole_addresses_are_left_as_they_are():
    links = Links(ROOT, read_address("https://github.com/o/r", "", must_be_public=True), Revision("tag", "v1"))
    same = "`[a](b)` ``[`a`](b)`` [a](https://b) [a](#b) [a](mailto:b) [a] (b)\n"
    same += "\n```md\n[a](b)\n```\n\n~~~\n![a](b)\n~~~\n"
    assert rewrite_readme(same, links) == same
    assert rewrite_readme(same, links._replace(address=None)) == same


def test_every_form_of_a_link_is_rewritten():
    links = Links(ROOT, Address("https://github.com/o/r", "github"), Revision("tag", "v1"))
    page = "https://github.com/o/r"
    forms = {
        "[`a` b\nc](docs/guide.md#x)": (f"[`a` b\nc]({page}/blob/v1/docs/guide.md#x)", "`a` b\nc"),
        "[a](./docs)": (f"[a]({page}/tree/v1/docs)", "a"),
        '[a](b%c "title")': (f"[a]({page}/blob/v1/b%25c)", "a"),
        "[a](../b)": ("a", "a"),
        "![a](b.png)": (f"![a]({page}/raw/v1/b.png)", "a"),
        "[![a](b.png)](c.md)": (f"[![a]({page}/raw/v1/b.png)]({page}/blob/v1/c.md)", "a"),
        '<img src="b.svg" alt="a">': (f'<img src="{page}/raw/v1/b.svg" alt="a">', "<em>a</em><br>"),
        '<img alt="a">': ('<img alt="a">', '<img alt="a">'),
    }
    assert {text: rewrite_readme(text, links) for text in forms} == {text: pair[0] for text, pair in forms.items()}
    nowhere = links._replace(address=None)
    assert {text: rewrite_readme(text, nowhere) for text in forms} == {text: pair[1] for text, pair in forms.items()}


@pytest.mark.parametrize("forge", FORGES)
def test_the_readme_has_no_form_of_a_link_that_is_not_known_here(forge: str):
    for address in (Address("https://somewhere.org/o/r", forge), None):
        page = Page(rewrite_readme(README, Links(ROOT, address, Revision("tag", "v1"))))
        assert [link for link in [*page.links, *page.pictures] if is_dead(link)] == []
