"""The specification as a page: plain HTML that requests nothing."""

import json
from html import escape
from typing import Any

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c2833; background: #fff; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccd; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: #f3f5f8; padding: 0.75rem; overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; }
"""


def reference_page(specification: dict[str, Any]) -> str:
    """A page with all operations and schemas of an OpenAPI specification."""
    info = specification["info"]
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        f"<p>{escape(info['description'])}</p>",
        '<p>Machine-readable: <a href="openapi.json">openapi.json</a></p>',
    ]
    for path, operations in specification["paths"].items():
        for method, operation in operations.items():
            parts += _operation(path, method, operation)
    parts += ['<h2 id="mistakes">Mistakes</h2>', _mistakes(specification), "<h2>Schemas</h2>"]
    for name, schema in specification["components"]["schemas"].items():
        text = escape(json.dumps(schema, indent=2, ensure_ascii=False))
        parts.append(f'<h3 id="{escape(name)}">{escape(name)}</h3><pre>{text}</pre>')
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    parts = [f"<h2><code>{method.upper()} {escape(path)}</code></h2>"]
    text = operation.get("description") or operation["summary"]
    parts.append(f"<p>{escape(text)}</p>")
    if parameters := operation.get("parameters"):
        rows = [
            (
                parameter["name"] + " (required)" * parameter.get("required", False),
                parameter["schema"].get("description", parameter.get("description", "")),
            )
            for parameter in parameters
        ]
        parts.append(_table(rows))
    if "requestBody" in operation:
        parts.append(f"<p>Body: {_link(operation['requestBody']['content'])}</p>")
    answers = operation["responses"]
    statuses = sorted(status for status in answers if status >= "400")
    mistakes = ", ".join(f'<a href="#mistakes">{status}</a>' for status in statuses)
    return [
        *parts,
        f"<p>Answer: {_link(answers['200'].get('content', {}))}. Mistakes: {mistakes}.</p>",
    ]


def _mistakes(specification: dict[str, Any]) -> str:
    """Every status of a mistake, once."""
    descriptions = {
        status: answer["description"]
        for operations in specification["paths"].values()
        for operation in operations.values()
        for status, answer in operation["responses"].items()
        if status >= "400"
    }
    return _table(sorted(descriptions.items()))


def _link(content: dict[str, Any]) -> str:
    """To the schema of the first kind of content that has one."""
    for kind in content.values():
        if name := kind.get("schema", {}).get("$ref", "").rpartition("/")[2]:
            return f'<a href="#{escape(name)}">{escape(name)}</a>'
    return "text"


def _table(rows: list[tuple[str, str]]) -> str:
    cells = [(escape(name), escape(text)) for name, text in rows]
    lines = (f"<tr><td><code>{name}</code></td><td>{text}</td></tr>" for name, text in cells)
    return f"<table>{''.join(lines)}</table>"
