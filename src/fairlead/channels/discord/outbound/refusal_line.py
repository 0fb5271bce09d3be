"""A refusal as one line of text: its code, a sentence in the person's language, the error's words. Sends nothing."""

from typing import Final

import msgspec

from fairlead.errors import Code, FairleadError
from fairlead.render.details import translate_detail
from fairlead.render.errors import ENGLISH, ErrorText, own_message, own_next_step
from fairlead.render.safe_text import one_line, quote_inline
from fairlead.render.words import error_next_step, error_what, join_sentences

_TYPED: Final = 200
_OWN_WORDS: Final = 600
_NAMED_IS_ALL: Final = frozenset({Code.E_PROJECT_NOT_FOUND, Code.E_SESSION_NOT_FOUND, Code.E_JOB_NOT_FOUND})
"""The errors whose own words only repeat what the person typed."""


def refusal_line(problem: FairleadError, lang: str, **named: str) -> str:
    """`CODE: sentences`. The words that the person typed fill the gaps of the catalogue's sentences; the error's own
    words stand behind them where they say more. In English, the error's own next step takes the place of the
    catalogue's."""
    fields = {name: quote_inline(typed, _TYPED) for name, typed in named.items()}
    next_step, own_next = error_next_step(lang, problem.code, **fields), own_next_step(problem)
    if lang == ENGLISH and own_next:
        next_step, own_next = one_line(own_next, _OWN_WORDS), ""
    text = ErrorText(code=problem.code, what=error_what(lang, problem.code, **fields), next_step=next_step)
    message = own_message(problem)
    if lang != ENGLISH:
        message, own_next = translate_detail(message, lang), translate_detail(own_next, lang)
    own_words = one_line(join_sentences(message, own_next), _OWN_WORDS)
    says_all = own_words in text.line() or (named and problem.code in _NAMED_IS_ALL)
    return text.line() if says_all else msgspec.structs.replace(text, detail=own_words).line()
