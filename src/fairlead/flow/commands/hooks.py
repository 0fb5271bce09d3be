"""Commands about hooks: add one, list them, remove one, try one out. Events themselves come another way."""

import asyncio
from typing import Final, cast, get_args

from fairlead.core import requests as ask
from fairlead.core.decide.enabled_agents import find_agent_problem
from fairlead.core.decide.hooks import AddHook, RemoveHook
from fairlead.core.decide.projects import project_to_work_in
from fairlead.core.hooks import DEFAULT_TEMPLATE, HOOK_SPACE, Event, HookFields, HookForm, HookSession, check_hook
from fairlead.core.keys import channel_key
from fairlead.core.replies import HookCatalogue, HookMade, HookRow, HookTested, HookWasRemoved
from fairlead.core.requests import Caller
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable

_TEST_EVENT: Final = "test"


def hook_handlers(parts: CommandParts) -> HandlerTable:
    commands = HookCommands(parts)
    return {
        ask.HookAdd: commands.add,
        ask.HookList: commands.list,
        ask.HookRemove: commands.remove,
        ask.HookTest: commands.test,
    }


class HookCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts
        self._adding = asyncio.Lock()

    async def add(self, request: ask.HookAdd, caller: Caller) -> HookMade:
        """The secret is durable before the hook is: a hook that is known can be used. One at a time, so that two of
        the same name do not leave the secret of the one that was refused."""
        hook = self._make_hook(request, caller)
        async with self._adding:
            problem = check_hook(hook)
            if problem is not None:
                raise problem
            if hook.name in self._parts.state.hooks:
                raise error(Code.E_HOOK_EXISTS, f"There is a hook {hook.name} already.")
            secret = await self._parts.hook_secrets.make(hook.name)
            await self._parts.ledger.record_durably(AddHook(hook))
        return HookMade(_row(hook), secret)

    def _make_hook(self, request: ask.HookAdd, caller: Caller) -> HookFields:
        parts = self._parts
        if request.form not in get_args(HookForm) or request.session not in get_args(HookSession):
            raise error(Code.E_INVALID_ARGS, "`form` is github or signed, and `session` is own or here.")
        session = parts.session_here(caller)
        is_own = request.session == "own"
        if not is_own and request.project:
            raise error(
                Code.E_INVALID_ARGS,
                "The session of this conversation has its own project.",
                next_step="Leave out the project, or use session own.",
            )
        project = project_to_work_in(
            parts.state, session=session, person=caller.person, asked_for=request.project or None
        )
        if isinstance(project, FairleadError):
            raise project
        problem = find_agent_problem(parts.state, request.tool, project) if request.tool else None
        if problem is not None:
            raise problem
        own_key = channel_key(
            agent_id=parts.ledger.limits.agent_id, space_id=HOOK_SPACE, channel_id=request.name or "-"
        )
        here = session.session_key if session is not None else caller.session_key.text
        return HookFields(
            name=request.name,
            form=cast("HookForm", request.form),
            person=caller.person,
            conversation=caller.conversation,
            session_key=own_key.text if is_own else here,
            session=cast("HookSession", request.session),
            project=project.name if is_own else "",
            runtime=request.tool,
            template=request.template.strip() or DEFAULT_TEMPLATE,
            events=request.events,
            conditions=request.where,
            made_in=here,
        )

    async def list(self, _request: ask.HookList, _caller: Caller) -> HookCatalogue:
        return HookCatalogue(tuple(map(_row, self._parts.state.hooks.values())))

    async def remove(self, request: ask.HookRemove, caller: Caller) -> HookWasRemoved:
        """From the moment that the fact is durable no event is taken; its secret goes after that."""
        async with self._adding:
            await self._parts.ledger.record_durably(RemoveHook(request.name, caller.person))
            await self._parts.hook_secrets.forget(request.name)
        return HookWasRemoved(request.name)

    async def test(self, request: ask.HookTest, _caller: Caller) -> HookTested:
        """The owner sees where the hook's answers go and what its agent is told; conditions do not count here."""
        hook = self._parts.state.hooks.get(request.name)
        if hook is None:
            raise error(Code.E_HOOK_NOT_FOUND, f"There is no hook {request.name[:60]!r}.")
        event = Event(key=f"test-{request.asked_by}", name=_TEST_EVENT, body={"event": _TEST_EVENT, "hook": hook.name})
        receipt = await self._parts.hook_deliveries.submit(hook, event)
        return HookTested(hook.name, receipt.job_id)


def _row(hook: HookFields) -> HookRow:
    return HookRow(
        name=hook.name,
        path=f"/v1/hooks/{hook.name}",
        form=hook.form,
        session_key=hook.session_key,
        told=hook.conversation,
        project=hook.project,
        tool=hook.runtime,
        template=hook.template,
        events=hook.events,
        where=hook.conditions,
    )
