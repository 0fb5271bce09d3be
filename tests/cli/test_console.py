"""`fairlead console`: a link, a code for a phone, and the logins that links became."""

import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from fairlead.cli.console import _can_open_browser
from tests.cli.harness import Daemon, run

pytestmark = pytest.mark.req("G4")


def log_in(link: str) -> str:
    """As a browser does; the cookie."""
    address = urllib.parse.urlsplit(link)
    own = f"http://{address.netloc}"
    data = address.query.encode()
    request = urllib.request.Request(f"{own}/console/enter", data, {"Origin": own}, method="POST")
    opener = urllib.request.build_opener(NoRedirects)
    with pytest.raises(urllib.error.HTTPError) as answered:
        opener.open(request, timeout=10)
    with answered.value as reply:
        assert reply.code == 303
        return reply.headers["Set-Cookie"]


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def test_a_link_is_printed_and_its_login_is_listed_and_ended(tmp_path: Path):
    with Daemon(tmp_path) as daemon:
        daemon.is_up()
        printed = run(tmp_path, "console", "--print")
        assert printed.returncode == 0, printed.stderr
        link, *_ = printed.stdout.splitlines()
        assert "it logs local in, once, within 120 seconds" in printed.stdout
        assert log_in(link).startswith("fairlead-")
        assert "local (owner)" in run(tmp_path, "console", "logins").stdout
        assert run(tmp_path, "console", "end", "1").stdout == "Ended login 1.\n"
        assert "No browser is logged in" in run(tmp_path, "console", "logins").stdout
        refused = run(tmp_path, "console", "end", "1")
        assert (refused.returncode, "There is no login" in refused.stderr) == (1, True)


def test_a_phone_gets_a_code_for_the_address_by_which_it_reaches_fairlead(tmp_path: Path):
    with Daemon(tmp_path) as daemon:
        daemon.is_up()
        printed = run(tmp_path, "console", "--at", "https://fairlead.example/")
        assert printed.stdout.startswith("https://fairlead.example/console/enter?code=")
        assert "█" in printed.stdout or "▀" in printed.stdout
        for wrong in ("fairlead.example", "javascript:alert(1)", "https://a.example/path"):
            assert "E_INVALID_ARGS" in run(tmp_path, "console", "--at", wrong).stderr
        assert "not on the allow-list" in run(tmp_path, "console", "--as", "stranger").stderr


def test_without_a_daemon_it_says_how_to_start_one(tmp_path: Path):
    refused = run(tmp_path, "console")
    assert (refused.returncode, "fairlead up" in refused.stderr) == (78, True)


def test_a_browser_is_not_opened_on_the_screen_of_another_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert not _can_open_browser({"DISPLAY": ":0", "SSH_CONNECTION": "x"})
    assert not _can_open_browser({})
