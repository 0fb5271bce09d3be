"""What npm and pip write about what they installed, as they wrote it here."""

import json

import pytest

from fairlead.runtimes.install.package_reports import (
    LockedPackage,
    PipReport,
    read_console_scripts,
    read_engine_warning,
    read_npm_lock,
    read_pip_report,
    read_pip_versions,
)

pytestmark = pytest.mark.req("B4")

ENGINE_WARNING = """npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: '@qwen-code/qwen-code@0.23.0',
npm warn EBADENGINE   required: { node: '>=22.0.0' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }
npm warn EBADENGINE }
"""


def lock_with(entry: dict[str, object]) -> bytes:
    return json.dumps({"lockfileVersion": 3, "packages": {"": {}, "node_modules/@a/agent": entry}}).encode()


def test_a_lock_file_says_version_digest_and_programs():
    entry = {"version": "1.2.3", "integrity": "sha512-abc", "bin": {"agent": "x.js", "agent-acp": "y.js"}, "dev": True}
    assert read_npm_lock(lock_with(entry), "@a/agent") == LockedPackage("1.2.3", "sha512-abc", ("agent", "agent-acp"))
    single = {"version": "1.2.3", "bin": "x.js"}
    assert read_npm_lock(lock_with(single), "@a/agent") == LockedPackage("1.2.3", "", ("agent",))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", lock_with({}), lock_with({"version": 3})])
def test_a_lock_file_without_the_package_is_an_error(data: bytes):
    with pytest.raises(ValueError):
        read_npm_lock(data, "@a/agent")


def test_npm_s_warning_about_an_old_node_is_noticed():
    wanted = "@qwen-code/qwen-code asks for Node >=22.0.0; this is Node v20.20.2"
    assert read_engine_warning(ENGINE_WARNING, "@qwen-code/qwen-code") == wanted
    assert not read_engine_warning(ENGINE_WARNING, "another")
    assert not read_engine_warning("", "@qwen-code/qwen-code")


def item(name: str, version: str, sha256: str) -> dict[str, object]:
    archive = {"hash": f"sha256={sha256}", "hashes": {"sha256": sha256}} if sha256 else {}
    return {"metadata": {"name": name, "version": version}, "download_info": {"url": "x", "archive_info": archive}}


def test_a_report_of_pip_gives_the_lines_that_install_the_same_again():
    data = json.dumps({"install": [item("dep", "2.0", "d2"), item("Hermes_Agent", "0.19.0", "a1")]}).encode()
    assert read_pip_report(data, "hermes-agent[acp]") == PipReport(
        LockedPackage("0.19.0", "sha256:a1"),
        ("dep==2.0 --hash=sha256:d2", "Hermes_Agent==0.19.0 --hash=sha256:a1"),
    )
    without = json.dumps({"install": [item("dep", "2.0", ""), item("hermes-agent", "0.19.0", "a1")]}).encode()
    assert read_pip_report(without, "hermes-agent").pins == ()


def test_a_report_without_the_package_is_an_error():
    with pytest.raises(ValueError, match="does not report"):
        read_pip_report(b'{"install": []}', "hermes-agent")


def test_versions_are_read_off_pip_index():
    said = "kimi-cli (1.53.0)\nAvailable versions: 1.53.0, 1.52.0, 1.51.0\n  INSTALLED: 1.2\n"
    assert read_pip_versions(said) == ("1.53.0", "1.52.0", "1.51.0")
    assert read_pip_versions("") == ()


def test_programs_are_read_off_the_entry_points():
    text = "[console_scripts]\nKimi = kimi.cli:main\nkimi-cli=kimi.cli:main\n\n[other]\nx = y\n"
    assert read_console_scripts(text) == ("Kimi", "kimi-cli")
    assert read_console_scripts("[other]\nx = y\n") == ()
