"""Commands over HTTP: one handler for every route that the catalogue names, and the choices of arguments."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from fairlead.api.wire import ChoiceList, ChoicesQuery
from fairlead.channels.http.call import Call, request_id
from fairlead.core.command_spec import ApiRoute, CommandCatalogue, CommandSpec, choices_for, field_types, own_id
from fairlead.core.pages import MAX_PAGE
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller
from fairlead.core.type_words import describe_type
from fairlead.errors import Code, FairleadError, error


def command_handler(spec: CommandSpec, route: ApiRoute) -> Callable[[Call], Awaitable[Reply]]:
    async def run_command(call: Call) -> Reply:
        values = _sent_values(call) | {field: _path_value(call, spec, field) for field in route.path_fields}
        caller = call.caller(values.pop("userId", None))
        if route.at_job:
            caller = await _caller_at_job(call, caller, values["job_id"])
        values |= own_id(spec, request_id(call))
        try:
            return await call.service.command(spec.request(**spec.fixed, **values), caller, spec.reply)
        except FairleadError as refused:
            if refused.code is Code.E_NOT_IN_MANAGED_THREAD and call.channel == "http":
                raise _build_no_session(caller) from refused
            raise

    return run_command


def _build_no_session(caller: Caller) -> FairleadError:
    """Over HTTP there are no threads, and a user's session is begun by the first message."""
    return error(
        Code.E_NOT_IN_MANAGED_THREAD,
        f"{caller.conversation.conversation_id!r} has no session yet.",
        next_step="The first message starts one: POST /v1/messages with this `userId`.",
    )


def _sent_values(call: Call) -> dict[str, Any]:
    sent: msgspec.Struct | None = call.body if call.body is not None else call.query
    return {} if sent is None else {name: getattr(sent, name) for name in sent.__struct_fields__}


def _path_value(call: Call, spec: CommandSpec, field: str) -> Any:
    try:
        return msgspec.convert(call.part(field), field_types(spec.request)[field], strict=False)
    except msgspec.ValidationError as fault:
        wanted = describe_type(field_types(spec.request)[field])
        raise error(Code.E_INVALID_ARGS, f"`{field}` in the path must be {wanted}.") from fault


async def _caller_at_job(call: Call, caller: Caller, job_id: str) -> Caller:
    """A job is cancelled where it lives, by every holder of the token."""
    job_id = (await call.service.job(job_id)).job_id
    live = call.service.view.recent_job(job_id)
    session = None if live is None else call.service.view.session(live.session_key)
    if live is None or session is None:
        raise error(Code.E_NOTHING_TO_CANCEL, f"{job_id} has already ended.")
    return msgspec.structs.replace(caller, conversation=live.conversation, session_key=session.key)


def choices_handler(catalogue: CommandCatalogue) -> Callable[[Call], Awaitable[ChoiceList]]:
    async def get_choices(call: Call) -> ChoiceList:
        query: ChoicesQuery = call.query
        spec = catalogue.find(query.command)
        arguments = () if spec is None else spec.arguments
        argument = next((a for a in arguments if a.field == query.argument), None)
        if argument is None:
            raise _build_unknown_argument(catalogue, spec, query)
        caller = call.caller(query.userId)
        look_up = call.service.view.choices
        found = choices_for(argument, query.typed, lambda source, text: look_up(source, text, caller))
        return ChoiceList(tuple(found[:MAX_PAGE]))  # a person types on to see others

    return get_choices


def _build_unknown_argument(
    catalogue: CommandCatalogue, spec: CommandSpec | None, query: ChoicesQuery
) -> FairleadError:
    if spec is None:
        known = ", ".join(each.words for each in catalogue.specs)
        return error(
            Code.E_INVALID_ARGS, f"There is no command {query.command[:60]!r}.", next_step=f"The commands are {known}."
        )
    arguments = ", ".join(argument.field for argument in spec.arguments) or "none"
    return error(
        Code.E_INVALID_ARGS,
        f"The command {spec.words!r} has no argument {query.argument[:60]!r}.",
        next_step=f"Its arguments are: {arguments}.",
    )
