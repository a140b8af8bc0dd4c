"""Template tags of live pages: `{% live block %}` puts a block where it stands, in a page and inside another block."""

from django import template
from django.template import Context
from django.utils.safestring import SafeString

from dashboard.access import viewer_for
from dashboard.panels import base
from dashboard.panels.base import Block

register = template.Library()


@register.simple_tag(takes_context=True)
def live(context: Context, block: Block) -> SafeString:
    """Return the block's HTML.

    In a page, `viewer` is taken from the context (else made from the request), and the request and CSRF token go down to
    the block's forms.
    """
    values = context.flatten()
    if "live_children" in values or "live_page" in values:
        return base.nested(block, values)
    if "viewer" not in values:
        values["viewer"] = viewer_for(values["request"].user)
    values["live_page"] = {name: values[name] for name in ("request", "csrf_token") if name in values}
    return base.nested(block, values)
