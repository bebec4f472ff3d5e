"""The report: one HTML file that needs nothing else.

The page may not ask the network for anything (its own content policy forbids it), and no script runs in it but the
ones written here, which the policy names by their hash. Names and levels are text wherever they appear.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dpcate.errors import ParameterError
from dpcate.report.sections import report_content
from dpcate.report.whatif import what_if

if TYPE_CHECKING:
    from dpcate.learners import CateLearner

__all__ = ["LARGEST", "render_report"]

LARGEST = 3_000_000
"""Bytes that a report may have."""

_VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
_WIDTH = 520
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def render_report(learner: CateLearner, card: dict[str, Any], *, title: str | None = None) -> str:
    """Return the report as one self-contained HTML text of at most 3 MB.

    With very many features the pictures are drawn here rather than in the page, and then the "what if" panel is left
    out, so that the file stays small.

    Parameters
    ----------
    learner
        A fitted or loaded learner.
    card
        Its card, from :func:`~dpcate.report.make_card`.
    title
        Heading of the page; None takes the card's.

    Privacy
    -------
    Post-processing of released numbers: costs nothing.
    """
    content, charts = report_content(learner, card)
    numbers = what_if(learner)
    for drawn, panel in ((False, True), (True, True), (True, False)):
        page = _page(card, content, charts, numbers if panel else None, title=title or card["title"], drawn=drawn)
        if len(page.encode()) <= LARGEST:
            return page
    raise ParameterError(f"the report would exceed {LARGEST} bytes: the schema has too many features or levels.")


def _page(
    card: dict[str, Any],
    content: dict[str, Any],
    charts: dict[str, Any],
    numbers: dict[str, Any] | None,
    *,
    title: str,
    drawn: bool,
) -> str:
    environment = Environment(
        loader=PackageLoader("dpcate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = [*([] if drawn else [_bundle()]), _static("report.js")]
    numbers = numbers and {**numbers, "decimals": content["decimals"]}
    return environment.get_template("report.html.j2").render(
        card=card,
        title=title,
        style=Markup(_static("report.css")),  # our own file
        scripts=[Markup(script) for script in scripts],  # our own file and the drawing library
        policy=_policy(scripts),
        controls=numbers["columns"] if numbers else [],
        pictures={place: _picture(spec) for place, spec in charts.items()} if drawn else {},
        data=_as_json({"charts": {} if drawn else charts, "whatif": numbers}),
        **content,
    )


def _static(name: str) -> str:
    return files("dpcate.report").joinpath("static").joinpath(name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Return the drawing library as one script."""
    text: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_VEGA_LITE)
    return text.replace("\r", "").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(scripts: list[str]) -> str:
    """Return a content policy under which only these scripts run and nothing is fetched."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _picture(spec: dict[str, Any]) -> str:
    """Return a picture as a data address: inside an image nothing can run."""
    svg = vl_convert.vegalite_to_svg({**spec, "width": _WIDTH}, vl_version=_VEGA_LITE)
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _as_json(value: Any) -> Markup:  # noqa: ANN401 - any JSON value
    """Return JSON that cannot end the element that it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # ASCII: line separators are escaped too
    return Markup(text.translate(_ESCAPES))
