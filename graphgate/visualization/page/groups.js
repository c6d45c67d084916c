"use strict";
// Groups of nodes: inside an outline, or with a value; and what is more common in them than elsewhere.

/** The nodes inside an outline, [x, y, x, y, …] in map units, that are not hidden. */
function nodesInside(outline, isHidden) {
  const found = [];
  for (let node = 0; node < N; node++) {
    if (isInside(points[2 * node], points[2 * node + 1], outline) && !isHidden(node)) found.push(node);
  }
  return found;
}

/** Whether a ray from the point crosses the outline an odd number of times. */
function isInside(x, y, outline) {
  let inside = false;
  for (let i = 0, j = outline.length - 2; i < outline.length; j = i, i += 2) {
    const [x1, y1, x2, y2] = [outline[i], outline[i + 1], outline[j], outline[j + 1]];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}

/**
 * What distinguishes a group, most distinctive first: {column, name, fraction, elsewhere}. A category
 * is listed if it is more frequent in the group than elsewhere; a number if more or fewer of the group
 * than of the others are above its overall median. Listed is what is significant at 5 % by Fisher's
 * exact test, corrected for the number of tests (Bonferroni).
 */
function describeGroup(nodes, ignored = null) {
  const members = new Uint8Array(N);
  for (const node of nodes) members[node] = 1;
  const tested = columns.filter((column) => column.kind !== "text" && column !== ignored)
    .flatMap((column) => (column.kind === "category" ? testedCategories : testedNumber)(column, members));
  const enough = Math.log(0.05 / Math.max(1, tested.length));
  return tested.filter(({ logP }) => logP < enough).sort((a, b) => a.logP - b.logP);
}

function testedCategories(column, members) {
  const [inside, outside] = [0, 1].map(() => new Float64Array(column.names.length));
  column.values.forEach((code, node) => {
    if (code >= 0) (members[node] ? inside : outside)[code]++;
  });
  const [all, others] = [inside, outside].map((counts) => counts.reduce((a, b) => a + b, 0));
  return column.names.map((name, code) => ({
    column, name, ...compared(inside[code], all, outside[code], others),
  }));
}

function testedNumber(column, members) {
  const known = column.values.filter((value) => !Number.isNaN(value)).sort();
  if (!known.length || known[0] === known[known.length - 1]) return [];
  const middle = known[known.length >> 1];
  const [inside, outside] = [[], []];
  column.values.forEach((value, node) => {
    if (!Number.isNaN(value)) (members[node] ? inside : outside).push(value);
  });
  const above = (values) => values.filter((value) => value > middle).length;
  const [a, b] = [above(inside), above(outside)];
  const higher = compared(a, inside.length, b, outside.length);
  const lower = compared(inside.length - a, inside.length, outside.length - b, outside.length);
  const limit = numberText(column, middle);
  return [{ column, name: `> ${limit}`, ...higher }, { column, name: `≤ ${limit}`, ...lower }];
}

const logFactorials = later(() => {
  const logs = new Float64Array(N + 1);
  for (let n = 1; n <= N; n++) logs[n] = logs[n - 1] + Math.log(n);
  return logs;
});

/** The fraction a / all inside a group and b / others elsewhere, and Fisher's p that it is larger. */
function compared(a, all, b, others) {
  const found = { fraction: a / all || 0, elsewhere: b / others || 0, logP: 0 };
  if (found.fraction <= found.elsewhere || !others) return found;
  const f = logFactorials();
  const choose = (n, k) => f[n] - f[k] - f[n - k];
  const total = a + b;
  found.logP = choose(all, a) + choose(others, b) - choose(all + others, total);
  let [sum, term] = [1, 1]; // of the tail, relative to its first term
  for (let k = a; k < Math.min(total, all) && term > 1e-12 * sum; k++) {
    term *= ((all - k) * (total - k)) / ((k + 1) * (others - total + k + 1));
    sum += term;
  }
  found.logP += Math.log(sum);
  return found;
}

/** A table of the ids of a group; texts that a table would split are quoted. */
function groupCsv(nodes) {
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return ["id", ...nodes.map((node) => cell(idOf(node)))].join("\r\n") + "\r\n";
}
