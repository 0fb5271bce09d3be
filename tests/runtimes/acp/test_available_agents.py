"""Which ACP agents are offered, how each is run, and which variables it sees."""

from pathlib import Path

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.runtimes.acp.available_agents import available_agents, default_acp_name
from fairlead.runtimes.acp.known_agents import KNOWN_AGENTS, AcpAgent, known_agent
from fairlead.settings import Settings
from tests.support.settings import make_settings

pytestmark = pytest.mark.req("B4")


def settings_with(**more) -> Settings:
    return make_settings(**more)


@pytest.mark.parametrize(
    ("there", "command"),
    [
        (("claude-code-acp",), ("claude-code-acp",)),
        (("claude-code-acp", "claude-agent-acp"), ("claude-agent-acp",)),
    ],
)
def test_claude_over_acp_is_the_first_of_two_programs(programs, there, command):
    programs(*there)
    assert available_agents(settings_with(), {})["claude-acp"].command == command


def test_versions_are_known_for_the_preferred_program_only(programs):
    programs("claude-code-acp")
    assert available_agents(settings_with(), {})["claude-acp"].good is None
    programs("claude-agent-acp")
    known = known_agent("claude-acp")
    assert known is not None
    assert available_agents(settings_with(), {})["claude-acp"].good == known.good


def test_a_known_agent_is_run_as_the_table_says(programs):
    programs("qwen")
    assert available_agents(settings_with(FAIRLEAD_RUNTIME_ENVIRONMENT="MINE"), {}) == {
        "qwen": AcpAgent(
            name="qwen",
            command=("qwen", "--acp"),
            own_prefixes=("QWEN_", "OPENAI_", "DASHSCOPE_", "BAILIAN_"),
            extra_environment=("MINE",),
            check_environment={"QWEN_USAGE_STATISTICS_ENABLED": "false"},
            login_hint="Run `qwen` once and log in, or set OPENAI_API_KEY and OPENAI_BASE_URL.",
            good=known_agent("qwen").good,
        )
    }


def test_gemini_over_acp_is_the_program_that_the_setting_names(programs, tmp_path: Path):
    own = programs("gemini-of-mine") / "gemini-of-mine"
    assert available_agents(settings_with(GEMINI_COMMAND=str(own)), {})["gemini-acp"].command == (str(own), "--acp")


def test_an_unknown_agent_sees_only_what_its_configuration_names(programs):
    written = ConfiguredAgent(name="mine", command=("/opt/mine", "serve"), env=("MINE_KEY",))
    assert available_agents(settings_with(), {"mine": written})["mine"] == AcpAgent(
        name="mine", command=("/opt/mine", "serve"), extra_environment=("MINE_KEY",)
    )


def test_a_known_program_under_another_name_keeps_its_variables_and_its_login(programs):
    written = ConfiguredAgent(name="second", command=("/opt/bin/opencode", "acp", "--print-logs"))
    second = available_agents(settings_with(), {"second": written})["second"]
    assert (second.own_prefixes, second.login_hint) == (("OPENCODE_",), "Run `opencode auth login`.")


def test_a_setting_wins_over_the_journal_and_both_win_over_path(programs):
    programs("opencode", "goose")
    written = ConfiguredAgent(name="goose", command=("/journal/goose", "acp"))
    also = ConfiguredAgent(name="opencode", command=("/journal/opencode", "acp"))
    settings = settings_with(AGENT_COMMAND=("/setting/goose", "acp"))
    commands = {n: a.command[0] for n, a in available_agents(settings, {"goose": written, "opencode": also}).items()}
    assert commands == {"goose": "/setting/goose", "opencode": "/journal/opencode"}


@pytest.mark.req("B1")
def test_the_default_acp_agent_is_agent_commands_else_claude():
    assert default_acp_name(settings_with()) == "claude-acp"
    assert default_acp_name(settings_with(AGENT_COMMAND=("goose", "acp"))) == "goose"
    assert default_acp_name(settings_with(AGENT_COMMAND=("mine",))) == "acp"


def test_the_table_of_known_agents_holds_together():
    names = [known.name for known in KNOWN_AGENTS]
    programs = [program for known in KNOWN_AGENTS for program in known.programs]
    assert len(set(names)) == len(names)
    assert len(set(programs)) == len(programs)
    assert not {"claude", "codex", "gemini", "echo", "acp"} & set(names)
    assert all(known.login_hint.endswith(".") and known.own_prefixes for known in KNOWN_AGENTS)
    assert not any(known.npm and known.pypi for known in KNOWN_AGENTS)
