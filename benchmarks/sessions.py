"""A state with many idle sessions, each with a little past."""

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide import Command, decide
from fairlead.core.decide.job_ends import Completed, EndJob
from fairlead.core.decide.messages import Submit
from fairlead.core.decide.projects import AddProject, DirectoryFacts
from fairlead.core.decide.scheduling import StartNext
from fairlead.core.fold import apply
from fairlead.core.ids import JobId, MessageId
from fairlead.core.inbound import Inbound
from fairlead.core.keys import thread_key
from fairlead.core.limits import Limits
from fairlead.core.state import State

_NOW = "2026-01-01T00:00:00.000Z"
JOBS_EACH = 3


def state_with(sessions: int) -> State:
    state = State()
    _do(state, AddProject(DirectoryFacts("/srv/api", "/srv/api")))
    for n in range(sessions):
        conversation = ConversationRef("bench", "fairlead", str(n))
        key = thread_key(agent_id="fairlead", space_id="1", thread_id=str(n))
        for m in range(JOBS_EACH):
            _do(
                state,
                Submit(
                    Inbound(
                        conversation=conversation,
                        session_key=key,
                        message_id=MessageId(f"{n}{m}"),
                        person="42",
                        text="look at the failing tests",
                        pre_authorised=True,
                    )
                ),
            )
            job_id = _do(state, StartNext())
            _do(state, EndJob(job_id, Completed("done")))
    return state


def _do(state: State, command: Command) -> JobId:
    decision = decide(state, command, _NOW, Limits())
    for event in decision.events:
        apply(state, state.seq + 1, _NOW, event)
    return decision.job_id
