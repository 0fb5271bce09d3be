"""Whom a message of ours makes a phone ring for: the accounts that it was planned for, whatever its text says."""

from collections.abc import Iterable
from typing import Any

import discord


def mention_text(account: str) -> str:
    return f"<@{account}>"


def ringing(accounts: Iterable[str]) -> dict[str, Any]:
    """How to send a message that these accounts hear of. For nobody, it is sent silently."""
    users = [discord.Object(int(account)) for account in accounts if account.isdecimal()]
    only = discord.AllowedMentions(everyone=False, roles=False, replied_user=False, users=users)
    return {"allowed_mentions": only, "silent": not users}
