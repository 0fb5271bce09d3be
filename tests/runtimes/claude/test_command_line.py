"""Claude's command line: every flag comes from its setting."""

import pytest

from fairlead.core.engine import ForkOrigin
from fairlead.core.ids import ResumeKey
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.claude.command_line import ClaudeSettings, SessionChoice, conversation, one_shot
from fairlead.runtimes.claude.runtime import ClaudeRuntime
from fairlead.runtimes.tool_policy import ToolPolicy

pytestmark = pytest.mark.anyio


@pytest.mark.req("E2", "A10", "E6")
def test_every_flag_comes_from_its_setting():
    settings = ClaudeSettings(
        model="opus",
        fallback_model="sonnet",
        max_budget_usd=5,
        append_system_prompt="Be brief.",
        dangerously_skip_permissions=True,
        strict_mcp_config=True,
        debug_file="/tmp/debug.log",
    )
    argv = one_shot(
        settings,
        ToolPolicy(("Bash", "Read")),
        SessionChoice("k", is_new=True),
        "-p",
        model="opus",
        add_dirs=("/a", "/b"),
    )
    assert argv == (
        "claude",
        "-p",
        *("--verbose", "--output-format", "stream-json", "--include-partial-messages"),
        *("--model", "opus"),
        "--dangerously-skip-permissions",
        "--strict-mcp-config",
        *("--fallback-model", "sonnet"),
        *("--max-budget-usd", "5"),
        *("--append-system-prompt", "Be brief.", "--system-prompt-snapshot", "off"),
        *("--debug-file", "/tmp/debug.log"),
        *("--add-dir", "/a", "--add-dir", "/b"),
        *("--tools", "Bash,Read"),
        *("--session-id", "k"),
        "--",
        "-p",
    )


@pytest.mark.req("E2")
def test_without_settings_there_are_no_flags_and_a_resumed_talk_never_gets_a_session_id():
    argv = one_shot(ClaudeSettings(output_format="text"), ToolPolicy(()), SessionChoice("k", is_new=False), "hi")
    assert argv == ("claude", "-p", "--output-format", "text", "--tools", "", "-r", "k", "--", "hi")


@pytest.mark.req("E7")
def test_a_conversation_can_ask():
    argv = conversation(ClaudeSettings(), ToolPolicy(("Read",)))
    assert argv[argv.index("--permission-prompt-tool") + 1] == "stdio"
    assert argv[argv.index("--tools") + 1] == "Read,AskUserQuestion,EnterPlanMode,ExitPlanMode"
    assert "--replay-user-messages" in argv


@pytest.mark.req("E6")
def test_a_system_prompt_over_4000_characters_is_refused_at_the_start():
    with pytest.raises(FairleadError) as refusal:
        ClaudeRuntime(ClaudeSettings(append_system_prompt="x" * 4001), {}, lambda _: None)  # type: ignore[arg-type]
    assert refusal.value.code is Code.E_CONFIG
    assert "4001" in refusal.value.message


@pytest.mark.req("F7")
def test_a_fork_has_an_id_of_its_own_and_may_end_at_a_point():
    assert SessionChoice("new", is_new=True, fork=ForkOrigin(ResumeKey("old"))).flags() == (
        *("--session-id", "new", "--fork-session", "-r", "old"),
    )
    assert SessionChoice("new", is_new=True, fork=ForkOrigin(ResumeKey("old"), "p")).flags() == (
        *("--session-id", "new", "--fork-session", "--resume-session-at", "p", "-r", "old"),
    )
    assert SessionChoice("new", is_new=False, fork=ForkOrigin(ResumeKey("old"))).flags() == ("-r", "new")
