"""Draws docs/pictures/discord.svg: a thread as it stands after a real run of Fairlead and of Claude Code.

Run it as `.venv/bin/python docs/pictures/record_discord.py`; look at the picture before you commit it. Discord and the
model are servers on loopback; the messages are those that Fairlead posted. It leaves nothing behind.
"""  # noqa: INP001 - a script, not a package

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests` and `loopback_discord` are not installed

from draw_discord import draw_thread
from loopback_discord import Conversation, Message
from staged_run import FIRST_PROMPT, SECOND_PROMPT, first_answer, make_project, offer_pytest, second_answer

from tests.agents.model_server import ModelServer
from tests.agents.test_files_through_the_daemon import a_stage_with
from tests.channels.discord.harness import Stage

HERE: Final = Path(__file__).parent
PATIENCE_SEC: Final = 60


async def question_after(conversation: Conversation, said: Message) -> Message:
    return await conversation.wait_for_answer(lambda m: m.components, after=said, timeout=PATIENCE_SEC)


async def play(stage: Stage, server: ModelServer) -> Conversation:
    """One message that is done, and one whose question is open."""
    thread = await stage.start_thread()
    server.script(*first_answer(stage.daemon.project))
    said = stage.owner.say(thread, FIRST_PROMPT)
    question = await question_after(thread, said)
    await stage.owner.click(question, "Allow once").acknowledged()
    await thread.wait_for_answer(lambda m: "tokens" in m.content, after=said, timeout=PATIENCE_SEC)
    await stage.discord.wait_for(lambda: "\N{WHITE HEAVY CHECK MARK}" in said.reactions, what="the mark of success")
    server.script(*second_answer())
    await question_after(thread, stage.owner.say(thread, SECOND_PROMPT))
    await stage.discord.wait_for(
        lambda: thread.channel.name.startswith("\N{RAISED HAND}"), timeout=PATIENCE_SEC, what="the sign in the title"
    )
    return thread


async def record(home: Path) -> str:
    async with ModelServer() as server:
        offer_pytest(home)
        async with a_stage_with("claude", home, server) as stage:
            stage.owner.user.username = "ada"
            make_project(stage.daemon.project)
            thread = await play(stage, server)
            names = {message.author.id: message.author.username for message in thread.messages}
            channel = stage.text_channel.channel.name
            return draw_thread(thread.channel.name, channel, thread.messages, names, time.time())


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fairlead-") as home:
        picture = asyncio.run(record(Path(home)))
    (HERE / "discord.svg").write_text(picture)


if __name__ == "__main__":
    main()
