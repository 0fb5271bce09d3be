"""What an agent sends and asks by itself, as a person in the terminal sees and answers it."""

from pathlib import Path

import pytest

from tests.channels.terminal.test_chat import CTRL_D, Terminal
from tests.support.configured_agents import ScriptedAgent

pytestmark = pytest.mark.req("D4")


def chat(home: Path, agent: ScriptedAgent) -> Terminal:
    return Terminal(home, "chat", "--tool", "acp", AGENT_COMMAND=f'["{agent.program}"]')


def test_a_message_is_shown_in_the_turn_and_a_question_is_asked_when_it_is_over(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "acp", bare=False)
    terminal = chat(tmp_path, agent)
    try:
        terminal.wait_for("Fairlead")
        terminal.say('own: send_message {"text": "half done"}')
        terminal.wait_for("sent by the agent")
        terminal.wait_for("half done")
        terminal.wait_for("Own tool: Sent.")
        terminal.say('own: ask_user {"question": "Which colour?", "choices": ["red", "blue"]}')
        terminal.wait_for("END YOUR TURN")
        terminal.wait_for("Which colour?")
        terminal.type("2")
        terminal.wait_for("Answer: blue")
        terminal.wait_for("› ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        assert agent.prompts()[-1].endswith("Answer: blue")
    finally:
        terminal.close()
