"""Four languages that never drift apart, and errors that always say what to do next."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Code
from fairlead.render.words import (
    CATALOGUES,
    ENGLISH,
    error_line,
    error_next_step,
    error_what,
    pick_language,
    say,
)
from fairlead.settings import setting_names


def gaps(sentence: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", sentence))


JAPANESE_SENTENCES = {
    "reply.project.none": "登録されているプロジェクトはありません",
    "reply.project.added": "プロジェクト #{id} を登録しました（{path}）",
    "reply.session.stopped": "セッションを終了しました",
    "reply.session.killed": "セッションを強制終了しました",
    "reply.model.changed": "モデルを {model_id} に変更しました",
    "tool.line": "🔧 {tool} を実行中...",
    "command.projects": "登録済みプロジェクト一覧を表示する",
    "command.project.add": "新規プロジェクトを登録する",
    "command.project.add.path": "ディレクトリパス",
    "command.agent.start": "エージェントセッションを開始する",
    "command.agent.start.project_id": "プロジェクトID",
    "command.agent.stop": "エージェントセッションを正常終了する",
    "command.agent.kill": "エージェントセッションを強制終了する",
    "command.agent.status": "現在のセッション状態を表示する",
    "command.agent.model": "セッションのモデルを切り替える",
    "command.agent.model.model_id": "モデルID",
    "command.agent.usage": "セッションの使用量情報を表示する",
}

COMMANDS = [
    "project.create",
    "project.list",
    "project.status",
    "project.add",
    "project.switch",
    "projects",
    "start",
    "session.list",
    "session.open",
    "status",
    "tool",
    "retry",
    "agent.start",
    "agent.stop",
    "agent.kill",
    "agent.status",
    "agent.model",
    "agent.usage",
    "cancel",
    "reset",
    "why",
]

languages = pytest.mark.parametrize("lang", list(CATALOGUES))


@languages
def test_no_catalogue_lacks_a_key_or_has_one_too_many(lang: str):
    assert set(CATALOGUES[lang]) == set(ENGLISH)


@languages
def test_no_sentence_lacks_a_gap_or_has_one_too_many(lang: str):
    different = {key for key, words in CATALOGUES[lang].items() if gaps(words) != gaps(ENGLISH[key])}
    assert different == set()


@languages
def test_no_sentence_is_empty_or_broken(lang: str):
    for key, words in CATALOGUES[lang].items():
        assert words.strip() == words, key
        assert words, key
        assert words.count("[[") == words.count("]]"), key
        assert words.count("{") == words.count("}") == sum(words.count("{" + gap + "}") for gap in gaps(words)), key


@languages
def test_every_error_code_has_a_sentence_that_reads_well_without_any_detail(lang: str):
    for code in Code:
        line = error_line(lang, code)
        assert line.startswith(f"{code}: ")
        assert "[[" not in line
        assert "{" not in line
        assert "…" not in line


@pytest.mark.req("A18")
@languages
def test_every_code_of_the_error_tree_says_what_happened_and_what_to_do_next(lang: str):
    both = {key for code in Code for key in (f"error.{code}", f"error.{code}.next")}
    assert both == {key for key in CATALOGUES[lang] if key.startswith("error.")}
    for code in Code:
        what, next_step = error_what(lang, code), error_next_step(lang, code)
        assert what.endswith((".", "。"))
        assert next_step.endswith((".", "。"))
        assert what != next_step


@languages
def test_no_sentence_names_a_setting_that_does_not_exist(lang: str):
    named = {name for words in CATALOGUES[lang].values() for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", words)}
    assert named
    assert named <= set(setting_names())


@languages
def test_every_command_is_described_within_discords_hundred_characters(lang: str):
    described = {key: words for key, words in CATALOGUES[lang].items() if key.startswith("command.")}
    assert {f"command.{name}" for name in COMMANDS} <= set(described)
    assert {key: words for key, words in described.items() if not 1 <= len(words) <= 100} == {}


@languages
def test_button_labels_fit_on_discords_buttons(lang: str):
    assert all(len(say(lang, f"question.{key}")) <= 80 for key in ("allow_once", "allow_session", "deny", "approve"))


@pytest.mark.req("B1", "B8")
@pytest.mark.parametrize(("key", "sentence"), JAPANESE_SENTENCES.items())
def test_the_japanese_sentences_are_those_of_the_specification(key: str, sentence: str):
    assert CATALOGUES["ja"][key] == sentence


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("E_INVALID_PATH", "指定されたパスが存在しません"),
        ("E_ACP_CONNECTION", "エージェントの起動に失敗しました"),
        ("E_NO_ACTIVE_SESSION", "アクティブなセッションはありません"),
        ("E_MODEL_UNAVAILABLE", "指定されたモデルIDは利用できません"),
        ("E_ACP_TIMEOUT", "エージェントが応答しないため、セッションを強制終了しました"),
        ("E_INTERNAL", "エラーが発生しました"),
    ],
)
def test_a_japanese_error_begins_with_the_sentence_of_the_specification(code: str, sentence: str):
    assert error_line("ja", code).startswith(f"{code}: {sentence}")


def test_a_missing_project_is_named_by_its_number_or_by_its_name():
    assert error_line("ja", "E_PROJECT_NOT_FOUND", id=3).startswith(
        "E_PROJECT_NOT_FOUND: プロジェクト #3 が見つかりません"
    )
    assert error_line("en", "E_PROJECT_NOT_FOUND", project="api").startswith(
        "E_PROJECT_NOT_FOUND: The project api was not found."
    )


def test_an_error_says_where_and_what_next():
    assert error_line("en", "E_INVALID_PATH", path="/srv/ap", suggestion="/srv/api") == (
        "E_INVALID_PATH: The path /srv/ap does not exist. Did you mean /srv/api? Give the absolute path of a directory."
    )


def test_a_detail_stands_behind_the_sentence():
    assert error_line("en", "E_CONFIG", detail="PROJECTS is no list").endswith("checks them. (PROJECTS is no list)")


def test_a_code_nobody_translated_is_still_shown():
    assert error_line("en", "E_NEW_ONE").startswith("E_NEW_ONE: An unexpected error occurred")


def test_what_fills_a_gap_is_never_read_as_a_gap():
    assert say("en", "reply.project.added", id=1, path="{id} [[x]]") == "Registered project #1 ({id} [[x]])"


def test_a_gap_that_nothing_fills_is_shown_as_one():
    assert say("en", "reply.project.added", id=0) == "Registered project #0 (…)"


def test_a_key_that_does_not_exist_is_a_mistake_of_ours():
    with pytest.raises(KeyError):
        say("en", "reply.nonsense")


@pytest.mark.parametrize(
    ("locale", "lang"),
    [
        ("en-US", "en"),
        ("en-GB", "en"),
        ("ja", "ja"),
        ("ja_JP.UTF-8", "ja"),
        ("zh-TW", "zh-TW"),
        ("zh-HK", "zh-TW"),
        ("zh_Hant_HK", "zh-TW"),
        ("zh-CN", "zh-CN"),
        ("zh", "zh-CN"),
        ("zh_Hans", "zh-CN"),
        ("de", "ja"),
        ("C.UTF-8", "ja"),
        ("", "ja"),
        (None, "ja"),
    ],
)
def test_a_locale_leads_to_the_nearest_language_else_to_the_default(locale: str | None, lang: str):
    assert pick_language(locale, "ja") == lang


@given(st.text(max_size=30))
def test_any_locale_whatever_gives_a_language_we_speak(locale: str):
    assert pick_language(locale, "en") in list(CATALOGUES)
