"""The language that `fairlead chat` speaks."""

import pytest

from fairlead.cli.chat import terminal_language
from fairlead.settings import read_settings


@pytest.mark.parametrize(
    ("environment", "lang"),
    [
        ({}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh-TW"),
        ({"LANG": "ja_JP.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh-CN"),
        ({"LC_ALL": "", "LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"FAIRLEAD_LANG": "en", "LANG": "ja_JP.UTF-8"}, "en"),
        ({"FAIRLEAD_LANG": "zh-TW"}, "zh-TW"),
    ],
)
def test_the_setting_decides_the_language_and_else_the_locale(environment: dict[str, str], lang: str):
    given = {name: value for name, value in environment.items() if name == "FAIRLEAD_LANG"}
    assert terminal_language(read_settings(None, given), environment) == lang
