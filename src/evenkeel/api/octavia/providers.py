"""Providers: the environments, as tenants see them."""

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services
from evenkeel.api.lists import chosen
from evenkeel.core.values import Value


class ProviderView(Value):
    """An environment by its name."""

    name: str
    description: str


async def listing(services: Services, call: Call) -> Answer:
    """All of them, by name."""
    fields = [value for name, value in call.query if name == "fields" and value]
    rows = await services.store.environments()
    shown = [
        chosen(ProviderView(name=row.name, description=row.description or f"{row.device_driver} devices"), fields)
        for row in rows
    ]
    return json_answer({"providers": shown, "providers_links": []})
