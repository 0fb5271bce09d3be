"""Markdown tables made readable where a chat does not draw them. Knows no lengths of messages.

A table that is narrow enough becomes an aligned code block; a wider one a list, one entry for each row.
Everything outside of tables, and everything inside code blocks, stays as it is.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from fairlead.render.fences import Line, scan
from fairlead.render.graphemes import display_width

TABLE_WIDTH: Final = 64
_GAP: Final = "  "
_LONGEST_ROW: Final = 4000  # no table that a person reads; keeps the matching of code spans short
_RULE = re.compile(r":?-+:?")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_BOLD = re.compile(r"\*\*(\S(?:[^*]*\S)?)\*\*")
_LINE_BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)
_CELL_EDGE = re.compile(r"\\.|\|", re.DOTALL)

Row = tuple[str, ...]


class Table(msgspec.Struct, frozen=True):
    header: Row
    rules: Row
    rows: tuple[Row, ...]


def readable_tables(text: str, width: int = TABLE_WIDTH) -> str:
    """`text` with each pipe table turned into what a chat without tables can show."""
    if "|" not in text:
        return text
    return "\n".join(_rewrite_tables(list(scan(text.split("\n"))), width))


def _rewrite_tables(lines: Sequence[Line], width: int) -> Iterator[str]:
    index = 0
    while index < len(lines):
        end = _table_end(lines, index)
        if end == index:
            yield lines[index].text
        else:
            yield from _draw_table(_parse_table([line.text for line in lines[index:end]]), width)
        index = max(end, index + 1)


def _is_plain(line: Line) -> bool:
    in_text = line.before is None and line.after is None
    return in_text and "|" in line.text and len(line.text) <= _LONGEST_ROW


def _table_end(lines: Sequence[Line], index: int) -> int:
    """Where the table that begins at `index` ends; `index` if none does."""
    if index + 1 >= len(lines) or not _is_plain(lines[index]) or not _is_plain(lines[index + 1]):
        return index
    rules = _cells(lines[index + 1].text)
    if not rules or not all(_RULE.fullmatch(rule) for rule in rules):
        return index
    if len(rules) not in {len(_cells(lines[index].text)), len(_cells_around_code(lines[index].text))}:
        return index
    end = index + 2
    while end < len(lines) and _is_plain(lines[end]):
        end += 1
    return end


def _cells(text: str, skip: Sequence[tuple[int, int]] = ()) -> Row:
    """What stands between the pipes; an escaped pipe, or one within `skip`, is text."""
    text = text.strip()
    cells: list[str] = []
    start = 1 if text.startswith("|") else 0
    for found in _CELL_EDGE.finditer(text, start):
        if found[0] == "|" and not any(low <= found.start() < high for low, high in skip):
            cells.append(text[start : found.start()])
            start = found.end()
    if start < len(text):
        cells.append(text[start:])
    return tuple(cell.strip().replace("\\|", "|") for cell in cells)


def _cells_around_code(text: str) -> Row:
    text = text.strip()
    return _cells(text, [found.span() for found in _CODE_SPAN.finditer(text)])


def _parse_table(texts: Sequence[str]) -> Table:
    rules = _cells(texts[1])
    header, *rows = (_row(text, len(rules)) for text in (texts[0], *texts[2:]))
    return Table(header, rules, tuple(rows))


def _row(text: str, columns: int) -> Row:
    """Exactly `columns` cells: pipes in code are text where that makes the row fit; nothing is dropped."""
    cells = _cells_around_code(text)
    if len(cells) != columns and len(_cells(text)) == columns:
        cells = _cells(text)
    if len(cells) > columns:
        cells = (*cells[: columns - 1], " | ".join(cells[columns - 1 :]))
    return cells + ("",) * (columns - len(cells))


def _draw_table(table: Table, width: int) -> list[str]:
    bare = [tuple(_without_markup(cell) for cell in row) for row in (table.header, *table.rows)]
    widths = [max(map(display_width, column)) for column in zip(*bare, strict=True)]
    total = sum(widths) + len(_GAP) * (len(widths) - 1)
    breaks_out = any("``" in cell for row in bare for cell in row)
    if total > width or breaks_out:
        return _as_list(table)
    header, *rows = (_align_row(row, widths, table.rules) for row in bare)
    return ["```", header, _GAP.join("-" * size for size in widths), *rows, "```"]


def _without_markup(cell: str) -> str:
    """A code block shows marks as they are: bold and code would only add noise to it."""
    bare = _CODE_SPAN.sub(lambda found: found[2].strip(), _BOLD.sub(r"\1", cell))
    return _LINE_BREAK.sub(" / ", bare).replace("\t", " ")


def _align_row(row: Row, widths: Sequence[int], rules: Row) -> str:
    cells: list[str] = []
    for cell, size, rule in zip(row, widths, rules, strict=True):
        missing = size - display_width(cell)
        left = missing if rule.endswith(":") else 0
        if rule.startswith(":") and rule.endswith(":"):
            left = missing // 2
        cells.append(" " * left + cell + " " * (missing - left))
    return _GAP.join(cells).rstrip()


def _as_list(table: Table) -> list[str]:
    if not table.rows:
        return [f"- {cell}" for cell in table.header if cell]
    lines: list[str] = []
    for row in table.rows:
        entries = [_entry(key, cell) for key, cell in zip(table.header, row, strict=True) if cell]
        lines += [f"{'- ' if number == 0 else '  '}{entry}" for number, entry in enumerate(entries)]
    return lines


def _entry(key: str, cell: str) -> str:
    if not key:
        return cell
    return f"{key}: {cell}" if "*" in key or "`" in key else f"**{key}**: {cell}"
