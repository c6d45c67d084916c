"use strict";
// Pointer and keys on the map: move, zoom, select, and draw an outline around a group.

const LASSO = "Inside the lasso";
const lasso = { on: false, outline: null }; // the outline being drawn, in pixels

function setLasso(on) {
  lasso.on = on;
  $("lasso").setAttribute("aria-pressed", String(on));
  $("map").classList.toggle("drawing", on);
  if (!on) drawOutline(null);
}

function drawOutline(outline) {
  lasso.outline = outline;
  $("outline").setAttribute("points", outline ? outline.join(" ") : "");
}

/** Selects the nodes inside the outline that was drawn; one of few pixels selects nothing. */
function closeOutline() {
  const outline = simplified(lasso.outline);
  setLasso(false);
  if (outline.length >= 3) {
    selectGroup(outlineGroup(outline.flatMap(([x, y]) => map.toMap(x, y)), LASSO), false);
  }
}

/** At most 60 corners, evenly taken. */
function simplified(corners) {
  const step = Math.max(1, corners.length / 60);
  return corners.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

function selectInView() {
  if (!map) return;
  const { clientWidth: wide, clientHeight: tall } = $("map");
  const corners = [[0, 0], [wide, 0], [wide, tall], [0, tall]];
  selectGroup(outlineGroup(corners.flatMap(([x, y]) => map.toMap(x, y)), "In view"), false);
}

/** Drags, pinches and clicks; `pressed` are the pointers that are down, by id. */
function watchPointers(area) {
  const pressed = new Map();
  let travelled = 0;
  const spot = (event) => {
    const box = area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const under = (event) => {
    const near = event.pointerType === "touch" ? 12 : 4;
    const reach = (map.dotSize() / 2 + near) / 2 ** map.view.zoom;
    return nodeAt(...map.toMap(...spot(event)), reach, isHidden);
  };
  const release = (event) => {
    pressed.delete(event.pointerId);
    area.classList.toggle("dragging", pressed.size > 0);
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (pressed.size === 0) travelled = 0;
    pressed.set(event.pointerId, spot(event));
    area.focus({ preventScroll: true });
    if (lasso.on || event.shiftKey) drawOutline([spot(event)]);
  });
  addEventListener("pointermove", (event) => {
    const from = pressed.get(event.pointerId);
    if (!from) return;
    const to = spot(event);
    travelled += Math.hypot(to[0] - from[0], to[1] - from[1]);
    if (travelled < 4) return;
    pressed.set(event.pointerId, to);
    if (lasso.outline) return drawOutline([...lasso.outline, to]);
    area.classList.add("dragging");
    const other = [...pressed].find(([id]) => id !== event.pointerId)?.[1];
    if (other) pinch(from, to, other);
    else map.moveBy(from[0] - to[0], from[1] - to[1]);
  });
  area.addEventListener("pointermove", (event) => {
    if (pressed.size === 0 && event.pointerType !== "touch") {
      hover(under(event), event.clientX, event.clientY);
    }
  });
  addEventListener("pointerup", (event) => {
    const mine = pressed.has(event.pointerId);
    release(event);
    if (!mine) return;
    if (lasso.outline && travelled >= 4) return closeOutline();
    drawOutline(null);
    if (travelled < 4) clicked(under(event));
  });
  addEventListener("pointercancel", (event) => {
    release(event);
    drawOutline(null);
  });
  area.addEventListener("pointerleave", () => hover(-1));
  area.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    map.zoomBy(Math.max(-1, Math.min(1, -pixels / 240)), ...spot(event));
  }, { passive: false });
}

/** A click beside the nodes clears the selected node, then the group. */
function clicked(node) {
  if (node >= 0) select(node);
  else clearOne();
}

function clearOne() {
  if (state.selected >= 0) select(-1);
  else if (state.group) selectGroup(null);
}

function pinch(from, to, other) {
  const apart = (a) => Math.max(1, Math.hypot(a[0] - other[0], a[1] - other[1]));
  map.zoomBy(Math.log2(apart(to) / apart(from)), (to[0] + other[0]) / 2, (to[1] + other[1]) / 2);
  map.moveBy((from[0] - to[0]) / 2, (from[1] - to[1]) / 2);
}

const MAP_KEYS = {
  ArrowLeft: () => map.moveBy(-60, 0),
  ArrowRight: () => map.moveBy(60, 0),
  ArrowUp: () => map.moveBy(0, -60),
  ArrowDown: () => map.moveBy(0, 60),
  "+": () => map.zoomBy(0.5),
  "=": () => map.zoomBy(0.5),
  "-": () => map.zoomBy(-0.5),
  0: () => map.showAll(),
  Enter: () => selectCentral(),
  n: () => step(1),
  p: () => step(-1),
  l: () => setLasso(!lasso.on),
  v: () => selectInView(),
};

/** Selects the node nearest to the middle of the map. */
function selectCentral() {
  const [x, y] = map.view.target;
  for (let within = 2; within < 4 * SIDE; within *= 2) {
    const node = nodeAt(x, y, within, isHidden);
    if (node >= 0) return select(node);
  }
}

let walk = { nodes: [], at: 0 };

/** Walks through the nodes nearest to the one selected first. */
function step(by) {
  if (state.selected < 0) return selectCentral();
  if (walk.nodes[walk.at] !== state.selected) {
    walk = { nodes: [state.selected, ...nearestOf(state.selected).map((each) => each.node)], at: 0 };
  }
  walk.at = (walk.at + by + walk.nodes.length) % walk.nodes.length;
  select(walk.nodes[walk.at]);
}

function watchKeys(area) {
  area.addEventListener("keydown", (event) => {
    const act = MAP_KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
}
