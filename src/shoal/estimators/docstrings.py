"""Signatures and docstrings, put together: what classes share is written once, and shown in every one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any, ClassVar

from shoal.queries.laws.noise import NOISES

# How a class says that it has the common parameters: the last entry of its own.
_COMMON = re.compile(r"^\*\*common\n(?: {4}.*\n)+", re.MULTILINE)
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
# numpydoc's order: what attributes come before.
_AFTER_ATTRIBUTES = ("See Also", "Notes", "References", "Examples")


def section(doc: str, name: str) -> str:
    """Return the body of a section of a numpydoc docstring, "" where there is none.

    Examples
    --------
    >>> doc = inspect.cleandoc(section.__doc__)
    >>> section(doc, "Examples").splitlines()[0]
    '>>> doc = inspect.cleandoc(section.__doc__)'
    """
    found = [(m.group(1), m.start(), m.end()) for m in _SECTION.finditer(doc)]
    ends = [start for _, start, _ in found[1:]] + [len(doc)]
    return next(
        (doc[end:stop].strip() for (n, _, end), stop in zip(found, ends, strict=True) if n == name), ""
    )


def entries(body: str) -> dict[str, str]:
    r"""Return the entries of a section by the names they are about.

    Examples
    --------
    >>> entries("a, b : int\n    Two.\nc : str\n    One.")
    {'a, b': 'a, b : int\n    Two.', 'c': 'c : str\n    One.'}
    """
    blocks = re.split(r"\n(?=\S)", body) if body else []
    return {block.split(" :")[0].split("\n")[0]: block for block in blocks}


def with_common(doc: str, parameters: str, own: Collection[str]) -> str:
    """Write the common parameters out where a docstring refers to them.

    Parameters
    ----------
    doc : str
        Of a class, as it stands in the source.
    parameters : str
        The entries of all common parameters.
    own : collection of str
        Parameters that the class tells of by itself.
    """
    common = [entry for name, entry in entries(parameters).items() if name not in own]
    return _COMMON.sub(lambda _: "\n".join(common) + "\n", inspect.cleandoc(doc) + "\n").rstrip("\n")


def with_attributes(doc: str, attributes: str) -> str:
    """Add what every fit leaves to the attributes that a docstring has, in numpydoc's order.

    Parameters
    ----------
    doc : str
        Of a class, put right by `inspect.cleandoc`.
    attributes : str
        Entries; those that the class tells of by itself are passed over.
    """
    own = section(doc, "Attributes")
    told = {name for names in entries(own) for name in names.split(", ")}
    common = [e for names, e in entries(attributes).items() if not told & set(names.split(", "))]
    body = "\n".join(([own] if own else []) + common)
    if own:
        return doc.replace(own, body, 1)
    after = next((m.start() for m in _SECTION.finditer(doc) if m.group(1) in _AFTER_ATTRIBUTES), len(doc))
    return f"{doc[:after].rstrip()}\n\nAttributes\n----------\n{body}\n\n{doc[after:]}".rstrip()


class SharesParameters:
    """Shows the parameters that a base class gives in the signature and the help of every subclass.

    A base class that is made with ``gives=True`` has them in its own signature and docstring. A subclass
    takes the rest of them as its last argument, ``**common``.
    """

    _GIVER: ClassVar[type]
    """The base class whose parameters a class shares."""
    _LEAVES = ""
    """What a fit leaves, as entries of a docstring's Attributes."""

    def __init_subclass__(cls, *, gives: bool = False, **kwargs: Any) -> None:
        """Put signature and help together, where scikit-learn and people look."""
        super().__init_subclass__(**kwargs)
        if gives:
            cls._GIVER = cls
            return
        if "__init__" not in cls.__dict__:
            return
        own = list(inspect.signature(cls.__init__).parameters.values())
        if own[-1].kind is not inspect.Parameter.VAR_KEYWORD:
            return
        named = {p.name for p in own}
        common = inspect.signature(cls._GIVER.__init__).parameters.values()  # type: ignore[misc]
        extra = [p for p in common if p.name not in named and p.kind is not inspect.Parameter.VAR_KEYWORD]
        signature = inspect.Signature([*own[:-1], *extra])
        cls.__init__.__signature__ = signature  # type: ignore[attr-defined]
        if cls.__doc__ and cls._GIVER.__doc__:  # there are none under python -OO
            shared = section(inspect.cleandoc(cls._GIVER.__doc__), "Parameters")
            # Laws are named in one place: a new one is in every help.
            doc = cls.__doc__.replace("NOISES", ", ".join(f'"{name}"' for name in NOISES))
            cls.__doc__ = with_common(doc, shared, named)
            if cls._LEAVES:
                cls.__doc__ = with_attributes(cls.__doc__, inspect.cleandoc(cls._LEAVES))

    @classmethod
    def _parameter_names(cls) -> list[str]:
        """Return what can be given to the class by name."""
        return [name for name in inspect.signature(cls).parameters if name not in ("args", "kwargs")]

    def _no_such(self, name: str) -> str:
        known = [p for p in inspect.signature(type(self)).parameters if p != "self"]
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
        return f"{type(self).__name__} has no parameter {name!r}; {hint}"
