"""Template tags of live pages: `{% live block %}` puts a block where it stands, in a page and inside another block."""

from typing import Any

from django import template
from django.template import Context
from django.utils.safestring import SafeString, mark_safe

from dashboard.access import viewer_for
from dashboard.panels import base
from dashboard.panels.base import Block

PERSONAL = ("request", "csrf_token", "posted", "problem")
register = template.Library()


@register.simple_tag(takes_context=True)
def live(context: Context, block: Block) -> SafeString:
    """Return the block's HTML.

    In a page, `viewer` is taken from the context (else made from the request), and the request and CSRF token go down to
    the block's forms.
    """
    values: dict[str, Any] = context.flatten()  # type: ignore[assignment]
    if base.CHILDREN in values:
        return base.nested(block, values)
    viewer = values["viewer"] if "viewer" in values else viewer_for(values["request"].user)
    page: dict[str, Any] = {name: values[name] for name in PERSONAL if name in values}
    return mark_safe(base.render(block, viewer, page=page) or "")  # noqa: S308 - a template made it
