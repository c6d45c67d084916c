"""Ten pairs of tables as people have them, with what should be made of every column.

Each function returns the columns of the edges and of the nodes as lists of plain values, the roles
(source, target, id), and the kind of every other column of the nodes; "drop" where it should be
left out.
"""

import json
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

N = 240


class Messy(NamedTuple):
    edges: dict[str, list[Any]]
    nodes: dict[str, list[Any]]
    roles: tuple[str, str, str]
    kinds: dict[str, str]


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _pairs(rng: np.random.Generator, ids: list[Any], count: int = 3 * N) -> tuple[list, list]:
    left, right = rng.integers(0, len(ids), (2, count))
    return [ids[at] for at in left], [ids[at] for at in right]


def _names(n: int) -> list[str]:
    return [f"p{at}x{at * 7 % 11}" for at in range(n)]


def _choice(rng: np.random.Generator, values: list[Any], n: int = N) -> list[Any]:
    return [values[at] for at in rng.integers(0, len(values), n)]


def _holes(rng: np.random.Generator, values: list[Any], share: float = 0.3) -> list[Any]:
    return [
        None if hole else v for v, hole in zip(values, rng.random(len(values)) < share, strict=True)
    ]


def currencies() -> Messy:
    rng, ids = _rng(0), _names(N)
    amounts = rng.lognormal(6, 2, N)
    source, target = _pairs(rng, ids)
    german = [f"{a:,.2f}".translate(str.maketrans(",.", ".,")) + " €" for a in amounts]
    nodes = {
        "name": ids,
        "price": [f"€ {a:,.2f}" for a in amounts],
        "preis": german,
        "visits": [f"{a:,.0f}" for a in amounts * 100],
        "discount": [f"{a % 80:.0f} %" for a in amounts],
        "traffic": [
            f"{a:.1f} {unit}"
            for a, unit in zip(amounts, _choice(rng, ["kB", "MB", "GB"]), strict=True)
        ],
        "balance": [f"{'-' * int(a > 500)}${a:.2f}" for a in amounts],
        "postcode": [f"{int(a * 7) % 100_000:05}" for a in amounts],
    }
    kinds = {
        "price": "number",
        "preis": "comma number",
        "visits": "number",
        "discount": "number",
        "traffic": "number",
        "balance": "number",
        "postcode": "category",
    }
    return Messy({"from": source, "to": target}, nodes, ("from", "to", "name"), kinds)


def dates() -> Messy:
    rng, ids = _rng(1), list(range(1000, 1000 + N))
    days = [date(2019, 1, 1) + timedelta(int(day)) for day in rng.integers(0, 2000, N)]
    mixed = ["%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%b %d, %Y"]
    source, target = _pairs(rng, ids)
    nodes = {
        "node_id": ids,
        "born": [day.isoformat() for day in days],
        "joined": [day.strftime("%d.%m.%Y") for day in days],
        "seen": [day.strftime(form) for day, form in zip(days, _choice(rng, mixed), strict=True)],
        "paid": [day.strftime("%d/%m/%Y") for day in days],
        "shipped": [day.strftime("%m/%d/%Y") for day in days],
        "logged": [f"{day.isoformat()}T{day.day % 24:02}:15:00Z" for day in days],
        "opens": [f"{day.day % 24:02}:{day.month * 4:02}" for day in days],
        "gone": _holes(rng, [day.isoformat() for day in days]),
    }
    kinds = {
        "born": "date",
        "joined": "date",
        "seen": "date",
        "paid": "day-first date",
        "shipped": "date",
        "logged": "date",
        "opens": "time",
        "gone": "date",
    }
    return Messy({"src": source, "dst": target}, nodes, ("src", "dst", "node_id"), kinds)


WORDS = {
    "en": "the quick river stone carries many small silver fishes below an old wooden bridge",
    "de": "der schnelle Fluß trägt viele kleine silberne Fische unter einer alten hölzernen Brücke",
    "fr": "la rivière rapide porte beaucoup de petits poissons argentés sous un vieux pont en bois",
}


def languages() -> Messy:
    rng, ids = _rng(2), _names(N)
    source, target = _pairs(rng, ids)
    spoken = _choice(rng, sorted(WORDS))
    texts = [
        " ".join(rng.choice(WORDS[which].split(), 9)).capitalize() + ", " + str(k) + "!"
        for k, which in enumerate(spoken)
    ]
    nodes = {
        "title": [f"Room {k % 4}" for k in range(N)],
        "key": ids,
        "abstract": texts,
        "language": spoken,
        "remark": _holes(rng, [text.upper() for text in texts], 0.6),
    }
    kinds = {"title": "category", "abstract": "text", "language": "category", "remark": "text"}
    return Messy({"head": source, "tail": target}, nodes, ("head", "tail", "key"), kinds)


