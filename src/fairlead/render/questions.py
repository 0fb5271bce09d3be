"""A question as a person must see it to decide: the tool, the whole command or path, the diff, the choices."""

from fairlead.core.questions import QuestionFields
from fairlead.render.safe_text import code_block, one_line
from fairlead.render.words import say


def question_text(question: QuestionFields, lang: str) -> str:
    match question.kind:
        case "permission":
            return _permission(question, lang)
        case "plan":
            return f"{say(lang, 'question.plan')}\n\n{question.detail}"
        case "question":
            return "\n\n".join(_item_lines(question, lang))


def _permission(question: QuestionFields, lang: str) -> str:
    parts = [say(lang, "question.permission", tool=one_line(question.tool, 60)), one_line(question.title, 300)]
    if question.detail:
        parts.append(code_block(question.detail))
    if question.diff:
        parts.append(code_block(question.diff, "diff"))
    return "\n".join(parts)


def _item_lines(question: QuestionFields, lang: str) -> list[str]:
    blocks = [say(lang, "question.choice")]
    for item in question.items:
        options = [
            f"{number}. {option.label}" + (f" — {option.description}" if option.description else "")
            for number, option in enumerate(item.options, 1)
        ]
        blocks.append("\n".join([f"**{item.text}**", *options]))
    return blocks
