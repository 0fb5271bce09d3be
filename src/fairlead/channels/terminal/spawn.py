"""`fairlead spawn`: give a task to a session of its own, and go away or wait for the answer."""

from collections.abc import Callable

from fairlead.api import Client, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.local_time import local_time
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.project_choice import choose_project
from fairlead.channels.terminal.working_directory import WorkingDirectory
from fairlead.core.replies import Spawned
from fairlead.core.requests import Spawn
from fairlead.render.errors import error_sentence
from fairlead.render.replies import reply_text

Tell = Callable[[str], None]


async def run_spawn(client: Client, options: ChatOptions, *, waits: bool, tell: Tell, complain: Tell) -> int:
    """The message of `options` is the task. Without `waits`, the next chat of the same user shows the answer."""
    chosen = await choose_project(client, options, _is_harmless)
    project = "" if chosen is None else chosen.reference
    request = Spawn(
        asked_by="", task=options.message, project=project, agent=options.tool or "", worktree=options.worktree
    )
    reply = await client.command(request, options.user)
    assert isinstance(reply, Spawned)
    if not waits:
        tell(reply_text(reply, options.lang, local_time))
        return 0
    complain(reply_text(reply, options.lang, local_time))
    return await _follow(client, options, reply.job_id, tell, complain)


async def _is_harmless(here: WorkingDirectory) -> bool:
    return not here.caution


async def _follow(client: Client, options: ChatOptions, job_id: str, tell: Tell, complain: Tell) -> int:
    """A question is left to the chats of this user, and to the other channels."""
    async for event in client.events(job_id):
        if isinstance(event, w.Done | w.Failed):
            job = event.job
            if job.answer:
                tell(job.answer.rstrip("\n"))
            if isinstance(event, w.Failed):
                complain(error_sentence(error_in(event.error), options.lang))
            await client.acknowledge(job_id)
            return 0 if job.state == "success" else 1
    raise AssertionError("a stream of events ends with the end of its job")
