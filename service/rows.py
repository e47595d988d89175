"""Structs as rows: their values in the order of the fields, without names.

That takes half the room of names and values, and is read and written as fast. What a value means is
told by its place alone. So once it is stored, a struct is only added to, at its end and with a
default; `tests/rows_of_format_4.json` notices anything else.
"""

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, get_type_hints

from msgspec import NODEFAULT, Struct, defstruct
from msgspec.structs import astuple, fields

_Kind = TypeVar("_Kind", bound=Struct)


class Rows(Generic[_Kind]):
    """How values of one kind of struct become rows, and rows become such values again.

    `row` is the type that msgspec reads and writes in their place. A struct that is the value of a
    field is a row in it, too; one that may be missing, or is one of many, is not.
    """

    def __init__(self, kind: type[_Kind]) -> None:
        self._kind = kind
        self._names = kind.__struct_fields__
        self._inside: dict[int, Rows[Any]] = {}
        """The rows of the fields, by their place, that are structs."""
        types = get_type_hints(kind, include_extras=True)
        layout: list[Any] = []
        optional = True
        for place, field in reversed(list(enumerate(fields(kind)))):
            value = types[field.name]
            if isinstance(value, type) and issubclass(value, Struct):
                self._inside[place] = Rows(value)
                value = self._inside[place].row
            # In a row nothing can be left out before what has to be there.
            optional = optional and field.default is not NODEFAULT
            layout.append((field.name, value, *([field.default] if optional else [])))
        self.row: Any = defstruct(
            kind.__name__,
            reversed(layout),
            tag=kind.__struct_config__.tag,
            array_like=True,
            frozen=True,
        )

    def of(self, value: _Kind) -> Any:
        """That value as a row."""
        # No checks: a move writes some of these, and whoever looks at a log reads thousands.
        values: Iterable[Any] = astuple(value)
        if self._inside:
            values = [*values]
            for place, rows in self._inside.items():
                values[place] = rows.of(values[place])
        return self.row(*values)

    def value(self, row: Any) -> _Kind:
        """The value that the row was made of."""
        named = dict(zip(self._names, astuple(row), strict=True))
        for place, rows in self._inside.items():
            named[self._names[place]] = rows.value(named[self._names[place]])
        return self._kind(**named)
