"""Sentences for people: written in English, and able to be said in other languages."""

from collections.abc import Callable, Sequence
from functools import reduce


class Text(str):
    """A sentence in English that still knows what it was made of.

    `Text("The upcard is {upcard} now.").format(upcard="KD")` reads as the English sentence
    everywhere; `said` says it in another language. The message is the key of the catalogues in
    `service/locale`, so it must be a literal.
    """

    __slots__ = ("message", "values")

    message: str
    values: dict[str, object]

    def __new__(cls, message: str, values: dict[str, object] | None = None) -> "Text":
        """The message with the values in the place of their names in braces."""
        made = super().__new__(cls, _filled(message, values, _as_it_is) if values else message)
        made.message = message
        made.values = values or {}
        return made

    def format(self, *_: object, **values: object) -> "Text":
        """The sentence with these values: texts, numbers, or tuples of cards or of sentences.

        Values that it had before stay, as long as no other is given for them.
        """
        return Text(self.message, self.values | values)


def listed(sentences: Sequence[str], separator: str = "; ") -> Text:
    """Several sentences as one, with semicolons between them."""
    names = [f"part{number}" for number in range(len(sentences))]
    message = separator.join(f"{{{name}}}" for name in names)
    return Text(message, dict(zip(names, sentences, strict=True)))


def either(choices: Sequence[str]) -> Text:
    """The choices, at least one, with "or" between them."""
    first, *others = choices
    return reduce(
        lambda one, other: Text("{one} or {other}").format(one=one, other=other),
        others,
        listed([first]),
    )


def said(sentence: str, translate: Callable[[str], str]) -> str:
    """The sentence in the language that `translate` puts messages into; plain str as it is."""
    if not isinstance(sentence, Text):
        return sentence
    message = translate(sentence.message)
    return _filled(message, sentence.values, translate) if sentence.values else message


def _as_it_is(message: str) -> str:
    return message


def _filled(message: str, values: dict[str, object], translate: Callable[[str], str]) -> str:
    return message.format_map(_Shown(values, translate))


class _Shown(dict[str, str]):
    """The values as they are shown; only those that the message has are worked out."""

    def __init__(self, values: dict[str, object], translate: Callable[[str], str]) -> None:
        super().__init__()
        self._values = values
        self._translate = translate

    def __missing__(self, name: str) -> str:
        return _shown(self._values[name], self._translate)


def _shown(value: object, translate: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return said(value, translate)
    if isinstance(value, tuple):
        return " ".join(_shown(item, translate) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
