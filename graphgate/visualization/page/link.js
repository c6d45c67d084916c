"use strict";
// The address of the page says what it shows, so that a link restores it.

let linkTimer = 0;

/** Called whenever something that a link restores has changed. */
function linkChanged() {
  clearTimeout(linkTimer);
  linkTimer = setTimeout(writeLink, 200);
}

/** What is shown, as the part of an address after #. */
function linkText() {
  const { column, hidden, selected, group } = state;
  const said = new URLSearchParams();
  if (column && column !== firstColumn()) said.set("color", column.name);
  if (hidden.size) said.set("hide", [...hidden].join("."));
  if (!$("show-edges").checked) said.set("edges", "0");
  if ($("threshold").value !== "0") said.set("weakest", $("threshold").value);
  if (!$("show-names").checked) said.set("names", "0");
  if (group?.query) said.set("group", group.query);
  else if (group) said.set("outline", group.outline.map(Math.round).join("."));
  if (selected >= 0) said.set("node", idOf(selected));
  if (map && (!map.view.whole || selected >= 0 || group)) {
    const [x, y] = map.view.target;
    said.set("view", [x.toFixed(1), y.toFixed(1), map.doublings().toFixed(2)].join("_"));
  }
  return said.toString();
}

function writeLink() {
  const text = linkText();
  if (text !== location.hash.slice(1)) {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }
}

/** Shows what the address says; what does not exist in this graph is ignored. */
function readLink() {
  const said = new URLSearchParams(location.hash.slice(1));
  const named = columns.find((each) => each.kind !== "text" && each.name === said.get("color"));
  $("show-edges").checked = said.get("edges") !== "0";
  $("show-names").checked = said.get("names") !== "0";
  $("threshold").value = said.get("weakest") ?? "0";
  state.group = null;
  state.threshold = thresholdAt(Number($("threshold").value));
  showThreshold();
  colorBy(named ?? firstColumn() ?? null);
  if (said.has("hide") && state.column?.kind === "category") {
    const codes = said.get("hide").split(".").map(Number);
    state.hidden = new Set(codes.filter((code) => code >= -1 && code < state.column.names.length));
    fillLegend();
  }
  const outline = (said.get("outline") ?? "").split(".").map(Number);
  if (said.has("group")) state.group = queryGroup(said.get("group"));
  else if (outline.length >= 6 && outline.every(Number.isFinite)) {
    state.group = outlineGroup(outline, LASSO);
  }
  if (!state.group?.nodes.length) state.group = null;
  state.selected = said.has("node") ? nodeOf(said.get("node")) : -1;
  showSelected();
  repaint();
}

const nodeOf = (id) => (about.ids ? about.ids.indexOf(id) : /^\d+$/.test(id) && Number(id) < N ? Number(id) : -1);

/** The view that the address names: {target, doublings}, or null. */
function linkedView() {
  const view = new URLSearchParams(location.hash.slice(1)).get("view") ?? "";
  const [x, y, doublings] = view.split("_").map(Number);
  return [x, y, doublings].every(Number.isFinite) ? { target: [x, y, 0], doublings } : null;
}

async function copyLink() {
  writeLink();
  try {
    await navigator.clipboard.writeText(location.href);
    announce("Copied a link to this view.", true);
  } catch {
    announce("The link to this view is in the address bar.", true);
  }
}

/** Moves the map to what the address names: a view, else a node, else a group. */
function showLinked() {
  const view = linkedView();
  if (view || (state.selected < 0 && !state.group)) return map.goTo(view);
  map.showNodes(state.selected >= 0 ? surroundings(state.selected) : state.group.nodes);
}

function watchLink() {
  addEventListener("hashchange", () => {
    readLink();
    if (map) showLinked();
  });
}
