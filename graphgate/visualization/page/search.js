"use strict";
// Search over ids and every column. A result is a node or a group of nodes with a value.

const OPERATORS = {
  "=": (a, b) => a === b, ":": (a, b) => a === b, "<": (a, b) => a < b, ">": (a, b) => a > b,
  "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
};
const lowerIds = later(() => Array.from({ length: N }, (_, node) => idOf(node).toLowerCase()));
const fold = (text) => text.trim().toLowerCase();

/**
 * Nodes whose id is the text; then those whose id begins with it; values of columns that contain it,
 * as groups; then other nodes whose id or text contains it.
 * A result is {node, note} or {query, note}, where `query` names a group.
 */
function search(text, most) {
  const wanted = fold(text);
  if (!wanted) return [];
  const query = parseQuery(text);
  const groups = [];
  if (query && !joinsConditions(text)) {
    groups.push({ query: text.trim(), note: count(query.nodes().length, "node") });
  }
  if (!query) groups.push(...matchingValues(wanted).slice(0, most));
  const [same, begins, contains] = [[], [], []];
  lowerIds().forEach((id, node) => {
    if (id === wanted) same.push({ node });
    else if (begins.length < most && id.startsWith(wanted)) begins.push({ node });
    else if (contains.length < most && id.includes(wanted)) contains.push({ node });
  });
  const texts = columns.filter((column) => column.kind === "text")
    .flatMap((column) => matchingTexts(column, wanted, most));
  const nodes = [...begins, ...texts, ...contains];
  const room = Math.max(2, most - same.length - Math.min(nodes.length, most >> 1));
  return [...same, ...groups.slice(0, room), ...nodes].slice(0, most);
}

function matchingTexts(column, wanted, most) {
  const found = [];
  column.lower ??= column.texts.map((text) => text.toLowerCase());
  for (let node = 0; node < N && found.length < most; node++) {
    if (column.lower[node].includes(wanted)) {
      found.push({ node, note: column === titles ? "" : `${column.name}: ${column.texts[node]}` });
    }
  }
  return found;
}

/** Categories that contain the text, numbers equal to it and dates that begin with it, as groups. */
function matchingValues(wanted) {
  const found = [];
  const add = (column, name, many, at = 0) => {
    if (many) found.push({ query: `${column.name}: ${name}`, note: count(many, "node"), at, many });
  };
  for (const column of columns) {
    if (column.kind === "category") {
      column.names.forEach((name, code) => {
        const at = name.toLowerCase().indexOf(wanted);
        if (at >= 0) add(column, name, codeCounts(column)[code], at);
      });
    } else if (column.kind !== "text" && /^-?\d/.test(wanted)) {
      const holds = condition(column, "=", wanted);
      if (holds) add(column, wanted, column.values.reduce((sum, _, node) => sum + holds(node), 0));
    }
  }
  return found.sort((a, b) => (a.at > 0) - (b.at > 0) || b.many - a.many);
}

/** The number of nodes of each category. */
function codeCounts(column) {
  return (column.counts ??= (() => {
    const counts = new Uint32Array(column.names.length);
    for (const code of column.values) if (code >= 0) counts[code]++;
    return counts;
  })());
}

/** A query such as `town: Ulm`, `age >= 40`, `age: 20..30` or `joined < 2021-03`: {column, nodes}; else null. */
function parseQuery(text) {
  for (const column of [...columns].sort((a, b) => b.name.length - a.name.length)) {
    if (!fold(text).startsWith(column.name.toLowerCase())) continue;
    const rest = /^\s*(<=|>=|[<>=:])\s*(.+)$/s.exec(text.trim().slice(column.name.length));
    if (!rest) continue;
    const holds = condition(column, rest[1], rest[2].trim());
    if (holds) return { column, nodes: () => Array.from({ length: N }, (_, n) => n).filter(holds) };
  }
  return null;
}

/** Whether a text that finds no group joins several conditions, such as `town: Ulm & age > 40`. */
function joinsConditions(text) {
  const joints = [...text.matchAll(/[&|;]+|\s(?:and|or)\s/gi)];
  if (!joints.length || parseQuery(text)?.nodes().length) return false;
  return joints.some(({ index, 0: sign }) => {
    const first = parseQuery(text.slice(0, index));
    return first && (/[<>=:]/.test(text.slice(index + sign.length)) || first.nodes().length > 0);
  });
}

/** Days since 1970 of 2024, 2024-05, 2024-05-17 or 2024-05-17 13:45; NaN of anything else. */
function daysOf(text) {
  return Date.parse(text.includes(":") ? `${text.replace(" ", "T")}Z` : text) / 86400000;
}

function condition(column, operator, wanted) {
  const same = operator === "=" || operator === ":";
  const ends = same && column.values && column.kind !== "category" && wanted.split("..").map((end) => end.trim());
  if (ends?.length === 2) {
    const [from, to] = [condition(column, ">=", ends[0]), condition(column, "<=", ends[1])];
    return from && to && ((node) => from(node) && to(node));
  }
  if (same && column.kind !== "number") {
    const word = wanted.toLowerCase();
    const whole = (node) => textOf(column, node).toLowerCase() === word;
    return column.kind === "date" ? (node) => textOf(column, node).startsWith(wanted) : whole;
  }
  if (column.kind === "category" || column.kind === "text") return null;
  const plain = wanted.replaceAll(",", "");
  const limit = column.kind === "date" ? daysOf(wanted) : Number(plain);
  if (Number.isNaN(limit) || !plain) return null;
  const compare = OPERATORS[operator];
  if (!same) return (node) => compare(column.values[node], limit);
  return (node) => column.values[node] === limit || textOf(column, node) === wanted;
}
