"""Nonces of our own messages, as the gateway shows them again: they find a message whose REST reply was lost."""

import hashlib
from typing import Final

_REMEMBERED: Final = 2000
PREFIX_LENGTH: Final = 4


class SentNonces:
    def __init__(self, state_id: str) -> None:
        self._prefix = state_id[:PREFIX_LENGTH]
        self._by_nonce: dict[str, str] = {}
        self._by_message: dict[str, str] = {}

    def take_echo(self, nonce: str | None, message_id: int) -> bool:
        """Remember a message of the bot's that the gateway showed; False if another daemon sent it."""
        if not nonce:
            return True  # replies to interactions carry none
        if not nonce.startswith(self._prefix):
            return False
        if len(self._by_nonce) >= _REMEMBERED:
            self._by_nonce.clear()
            self._by_message.clear()
        self._by_nonce[nonce] = str(message_id)
        self._by_message[str(message_id)] = nonce
        return True

    def message_with(self, nonce: str) -> str | None:
        return self._by_nonce.get(nonce)

    def is_of_another(self, message_id: str, nonce: str) -> bool:
        return self._by_message.get(message_id, nonce) != nonce

    def nonce(self, purpose: str) -> str:
        """For messages that the outbox does not send: at most 25 characters, the same for the same purpose."""
        return f"{self._prefix}{hashlib.blake2b(purpose.encode(), digest_size=10).hexdigest()}"
