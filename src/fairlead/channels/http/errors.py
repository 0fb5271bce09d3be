"""Errors in HTTP: a status, and one shape of body. Decides nothing; knows no route."""

from typing import Final

import msgspec
from aiohttp import web

from fairlead.api.wire import Fault, FaultBody, JobInfo
from fairlead.errors import CODES, Code, FairleadError, Kind, error
from fairlead.render.errors import error_text

_STATUS_OF_KIND: Final[dict[Kind, int]] = {
    Kind.STRANGER: 403,
    Kind.INPUT: 400,
    Kind.STATE: 409,
    Kind.AGENT: 502,
    Kind.CHANNEL: 502,
    Kind.INTERNAL: 500,
}
_STATUS_OF_CODE: Final[dict[Code, int]] = {
    Code.E_UNAUTHORIZED: 401,
    Code.E_PROJECT_NOT_FOUND: 404,
    Code.E_SESSION_NOT_FOUND: 404,
    Code.E_JOB_NOT_FOUND: 404,
    Code.E_MESSAGE_NOT_FOUND: 404,
    Code.E_AGENT_NOT_FOUND: 404,
    Code.E_RULE_NOT_FOUND: 404,
    Code.E_HOOK_NOT_FOUND: 404,
    Code.E_HOOK_EXISTS: 409,
    Code.E_SCHEDULE_NOT_FOUND: 404,
    Code.E_PROJECT_EXISTS: 409,
    Code.E_MESSAGE_TOO_LARGE: 413,
    Code.E_IDEMPOTENCY_MISMATCH: 422,
    Code.E_QUEUE_FULL: 429,
    Code.E_SPAWN_LIMIT: 429,
    Code.E_TOO_MANY_EVENTS: 429,
    Code.E_SHUTDOWN: 503,
    Code.E_DISK_FULL: 507,
    Code.E_CLI_TIMEOUT: 504,
    Code.E_ACP_TIMEOUT: 504,
    Code.E_RUNTIME_HUNG: 504,
}
_ENCODER: Final = msgspec.json.Encoder()
REFUSED: Final = web.ResponseKey("refused", FairleadError)
"""Under this key a response that refuses has its problem, for who would tell it in another form."""


class HttpRefusal(Exception):  # noqa: N818 - says what happens
    """A refusal whose status HTTP itself dictates, such as 405 or 415."""

    def __init__(self, status: int, problem: FairleadError, headers: dict[str, str] | None = None) -> None:
        super().__init__(str(problem))
        self.status = status
        self.problem = problem
        self.headers = headers or {}


def status_of(code: Code) -> int:
    return _STATUS_OF_CODE.get(code, _STATUS_OF_KIND[CODES[code]])


def fault_of(problem: FairleadError) -> Fault:
    """English, whatever the reader's language: the code is for programs, and they find the words by it."""
    text = error_text(problem)
    return Fault(str(text.code), text.what, text.next_step)


def fault_of_job(code: str, message: str) -> Fault:
    """A job's failure, as its journal entry tells it."""
    return fault_of(error(Code(code), message))


def refusal(problem: FairleadError, *, status: int = 0, job: JobInfo | None = None) -> web.Response:
    response = json_reply(FaultBody(fault_of(problem), job), status=status or status_of(problem.code))
    response[REFUSED] = problem
    return response


def json_reply(value: object, *, status: int = 200) -> web.Response:
    return web.Response(
        body=_ENCODER.encode(value),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )
