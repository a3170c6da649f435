r"""Regular expressions of L7 rules, as Tcl's advanced regular expressions. Pure.

iRules have Tcl's flavour, HAProxy has PCRE's. What both have is accepted, and written so that Tcl reads it as PCRE
would: ``\b`` is Tcl's ``\y``, ``\z`` its ``\Z``, ``\x2f`` a character by four digits. What only PCRE has (look-behind,
named groups, possessive and atomic matching) is refused by name, and so are back references and look-ahead, for which
Tcl leaves its linear automaton: at 16 KB a look-ahead takes more than a second. Whether a repetition is lazy makes no
difference to whether there is a match.

Tcl unrolls counted repetitions, so their product is bounded (:data:`ATOMS_MAX`).
"""

import re
import string

ATOMS_MAX = 1000
"""Maximum number of atoms of an expression after counted repetitions are unrolled."""
COUNT_MAX = 255
"""Highest count that Tcl allows in a counted repetition."""
_DEPTH_MAX = 50
_COUNT_PATTERN = re.compile(r"\{([0-9]{1,5})(,([0-9]{0,5}))?\}")
_CLASS_NAME = re.compile(r"\[:(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]")
_SAME_ESCAPES = frozenset("dDwWsStnrfv")
_ANCHORS = {"b": r"\y", "B": r"\Y", "A": r"\A", "z": r"\Z", "Z": r"\Z"}
_PLAIN = frozenset(string.ascii_letters + string.digits + "_/:;,<>=!@%&~`'\"# -")
"""Characters without a special meaning outside of brackets."""


class RegexNotPossible(ValueError):
    """A regular expression cannot be translated. The text completes ``is not possible on a BIG-IP:``."""


def tcl_regex(text: str) -> str:
    """Translate the expression for Tcl's ``regexp``. Raises :class:`RegexNotPossible` for what Tcl does not
    have or does not match in linear time, for wrong syntax, for other characters than printable ASCII, and
    for more than :data:`ATOMS_MAX` atoms.
    """
    if not (text.isascii() and text.isprintable()):
        raise RegexNotPossible("regular expressions contain printable ASCII characters only")
    body = text.removeprefix("(?i)")
    parser = _Parser(body)
    found = parser.parse_alternatives(0)
    if parser.rest:
        raise RegexNotPossible("there is a ')' without '('")
    if parser.atoms > ATOMS_MAX:
        raise RegexNotPossible(f"it has {parser.atoms} atoms after its counted repetitions; {ATOMS_MAX} are possible")
    return f"(?i){found}" if body != text else found


def count_atoms(text: str) -> int:
    """Count the atoms of an expression that :func:`tcl_regex` accepts, with counted repetitions unrolled."""
    parser = _Parser(text.removeprefix("(?i)"))
    parser.parse_alternatives(0)
    return parser.atoms


