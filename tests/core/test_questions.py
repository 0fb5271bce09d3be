"""The fields of a question stand once, and reach the journal, the state, every channel and every client."""

import msgspec
import pytest

from fairlead.api.wire import JobInfo, QuestionInfo, question_info
from fairlead.core.events import QuestionAsked
from fairlead.core.questions import QuestionFields
from fairlead.core.read_models import question_view
from fairlead.core.state import OpenQuestion
from fairlead.core.views import JobFields, JobView, QuestionView
from tests.core.harness import CoreHarness, colour_question, permission

pytestmark = pytest.mark.req("A7")


@pytest.mark.parametrize("kind", [QuestionAsked, OpenQuestion, QuestionView, QuestionInfo])
def test_every_holder_of_a_question_has_all_its_fields(kind: type[msgspec.Struct]):
    assert issubclass(kind, QuestionFields)


@pytest.mark.parametrize("kind", [JobView, JobInfo])
def test_every_reader_of_a_job_sees_the_same_fields(kind: type[msgspec.Struct]):
    assert issubclass(kind, JobFields)


@pytest.mark.parametrize("ask", [permission(), colour_question()])
def test_a_question_reaches_the_client_with_every_field_unchanged(ask):
    core = CoreHarness()
    question_id = core.ask(_running(core), ask)
    [asked] = [entry.payload for entry in core.journal if isinstance(entry.payload, QuestionAsked)]
    held = core.state.questions[question_id]
    for holder in (held, question_view(core.state, held), question_info(question_view(core.state, held))):
        assert _fields(holder) == _fields(asked)


def _running(core: CoreHarness) -> str:
    core.say()
    return core.start()


def _fields(holder: QuestionFields) -> dict[str, object]:
    return {name: getattr(holder, name) for name in QuestionFields.__struct_fields__}