def nested() -> Messy:
    rng, ids = _rng(3), _names(N)
    source, target = _pairs(rng, ids)
    sizes, colors = rng.integers(1, 90, N), _choice(rng, ["red", "green", "blue"])
    things = ["chess", "music", "rowing", "film", "tea"]
    sets = [sorted(set(_choice(rng, things, 3))) for _ in range(N)]
    whole = [{"size": int(size), "color": color} for size, color in zip(sizes, colors, strict=True)]
    nodes = {
        "id": ids,
        "extra": [json.dumps(each) for each in whole],
        "likes": [json.dumps(each) for each in sets],
        "tags": [", ".join(each) for each in sets],
        "keys": ["; ".join(each) for each in sets],
    }
    kinds = {
        "extra": "object",
        "extra.size": "number",
        "extra.color": "category",
        "likes": "list",
        "tags": "list at ,",
        "keys": "list at ;",
    }
    return Messy({"source": source, "target": target}, nodes, ("source", "target", "id"), kinds)


def many_categories() -> Messy:
    rng = _rng(4)
    n = 6000
    ids = [f"u{at}-{at * 31 % 97}" for at in range(n)]
    source, target = _pairs(rng, ids, 3 * n)
    places = [
        f"{first}{middle}{last}"
        for first in (
            "ober",
            "unter",
            "klein",
            "groß",
            "neu",
            "alt",
            "bad",
            "sankt",
            "nieder",
            "burg",
        )
        for middle in ("berg", "tal", "wald", "bach", "feld", "see", "stein", "hof", "dorf", "moor")
        for last in (*"abcdefghijklmnopqrst", *(f"hausen{c}" for c in "abcdefghij"))
    ]
    nodes = {
        "user": ids,
        "town": [places[at] for at in rng.integers(0, 3000, n)],
        "shop": [int(at) for at in rng.integers(10, 30, n)],
    }
    kinds = {"town": "category", "shop": "number"}
    return Messy({"user": source, "friend": target}, nodes, ("user", "friend", "user"), kinds)


def mixed_ids() -> Messy:
    """Ids are integers in one table and text in the other, and are copied."""
    rng, ids = _rng(5), list(range(500, 500 + N))
    source, target = _pairs(rng, ids)
    nodes = {
        "customer_id": [str(at) for at in ids],
        "crm": [f"{at}" for at in ids],
        "row": list(range(N)),
        "hash": [f"{at * 2654435761 % 2**64:016x}" + "a5" for at in range(1, N + 1)],
        "account": [f"AC-{at:06}" for at in rng.permutation(N)],
        "source_system": ["CRM"] * N,
        "age": [int(at) for at in rng.integers(18, 90, N)],
    }
    kinds = {
        "crm": "drop",
        "row": "drop",
        "hash": "drop",
        "account": "drop",
        "source_system": "drop",
        "age": "number",
    }
    edges = {"amount": [1.5] * len(source), "payer": source, "payee": target}
    return Messy(edges, nodes, ("payer", "payee", "customer_id"), kinds)


def missing() -> Messy:
    rng, ids = _rng(6), _names(N)
    source, target = _pairs(rng, ids)
    numbers = [str(int(at)) for at in rng.integers(0, 60, N)]
    marks = ["n/a", "NA", "-", "null"]
    nodes = {
        "id": ids,
        "age": _holes(rng, [int(at) for at in rng.integers(0, 60, N)]),
        "score": [
            marks[at % 4] if hole else value
            for at, (value, hole) in enumerate(zip(numbers, rng.random(N) < 0.3, strict=True))
        ],
        "member": _holes(rng, _choice(rng, ["yes", "no"])),
        "active": _holes(rng, _choice(rng, [True, False])),
        "town": _holes(rng, _choice(rng, ["Ulm", "Bern", "Lyon"])),
        "nothing": [None] * N,
        "flag": _holes(rng, ["x"] * N),
    }
    kinds = {
        "age": "number",
        "score": "number",
        "member": "boolean",
        "active": "boolean",
        "town": "category",
        "nothing": "drop",
        "flag": "category",
    }
    return Messy({"u": source, "v": target}, nodes, ("u", "v", "id"), kinds)


