"""An error as people read it: what happened and what to do next, from the catalogue or in the error's own words.

The words that an error carries are English, and special to its case. In English they take the place of the catalogue's
sentences; in the other languages the catalogue speaks, and they stand behind it in brackets, translated where they are
sentences of Fairlead's own.
"""

from typing import Final

import msgspec

from fairlead.errors import Code, FairleadError
from fairlead.render.details import translate_detail
from fairlead.render.words import error_next_step, error_what, join_sentences

ENGLISH: Final = "en"


class ErrorText(msgspec.Struct, frozen=True, kw_only=True):
    """`detail` holds words that are special to the case."""

    code: Code
    what: str
    next_step: str
    detail: str = ""

    def line(self) -> str:
        """`CODE: what happened. What to do next. (detail)`"""
        sentences = join_sentences(self.what, self.next_step)
        return f"{self.code}: {sentences} ({self.detail})" if self.detail else f"{self.code}: {sentences}"


def error_text(problem: FairleadError, lang: str = ENGLISH) -> ErrorText:
    what, next_step = error_what(lang, problem.code), error_next_step(lang, problem.code)
    if lang == ENGLISH:
        return ErrorText(code=problem.code, what=problem.message or what, next_step=problem.next_step or next_step)
    message, own_next = (translate_detail(words, lang) for words in (own_message(problem), own_next_step(problem)))
    detail = join_sentences(message, own_next)
    return ErrorText(code=problem.code, what=what, next_step=next_step, detail=detail)


def error_sentence(problem: FairleadError, lang: str = ENGLISH) -> str:
    return error_text(problem, lang).line()


def own_message(problem: FairleadError) -> str:
    """What the error says beyond its code. The API sends whole sentences, so an error that came over HTTP may carry
    the English catalogue's."""
    return "" if problem.message == error_what(ENGLISH, problem.code) else problem.message


def own_next_step(problem: FairleadError) -> str:
    return "" if problem.next_step == error_next_step(ENGLISH, problem.code) else problem.next_step
