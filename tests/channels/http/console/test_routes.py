"""Every page, form and file of the console, asked by schemathesis with whatever fits into an address or a form: nothing
that a browser can send is an internal error, and everything comes with the headers that keep it alone."""

import http.client
import re
from collections.abc import Generator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from fairlead.app import Daemon
from fairlead.channels.http.console.routes import ACTIONS, DOWNLOADS, PAGES
from tests.channels.http.test_openapi import DaemonInAThread

_RUN = settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)
_JSON = {"Content-Type": "application/json"}
_KNOWN = (
    "me",
    "local",
    "1",
    "job_20260101_0001",
    "q_1",
    "agent:fairlead:user:local",
    "0",
    "undo",
    "stop",
    "remove",
    "x",
)
_ANYTHING = {"anyOf": [{"enum": list(_KNOWN)}, {"type": "string", "minLength": 1, "maxLength": 300}]}
_QUERY = ("q", "after", "before", "around", "outcome", "subject", "scope", "quote", "what", "by")
_FIELDS = (
    *(
        "verdict",
        "message",
        "choice-0",
        "other-0",
        "key",
        "steer",
        "choice",
        "project",
        "usd",
        "tokens",
        "path",
        "name",
    ),
    *("worktree", "what", "back", "session", "files"),
)


def _describe(path: str, method: str) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _ANYTHING} for name in re.findall(r"\{(\w+)\}", path)
    ]
    described: dict[str, Any] = {"parameters": parameters, "responses": {"default": {"description": "any"}}}
    if method == "get":
        parameters += [{"name": name, "in": "query", "required": False, "schema": _ANYTHING} for name in _QUERY]
    else:
        form = {"type": "object", "properties": dict.fromkeys(_FIELDS, _ANYTHING), "additionalProperties": False}
        described["requestBody"] = {"content": {"application/x-www-form-urlencoded": {"schema": form}}}
    return described


def _document() -> dict[str, Any]:
    """Ending logins comes last: what is asked after that is asked by nobody."""
    paths = {page.path: {"get": _describe(page.path, "get")} for page in (*PAGES, *DOWNLOADS)}
    paths |= {action.path: {"post": _describe(action.path, "post")} for action in ACTIONS}
    assert list(paths)[-1] == "/console/logins/{number}/end"
    return {"openapi": "3.1.0", "info": {"title": "console", "version": "1"}, "paths": paths}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    running = DaemonInAThread(tmp_path_factory.mktemp("home"))
    yield running.start()
    running.stop()


def _log_in(daemon: Daemon) -> str:
    """The cookie."""
    place = urlsplit(daemon.http_url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 0, timeout=20)
    connection.request("POST", "/v1/console/links", "{}", {"Authorization": f"Bearer {daemon.token}", **_JSON})
    code = parse_qs(connection.getresponse().read().decode().partition("?")[2].partition('"')[0])["code"][0]
    headers = {"Origin": daemon.http_url, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/console/enter", urlencode({"code": code}), headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return (response.getheader("Set-Cookie") or "").partition(";")[0]


@pytest.mark.req("G3", "G4")
def test_nothing_that_a_browser_can_send_is_an_internal_error(daemon: Daemon):
    headers = {"Cookie": _log_in(daemon), "Origin": daemon.http_url, "Accept": "text/html"}
    schema = schemathesis.openapi.from_dict(_document())
    operations = [result.ok() for result in schema.get_all_operations()]
    statuses: set[int] = set()
    for operation in operations:

        @_RUN
        @given(operation.as_strategy())
        def holds(case: schemathesis.Case) -> None:
            response = case.call(base_url=daemon.http_url, headers=headers, timeout=20, allow_redirects=False)
            statuses.add(response.status_code)
            assert response.status_code < 500 or b"E_INTERNAL" not in response.content, case.as_curl_command()
            told = {name.lower(): values[0] for name, values in response.headers.items()}
            assert told["x-content-type-options"] == "nosniff", case.as_curl_command()
            if told.get("content-type", "").startswith("text/html"):
                policy = told["content-security-policy"]
                assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy

        holds()
    assert {200, 400, 404} <= statuses
    assert len(operations) == len(PAGES) + len(ACTIONS) + len(DOWNLOADS)
