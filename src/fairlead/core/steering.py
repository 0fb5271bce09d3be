"""The sign by which a text is meant for the turn that runs: an exclamation mark before it. Pure.

!use make instead      goes into the running turn: `use make instead`
!!important is a word  an ordinary message that begins with one: `!important is a word`
![a picture](x.png)    Markdown, and no sign
"""

from typing import Final

import msgspec

from fairlead.core.inbound import Inbound

SIGN: Final = "!"
_MARKDOWN_IMAGE: Final = "!["


def read_sign(inbound: Inbound) -> Inbound:
    """The message with its sign taken off its text, and `steers` set. Only a person's own message has signs; where the
    channel says what is meant, the text stays as it is."""
    if inbound.steers is not None or inbound.cause != "message":
        return inbound
    text, is_meant = split_sign(inbound.text)
    if is_meant and not (text or inbound.attachments):
        text, is_meant = inbound.text, False
    return msgspec.structs.replace(inbound, text=text, steers=is_meant)


def without_sign(text: str) -> str:
    """For a message that was edited: what is meant was decided when it came."""
    return split_sign(text)[0] or text


def split_sign(text: str) -> tuple[str, bool]:
    """The text without its sign, and whether it is meant for the turn that runs."""
    words = text.lstrip()
    if words.startswith(SIGN * 2):
        return words.removeprefix(SIGN), False
    if not words.startswith(SIGN) or words.startswith(_MARKDOWN_IMAGE):
        return text, False
    return words.removeprefix(SIGN).strip(), True
