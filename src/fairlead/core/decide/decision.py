"""What a decision is: the facts to write, and, where the answer is no, why."""

import msgspec

from fairlead.core.events import JournalEvent
from fairlead.core.ids import BindingId, EntryId, JobId, QuestionId
from fairlead.errors import Code, FairleadError, error


class Decision(msgspec.Struct, frozen=True):
    """`events` are written even when there is a refusal: a refused message leaves its mark.

    Whatever the caller goes on with is named in the field of its kind, the others are empty: the job that was made,
    chosen or changed, the question that is asked, the project, the outbox entry, the binding."""

    events: tuple[JournalEvent, ...] = ()
    refusal: FairleadError | None = None
    duplicate: bool = False
    job_id: JobId = JobId("")
    question_id: QuestionId = QuestionId("")
    project: str = ""
    entry_id: EntryId = EntryId("")
    binding_id: BindingId = BindingId("")


NOTHING = Decision()


def refuse(code: Code, message: str = "", *, next_step: str = "") -> Decision:
    return Decision(refusal=error(code, message, next_step=next_step))
