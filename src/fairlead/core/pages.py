"""Lists that grow, in pages: `limit` rows behind the row `after`. Pure; a cursor is opaque to the client."""

from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeVar

import msgspec

from fairlead.errors import Code, FairleadError, error

MAX_PAGE: Final = 100

After = Annotated[str, msgspec.Meta(description="`next` of the previous page.")]
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE, description="The maximum number of entries.")]

T = TypeVar("T")


def cut_page(rows: Sequence[T], limit: int, cursor_of: Callable[[T], str]) -> tuple[tuple[T, ...], str]:
    """The first `limit` rows, and the cursor of the last of them if there are more."""
    page = tuple(rows[:limit])
    return page, cursor_of(page[-1]) if len(rows) > limit else ""


def build_cursor_error(given: str) -> FairleadError:
    return error(
        Code.E_INVALID_ARGS,
        f"`after` must be `next` of the previous page, not {given[:40]!r}.",
        next_step="Leave `after` out to get the first page.",
    )
