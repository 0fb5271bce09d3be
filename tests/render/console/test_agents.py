"""The page *Agents*: what their programs said, and what their processes hold."""

import pytest

from fairlead.core.agent_views import AgentsView, AgentView
from fairlead.core.replies import AgentCheckRow
from fairlead.render.console.agents import ProcessLine, agents_page, spell_bytes

pytestmark = pytest.mark.req("G9")

NOW = "2026-11-18T07:00:00.000Z"


def agent(**check: object) -> AgentView:
    row = AgentCheckRow(**{"name": "claude", "ok": True, **check})  # pyright: ignore[reportArgumentType]
    return AgentView(name="claude", projects=("shop",), can=("permissions", "models"), running=2, check=row)


@pytest.mark.parametrize(
    ("check", "words"),
    [({}, ">ok<"), ({"needs_login": True}, ">needs a login<"), ({"ok": False, "needs_login": True}, ">cannot run<")],
)
def test_what_the_check_found_is_said_in_a_word(check: dict[str, object], words: str):
    page = agents_page(AgentsView((agent(**check),), NOW), (), 1, "en", NOW)
    assert words in page


def test_an_agent_is_shown_with_version_notes_projects_and_abilities():
    known = agent(program="/usr/bin/claude", version="2.1.9", notes=("logged in as <b>x</b>",))
    page = agents_page(AgentsView((known,), NOW), (), 1, "en", NOW)
    expected = ("/usr/bin/claude 2.1.9", "Projects: shop", "asks for permission · models", "2 running")
    assert [word for word in expected if word not in page] == []
    assert "<b>" not in page


def test_a_process_has_its_memory_and_a_button_where_its_session_is_known():
    own = ProcessLine(pid=7, command="claude <x>", resident_bytes=300 << 20, agent="claude", session_id="s", title="T")
    strange = ProcessLine(pid=8, command="node", agent="")
    page = agents_page(AgentsView(), (own, strange), 50 << 20, "en", NOW)
    assert "Agents hold 300 MiB of memory, Fairlead itself 50 MiB." in page
    assert page.count('action="/console/agents/stop"') == 1
    assert "<x>" not in page
    assert "? · ?" in page


def test_an_unknown_size_is_not_zero():
    assert (spell_bytes(None), spell_bytes(0)) == ("?", "0 MiB")