def contacts() -> Messy:
    rng, ids = _rng(7), _names(N)
    source, target = _pairs(rng, ids)
    hosts = ["example.org", "lists.example.org", "mail.test", "shop.test"]
    people = _choice(rng, ["Ada Byron", "Alan Turing", "Grace Hopper", "Emmy Noether"])
    where = _choice(rng, hosts)
    nodes = {
        "package": ids,
        "maintainer": [
            f"{who} <{who.split()[0].lower()}{at % 30}@{host}>"
            for at, (who, host) in enumerate(zip(people, where, strict=True))
        ],
        "mail": [f"box{at % 40}@{host}" for at, host in enumerate(where)],
        "homepage": [
            f"https://{host}/{who.split()[1].lower()}/{at % 9}?x=1"
            for at, (who, host) in enumerate(zip(people, where, strict=True))
        ],
        "version": [f"{at % 5}.{at % 7}.{at % 3}-{at % 4}" for at in range(N)],
        "tags": [
            ", ".join(f"use::{word}" for word in sorted(set(_choice(rng, ["a", "b", "c", "d"], 3))))
            for _ in range(N)
        ],
    }
    kinds = {
        "maintainer": "email",
        "mail": "email",
        "homepage": "url",
        "version": "category",
        "tags": "list at ,",
    }
    edges = {"package": source, "depends_on": target}
    return Messy(edges, nodes, ("package", "depends_on", "package"), kinds)


def stacked_types() -> Messy:
    """Customers and products in one table, edges with a kind and a time."""
    rng = _rng(8)
    customers, products = [f"c{at}" for at in range(N)], [f"s{at}" for at in range(N // 2)]
    n = len(customers) + len(products)
    source = _choice(rng, customers, 3 * N)
    target = _choice(rng, products, 3 * N)
    gap = [None] * len(products)
    nodes = {
        "type": ["customer"] * len(customers) + ["product"] * len(products),
        "sku_or_number": customers + products,
        "age": [int(at) for at in rng.integers(18, 90, N)] + gap,
        "price": [None] * N + [f"{p:.2f} €" for p in rng.lognormal(3, 1, len(products))],
        "lat": [*rng.uniform(45, 55, N).round(4).tolist(), *gap],
        "lon": [*rng.uniform(5, 15, N).round(4).tolist(), *gap],
    }
    assert all(len(column) == n for column in nodes.values())
    kinds = {
        "type": "category",
        "age": "number",
        "price": "number",
        "lat": "latitude",
        "lon": "longitude",
    }
    edges = {
        "when": [f"2024-0{1 + at % 9}-11 08:0{at % 7}:00" for at in range(3 * N)],
        "kind": _choice(rng, ["bought", "viewed", "returned"], 3 * N),
        "customer": source,
        "product": target,
    }
    return Messy(edges, nodes, ("customer", "product", "sku_or_number"), kinds)


def yes_and_codes() -> Messy:
    """Spellings of booleans, integers with several meanings, and text that is short."""
    rng, ids = _rng(9), list(range(N))
    ids = [at * 17 + 3 for at in ids]
    source, target = _pairs(rng, ids)
    nodes = {
        "id": ids,
        "optin": _choice(rng, ["Y", "N"]),
        "aktiv": _choice(rng, ["ja", "nein"]),
        "paid": _choice(rng, ["TRUE", "FALSE"]),
        "stars": [int(at) for at in rng.integers(1, 6, N)],
        "year": [int(at) for at in rng.integers(1990, 2024, N)],
        "full name": [
            f"{first}{at % 3} {last}{at % 50}"
            for at, (first, last) in enumerate(
                zip(_choice(rng, ["Ann", "Bo"]), _choice(rng, ["Lee", "Ray"]), strict=True)
            )
        ],
        "one": [1] * N,
    }
    kinds = {
        "optin": "boolean",
        "aktiv": "boolean",
        "paid": "boolean",
        "stars": "number",
        "year": "number",
        "full name": "category",
        "one": "drop",
    }
    return Messy({"parent": source, "child": target}, nodes, ("parent", "child", "id"), kinds)


PAIRS = {
    make.__name__: make
    for make in (
        *(currencies, dates, languages, nested, many_categories, mixed_ids, missing),
        *(contacts, stacked_types, yes_and_codes),
    )
}
