"""L7 policies and rules."""

from tests.api.client_stories.step import Step

POLICIES = (
    Step("create --name judged --vip-subnet-id blue --wait"),
    Step("listener create --name court --protocol HTTP --protocol-port 80 --wait judged"),
    Step("pool create --name jail --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer judged --wait"),
    Step(
        "l7policy create --name moved --description d --action REDIRECT_TO_URL --redirect-url https://a.example/ "
        "--redirect-http-code 308 --position 1 --enable --tag a --wait court",
        {"redirect_url": "https://a.example/", "redirect_http_code": 308, "position": 1},
        keeps="moved",
    ),
    Step(
        "l7policy create --name jailed --action REDIRECT_TO_POOL --redirect-pool jail --position 1 --disable --no-tag "
        "--wait court",
        {"position": 1, "admin_state_up": False},
    ),
    Step(
        "l7policy create --name prefixed --action REDIRECT_PREFIX --redirect-prefix https://b.example --wait court",
        {"redirect_prefix": "https://b.example", "position": 3},
    ),
    Step("l7policy list --listener court", [{"name": "moved"}, {"name": "jailed"}, {"name": "prefixed"}]),
    Step("l7policy list --tags a", [{"name": "moved", "position": 2}]),
    Step("l7policy list --any-tags a,b", [{"name": "moved"}]),
    Step("l7policy list --not-tags a --listener court", [{"name": "jailed"}, {"name": "prefixed"}]),
    Step("l7policy list --not-any-tags a --listener court", [{"name": "jailed"}, {"name": "prefixed"}]),
    Step(
        "l7policy set --name moved2 --description e --action REDIRECT_TO_URL --redirect-url https://c.example/ "
        "--redirect-http-code 301 --position 1 --disable --tag b --wait moved"
    ),
    Step("l7policy show moved2", {"position": 1, "redirect_http_code": 301, "redirect_url": "https://c.example/"}),
    Step("l7policy set --enable --no-tag --tag c moved2"),
    Step("l7policy unset --description --redirect-http-code --tag c --wait moved2"),
    Step("l7policy show moved2", {"description": "", "redirect_http_code": None, "tags": []}),
    Step("l7policy set --action REDIRECT_TO_POOL --redirect-pool jail --wait moved2"),
    Step("l7policy set --action REDIRECT_PREFIX --redirect-prefix https://d.example --wait moved2"),
    Step("l7policy show moved2", {"redirect_prefix": "https://d.example", "redirect_pool_id": None}),
    Step("l7policy unset --name --all-tag {moved}"),
    Step("l7policy delete --wait {moved}"),
    Step("l7policy show {moved}", refused="Unable to locate {moved} in l7policies"),
    Step("delete --cascade --wait judged"),
)

RULES = (
    Step("create --name ruled --vip-subnet-id blue --wait"),
    Step("listener create --name bench --protocol HTTP --protocol-port 80 --wait ruled"),
    Step("l7policy create --name law --action REJECT --wait bench"),
    Step(
        "l7rule create --type HEADER --key X-Kind --compare-type REGEX --value ^a+$ --invert --enable --tag a "
        "--wait law",
        {"key": "X-Kind", "invert": True, "value": "^a+$"},
        keeps="rule",
    ),
    Step(
        "l7rule create --type PATH --compare-type EQUAL_TO --value / --disable --no-tag --wait law",
        {"admin_state_up": False},
        keeps="other",
    ),
    Step("l7rule list law", [{"id": "{rule}", "key": "X-Kind"}, {"id": "{other}"}]),
    Step("l7rule list --tags a law", [{"id": "{rule}"}]),
    Step("l7rule list --any-tags a,b law", [{"id": "{rule}"}]),
    Step("l7rule list --not-tags a law", [{"id": "{other}"}]),
    Step("l7rule list --not-any-tags a law", [{"id": "{other}"}]),
    Step(
        "l7rule set --type COOKIE --key kind --compare-type CONTAINS --value b --invert --disable --tag b --wait "
        "law {rule}"
    ),
    Step("l7rule show law {rule}", {"type": "COOKIE", "key": "kind", "value": "b", "invert": True}),
    Step("l7rule set --enable --no-tag --tag c law {rule}"),
    Step("l7rule unset --invert --tag c --wait law {rule}"),
    Step("l7rule show law {rule}", {"invert": False, "tags": []}),
    Step("l7rule set --type HOST_NAME --compare-type EQUAL_TO law {rule}"),
    Step("l7rule unset --key --all-tag law {rule}"),
    Step("l7rule show law {rule}", {"key": None, "type": "HOST_NAME"}),
    Step("l7rule delete --wait law {rule}"),
    Step("l7rule list law", [{"id": "{other}"}]),
    Step("delete --cascade --wait ruled"),
)
