"""Names that a person may have meant. Only a mistake needs them, so what finds them is loaded with the first."""

from collections.abc import Sequence


def find_similar(name: str, known: Sequence[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The nearest first. With a higher `cutoff`, up to 1, names must be nearer."""
    from difflib import get_close_matches  # noqa: PLC0415 - see above

    return get_close_matches(name, known, most, cutoff)