class _Parser:
    """Reads a regular expression from left to right. ``atoms``: atoms of the last part read, repetitions unrolled."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.atoms = 0

    @property
    def rest(self) -> str:
        return self._text[self._at :]

    def parse_alternatives(self, depth: int) -> str:
        if depth > _DEPTH_MAX:
            raise RegexNotPossible(f"groups are nested deeper than {_DEPTH_MAX}")
        branches, atoms = [], 0
        while True:
            branches.append(self._parse_branch(depth))
            atoms += self.atoms
            if not self._skip_if_next("|"):
                break
        self.atoms = atoms
        return "|".join(branches)

    def _parse_branch(self, depth: int) -> str:
        pieces, atoms = [], 0
        while self.rest and self.rest[0] not in "|)":
            pieces.append(self._parse_piece(depth))
            atoms += self.atoms
        self.atoms = atoms
        return "".join(pieces)

    def _parse_piece(self, depth: int) -> str:
        atom, anchor = self._parse_atom(depth)
        repetition = self._take_repetition()
        if repetition and anchor:
            raise RegexNotPossible(f"{atom} cannot be repeated")
        return atom + repetition

    def _parse_atom(self, depth: int) -> tuple[str, bool]:
        """Read one atom; return its translation and whether it is an anchor. Raises :class:`RegexNotPossible`."""
        self.atoms = 1
        if self._skip_if_next("("):
            return self._parse_group(depth), False
        if self._skip_if_next("["):
            return self._parse_brackets(), False
        if self._skip_if_next("\\"):
            return self._parse_escape()
        char = self._take_character()
        if char in "*+?":
            raise RegexNotPossible(f"nothing to repeat before {char}")
        # At the place of an atom these are plain characters in PCRE, and escaped in Tcl, too.
        return ("\\" + char if char in "{}]" else char), char in "^$"

    def _parse_group(self, depth: int) -> str:
        self._skip_if_next("?:")
        if self.rest.startswith(("?", "*")):
            raise RegexNotPossible(
                f"a group that begins with ({self.rest[:2]}: only ( and (?: are possible, and (?i) in front"
            )
        inner = self.parse_alternatives(depth + 1)
        if not self._skip_if_next(")"):
            raise RegexNotPossible("a ')' is missing")
        # Groups do not capture, because only whether there is a match counts.
        return f"(?:{inner})"

    def _parse_escape(self) -> tuple[str, bool]:
        char = self._take_character()
        if char in _ANCHORS:
            return _ANCHORS[char], True
        if char in _SAME_ESCAPES:
            return f"\\{char}", False
        return _escape_literal(self._escaped_character(char)), False

    def _escaped_character(self, char: str) -> str:
        if char == "x":
            digits = self.rest[:2]
            if not re.fullmatch(r"[0-9A-Fa-f]{2}", digits):
                raise RegexNotPossible(r"\x needs two hexadecimal digits")
            self._at += 2
            return chr(int(digits, 16))
        if char.isdigit():
            raise RegexNotPossible(f"\\{char}: back references and octal digits are not possible")
        if char.isalpha():
            raise RegexNotPossible(f"\\{char} is no escape that Tcl has")
        return char

    def _take_repetition(self) -> str:
        found = self._take_count() or (self._take_character() if self.rest[:1] in tuple("*+?") else "")
        if found:
            if self._skip_if_next("+"):
                raise RegexNotPossible("possessive repetition is not possible")
            self._skip_if_next("?")  # a lazy one matches the same texts
            if self.rest[:1] in ("*", "+", "?") or _COUNT_PATTERN.match(self.rest):
                raise RegexNotPossible("a repetition cannot be repeated")
        return found

    def _take_count(self) -> str:
        if not self.rest.startswith("{"):
            return ""
        count = _COUNT_PATTERN.match(self.rest)
        if count is None:
            raise RegexNotPossible("a { that begins no count must be written \\{")
        least = int(count[1])
        most = int(count[3]) if count[3] else least
        if not least <= most <= COUNT_MAX:
            raise RegexNotPossible(f"the count {count[0]}: 0 to {COUNT_MAX}, in order, are possible")
        self._at += count.end()
        self.atoms *= max(most, 1)
        return f"{{{least}{',' + (str(most) if count[3] else '') if count[2] else ''}}}"

    def _parse_brackets(self) -> str:
        negated = "^" if self._skip_if_next("^") else ""
        items: list[str] = []
        # A `]` at the beginning of brackets is a character.
        while not (items and self._skip_if_next("]")):
            items.append(self._parse_bracket_item())
        return f"[{negated}{''.join(items)}]"

    def _parse_bracket_item(self) -> str:
        """Read a character, a range or a class inside brackets; return its translation. Raises
        :class:`RegexNotPossible`.
        """
        if name := _CLASS_NAME.match(self.rest):
            self._at += name.end()
            return name[0]
        if self.rest.startswith(("[:", "[.", "[=")):
            raise RegexNotPossible(f"{self.rest[:2]} inside brackets names no class of characters")
        if self.rest[:2] in (r"\d", r"\w", r"\s"):
            return self._take_character() + self._take_character()
        first = self._parse_bracket_character()
        # A `-` at the end of brackets is a character.
        if self.rest.startswith("-") and self.rest[1:2] not in ("]", ""):
            self._take_character()
            if self.rest[:2] in (r"\d", r"\w", r"\s") or self.rest.startswith("["):
                raise RegexNotPossible("a range inside brackets must end in a character")
            last = self._parse_bracket_character()
            if last < first:
                raise RegexNotPossible("a range inside brackets is in the wrong order")
            return f"{_escape_in_brackets(first)}-{_escape_in_brackets(last)}"
        return _escape_in_brackets(first)

    def _parse_bracket_character(self) -> str:
        char = self._take_character()
        if char != "\\":
            return char
        char = self._take_character()
        if char in "tnrfv":
            return {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}[char]
        return self._escaped_character(char)

    def _take_character(self) -> str:
        if not self.rest:
            raise RegexNotPossible("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _skip_if_next(self, text: str) -> bool:
        found = self.rest.startswith(text)
        self._at += len(text) if found else 0
        return found


def _escape_literal(char: str) -> str:
    if char in _PLAIN:
        return char
    return f"\\{char}" if char.isprintable() and char.isascii() else f"\\u{ord(char):04x}"


def _escape_in_brackets(char: str) -> str:
    return char if char.isascii() and char.isalnum() else f"\\u{ord(char):04x}"
