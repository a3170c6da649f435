"""Commands by which an iRule responds."""

from evenkeel.config.esd.parts import SECURITY_HEADERS, Parts, ResponsePage
from evenkeel.devices.bigip.render.services.responses import RuleResponses
from evenkeel.devices.bigip.render.services.texts import RuleTexts

PAGE = ResponsePage(body="slower", content_type="text/plain")


def responses(parts: Parts) -> RuleResponses:
    return RuleResponses(parts, RuleTexts("/P/texts", over_tls=False))


def test_response_without_parts_has_the_body_that_its_code_gives() -> None:
    made = responses(Parts())
    assert made.respond_command(400) == "HTTP::respond 400 noserver"
    assert made.respond_command("$code", '"Location"', "$target") == 'HTTP::respond $code noserver "Location" $target'
    assert (
        made.respond_command(403, html='"no"') == 'HTTP::respond 403 content "no" noserver "Content-Type" "text/html"'
    )
    assert not made.texts.records and not made.has_page(403)


def test_page_of_the_definition_replaces_the_codes_and_a_page_of_its_own_replaces_both() -> None:
    made = responses(Parts(error_pages={"429": PAGE}))
    assert made.has_page(429)
    expected = (
        'HTTP::respond 429 content [URI::decode [class lookup "1" /P/texts]] noserver'
        ' "Content-Type" [URI::decode [class lookup "2" /P/texts]] "Retry-After" 5'
    )
    assert made.respond_command(429, '"Retry-After"', "5", html='"no"') == expected
    own = made.respond_command(429, page=ResponsePage(body="closed"))
    assert 'class lookup "3"' in own and 'class lookup "1"' not in own


def test_security_headers_are_in_every_response() -> None:
    made = responses(Parts(security_headers="basic"))
    names = SECURITY_HEADERS["basic"]
    assert (
        made.respond_command(503).count("class lookup")
        == made.respond_command("$code").count("class lookup")
        == 2 * len(names)
    )
