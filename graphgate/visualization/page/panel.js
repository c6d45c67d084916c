"use strict";
// The selected node, the selected group, and search. Data is only ever inserted as text.

const LISTED = 50; // neighbors and members in the lists; the rest are counted
const narrow = matchMedia("(max-width: 700px)");
const MATCHES = 9;
const DESCRIBED = 12;

/** Tells screen readers what has happened; what is not seen elsewhere is written below the search too. */
function announce(text, seen = false) {
  $("status").textContent = text;
  $("note").textContent = seen ? text : "";
}

// --- one node ---

/** Names and texts of a node's columns that have a value. */
function attributesOf(node) {
  return columns.map((column) => [column.name, textOf(column, node)]).filter(([, text]) => text);
}

function attributeList(attributes) {
  return attributes.flatMap(([name, text]) => [element("dt", name), element("dd", text)]);
}

/** A row of a list: the name above a thin bar, so that the bar takes no room from it. */
function nodeRow({ node, value }, fraction, text) {
  const button = element("button");
  button.type = "button";
  const swatch = element("span", "", "swatch");
  swatch.style.backgroundColor = css(colorOf(node));
  const name = nameElement(nameOf(node));
  name.title = nameOf(node);
  const kind = state.column?.kind === "category" ? textOf(state.column, node) : "";
  button.append(swatch, name, element("span", kind, "kind"));
  if (fraction !== null) {
    const bar = element("span", "", "bar");
    const filled = element("span");
    filled.style.width = `${Math.round(100 * Math.max(0, Math.min(1, fraction)))}%`;
    bar.append(filled);
    button.append(element("span", text(value), "value"), bar);
  }
  button.addEventListener("click", () => select(node));
  const item = element("li");
  item.append(button);
  return item;
}

/** Three digits; a cosine that is not quite 1 does not read as 1. */
function cosineText(value) {
  return value < 1 && value > 0.9995 ? "> 0.999" : value.toFixed(3);
}

function fillNodes(list, nodes, fraction, text) {
  const items = nodes.slice(0, LISTED).map((each) => nodeRow(each, fraction?.(each) ?? null, text));
  if (nodes.length > LISTED) {
    items.push(element("li", `and ${(nodes.length - LISTED).toLocaleString("en")} more`, "more"));
  }
  $(list).replaceChildren(...items);
}

function showSelected() {
  const node = state.selected;
  $("selected").hidden = node < 0;
  $("group").hidden = node >= 0 || !state.group;
  $("help").hidden = node >= 0 || state.group !== null;
  if (node < 0) return showGroup();
  $("selected-id").textContent = nameOf(node);
  const attributes = attributesOf(node);
  if (titles) attributes.unshift(["id", idOf(node)]);
  const first = narrow.matches ? 2 : 5; // the others on request, so that the nearest nodes are in sight
  const more = attributes.splice(attributes.length > first + 1 ? first : attributes.length);
  $("attributes").replaceChildren(...attributeList(attributes));
  $("more-attributes").replaceChildren(...attributeList(more));
  $("more").hidden = !more.length;
  $("more-title").textContent = count(more.length, "more attribute");
  const neighbors = neighborsOf(node);
  const many = count(neighbors.length, "neighbor");
  const title = about.edgeTitle === "attention" ? `Attends to ${many}` : many;
  $("neighbors-title").textContent = title;
  $("neighbors-note").textContent = neighbors.length && about.edgeTitle ? about.edgeTitle : "";
  const most = (!percentiles && neighbors[0]?.value) || 1;
  const fraction = about.edgeTitle === null ? null : (each) => each.value / most;
  fillNodes("neighbors", neighbors, fraction, edgeValueText);
  $("nearest-part").hidden = about.nearest === 0;
  fillNodes("nearest", nearestOf(node), (each) => each.value, cosineText);
}

/** Selects a node and moves the map to its neighborhood; -1 clears. */
function select(node, { move = true } = {}) {
  state.selected = node;
  state.hovered = -1;
  clearTimeout(hoverPaint);
  hideCard();
  showSelected();
  paintFocus();
  linkChanged();
  if (node < 0) return announce("");
  if (move) map?.showNodes(surroundings(node));
  $("panel").scrollTop = 0;
  if (isHidden(node)) announce("This node is hidden in the legend.", true);
  else announce(`Selected ${nameOf(node)}, ${count(neighborsOf(node).length, "neighbor")}.`);
}

// --- a group ---

/** Selects a group and describes it; null or an empty group clears. */
function selectGroup(group, move) {
  state.group = group?.nodes.length ? group : null;
  state.selected = -1;
  showSelected();
  repaint();
  linkChanged();
  announce(state.group ? `Selected ${count(group.nodes.length, "node")}.` : "No nodes selected.", !state.group && group !== null);
  if (move && state.group) map?.showNodes(group.nodes);
  $("panel").scrollTop = 0;
}

function newGroup(nodes, title, more) {
  const members = new Uint8Array(N);
  for (const node of nodes) members[node] = 1;
  return { nodes, members, title, ...more };
}

