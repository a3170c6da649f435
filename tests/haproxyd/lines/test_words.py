"""The words that validation sees of a line are those that HAProxy sees."""

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.haproxyd.lines.words import split_line

TEXTS = st.text(st.characters(min_codepoint=0x20, exclude_characters="\x7f", exclude_categories=("Cs",)), min_size=1)


@given(st.lists(TEXTS, max_size=6))
def test_quoted_words_are_read_back_unchanged(texts: list[str]) -> None:
    assert split_line(quote_line(*texts)) == tuple(texts)


@given(TEXTS)
def test_a_word_has_no_quoting_left_that_haproxy_would_replace(text: str) -> None:
    words = split_line(text)
    if not any(special in text for special in "'\"\\$#"):
        assert words == tuple(text.split(" ")) or words == tuple(filter(None, text.split(" ")))
    elif words is not None:
        assert "'" in text


def test_quotes_are_removed_inside_words_also() -> None:
    assert split_line("  a'b c'd  '' 'it'\\''s' \\'") == ("ab cd", "", "it's", "'")
    assert split_line("") == ()
