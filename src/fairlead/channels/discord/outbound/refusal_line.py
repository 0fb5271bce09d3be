"""A refusal as one line of text: its code, a sentence in the person's language, the error's words. Sends nothing."""

from typing import Final

from fairlead.errors import Code, FairleadError
from fairlead.render.errors import own_message
from fairlead.render.safe_text import one_line, quote_inline
from fairlead.render.words import error_line

_TYPED: Final = 200
_OWN_WORDS: Final = 600
_NAMED_IS_ALL: Final = frozenset({Code.E_PROJECT_NOT_FOUND, Code.E_SESSION_NOT_FOUND, Code.E_JOB_NOT_FOUND})
"""The errors whose own words only repeat what the person typed."""


def refusal_line(problem: FairleadError, lang: str, **named: str) -> str:
    """`CODE: sentence`. The words that the person typed fill the sentence's gaps; the error's own words stand behind it
    where they say more."""
    fields = {name: quote_inline(typed, _TYPED) for name, typed in named.items()}
    line = error_line(lang, problem.code, **fields)
    own_words = one_line(own_message(problem), _OWN_WORDS)
    says_all = not own_words or own_words in line or (named and problem.code in _NAMED_IS_ALL)
    return line if says_all else error_line(lang, problem.code, detail=own_words, **fields)