/** The nodes that a query finds, or null if it is none. */
function queryGroup(text) {
  const [query, title] = [parseQuery(text), text.trim()];
  return query && newGroup(query.nodes(), title, { query: title, column: query.column });
}

const outlineGroup = (outline, title) => newGroup(nodesInside(outline, isHidden), title, { outline });

function showGroup() {
  if (!state.group) return;
  const { nodes, title, column } = state.group;
  $("group-title").textContent = count(nodes.length, "node");
  $("group-note").textContent = title;
  const found = describeGroup(nodes, column);
  $("group-nothing").hidden = found.length > 0;
  $("group-nothing").textContent = nodes.length === N
    ? "All nodes are in this group, so there is nothing to compare it with."
    : "Nothing is significantly more common in this group than elsewhere.";
  $("description").replaceChildren(...found.slice(0, DESCRIBED).map(describedRow));
  fillNodes("members", nodes.map((node) => ({ node })));
}

const percent = (fraction) =>
  `${(100 * fraction).toLocaleString("en", { maximumFractionDigits: fraction < 0.095 ? 1 : 0 })}%`;

/** What is more common in a group: how common it is, above a bar with a mark where it is elsewhere. */
function describedRow({ column, name, fraction, elsewhere }) {
  const item = element("li");
  const title = nameElement(name);
  title.prepend(element("span", `${column.name} `, "kind"));
  const bar = element("span", "", "bar");
  const filled = element("span");
  filled.style.width = percent(fraction);
  if (column === state.column && column.kind === "category") {
    filled.style.backgroundColor = css(valueColor(column, column.names.indexOf(name)));
  }
  const mark = element("span", "", "mark");
  mark.style.left = percent(elsewhere);
  bar.append(filled, mark);
  const against = `${percent(fraction)}, elsewhere ${percent(elsewhere)}`;
  item.append(title, element("span", against, "value"), bar);
  return item;
}

function downloadGroup() {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([groupCsv(state.group.nodes)], { type: "text/csv" }));
  link.download = "nodes.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// --- the card at the pointer ---

let hoverPaint = 0;

function hideCard() {
  $("card").hidden = true;
}

function hover(node, x = 0, y = 0) {
  $("map").classList.toggle("over", node >= 0);
  if (node !== state.hovered) {
    state.hovered = node;
    clearTimeout(hoverPaint); // only where the pointer rests
    hoverPaint = setTimeout(paintFocus, 60);
    if (node >= 0) fillCard(node);
  }
  if (node < 0) return hideCard();
  const card = $("card");
  card.hidden = false;
  const { offsetWidth, offsetHeight } = card;
  card.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - offsetWidth - 4))}px`;
  card.style.top = `${y + 14 + offsetHeight > innerHeight ? Math.max(4, y - offsetHeight - 10) : y + 14}px`;
}

function fillCard(node) {
  const list = element("dl");
  list.append(...attributeList(attributesOf(node).slice(0, 8)));
  $("card").replaceChildren(element("strong", nameOf(node)), list);
}

// --- search ---

const found = { results: [], active: -1 };

function showMatches() {
  const list = $("matches");
  list.replaceChildren(...found.results.map((result, at) => {
    const item = element("li");
    const name = result.query ?? nameOf(result.node);
    const note = result.note || (titles && result.node !== undefined ? idOf(result.node) : "");
    item.append(element("span", name, "name"), element("span", note, "quiet"));
    item.id = `match-${at}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(at === found.active));
    item.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      choose(result);
    });
    return item;
  }));
  list.hidden = found.results.length === 0;
  $("search").setAttribute("aria-expanded", String(!list.hidden));
  if (found.active >= 0) $("search").setAttribute("aria-activedescendant", `match-${found.active}`);
  else $("search").removeAttribute("aria-activedescendant");
}

function closeMatches() {
  Object.assign(found, { results: [], active: -1 });
  showMatches();
}

function choose(result) {
  closeMatches();
  $("search").value = result.query ?? nameOf(result.node);
  if (result.query) selectGroup(queryGroup(result.query), true);
  else select(result.node);
}

function watchSearch() {
  const box = $("search");
  box.addEventListener("input", () => {
    Object.assign(found, { results: search(box.value, MATCHES), active: -1 });
    showMatches();
    const { length } = found.results;
    if (joinsConditions(box.value)) announce("Only one condition is allowed at a time.", true);
    else if (!length && box.value.trim()) announce("Nothing found.", true);
    else announce(length ? count(length, "result") : "");
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.results.length) {
      event.preventDefault();
      const many = found.results.length;
      found.active = found.active < 0 && step < 0 ? many - 1 : (found.active + step + many) % many;
      showMatches();
    } else if (event.key === "Enter") {
      const result = found.results[Math.max(0, found.active)] ?? search(box.value, 1)[0];
      if (result) choose(result);
    } else if (event.key === "Escape" && found.results.length) {
      event.stopPropagation();
      closeMatches();
    }
  });
  box.addEventListener("blur", closeMatches);
}
