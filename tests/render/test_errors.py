"""Errors as people read them: what happened, what to do next, in four languages."""

import pytest

from fairlead.errors import Code, error
from fairlead.render.errors import error_sentence, error_text
from fairlead.render.words import CATALOGUES, error_next_step, error_what

pytestmark = pytest.mark.req("A18", "B8")


def test_an_error_says_what_happened_and_what_to_do_next():
    special = error(Code.E_INVALID_PATH, "/srv/ap does not exist.", next_step="Did you mean /srv/api?")
    assert error_sentence(special) == "E_INVALID_PATH: /srv/ap does not exist. Did you mean /srv/api?"


def test_in_english_the_catalogue_fills_in_what_the_error_does_not_say():
    half = error(Code.E_INVALID_PATH, "/srv/ap does not exist")
    assert error_sentence(half) == ("E_INVALID_PATH: /srv/ap does not exist. Give the absolute path of a directory.")


def test_a_list_of_mistakes_keeps_its_lines():
    wrong = error(Code.E_CONFIG, "The settings are wrong:\n  LOG_DIR: no.\n", next_step="Correct them.")
    assert error_sentence(wrong) == "E_CONFIG: The settings are wrong:\n  LOG_DIR: no.\nCorrect them."


@pytest.mark.parametrize("lang", CATALOGUES)
@pytest.mark.parametrize("code", Code)
def test_without_words_of_its_own_an_error_speaks_for_its_code(lang: str, code: Code):
    text = error_text(error(code), lang)
    assert (text.what, text.next_step, text.detail) == (error_what(lang, code), error_next_step(lang, code), "")
    assert text.line().startswith(f"{code}: {text.what}")
    assert text.line().endswith(text.next_step)


def test_in_another_language_the_errors_own_words_stand_behind_the_sentence():
    special = error(Code.E_INVALID_PATH, "stat: /srv/ap: No such file", next_step="Try /srv/api instead.")
    assert error_sentence(special, "ja") == (
        "E_INVALID_PATH: 指定されたパスが存在しません。ディレクトリの絶対パスを指定してください。"
        " (stat: /srv/ap: No such file. Try /srv/api instead.)"
    )


@pytest.mark.parametrize("code", Code)
def test_an_error_that_came_over_http_in_english_is_said_in_the_readers_language(code: Code):
    sent = error_text(error(code))
    heard = error(code, sent.what, next_step=sent.next_step)
    assert error_sentence(heard, "ja") == error_sentence(error(code), "ja")
