"use strict";
// Colors of nodes. The palette is the same on light and dark backgrounds, and that of the figures.

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;

const PALETTE = about.colors.map(rgb);
const NO_COLOR = rgb(about.noColor);
const RAMP = about.ramp.map(rgb);
const dark = matchMedia("(prefers-color-scheme: dark)");
const INKS = {
  light: { edge: [60, 70, 84], ring: [20, 24, 28], paper: [251, 251, 250], accent: [0, 95, 163] },
  dark: { edge: [190, 202, 216], ring: [245, 246, 248], paper: [20, 23, 27], accent: [122, 200, 248] },
};
const ink = () => INKS[dark.matches ? "dark" : "light"];

/** The color of each category by its code; rare ones of many have none. */
function paletteOf(column) {
  return (column.palette ??= new Map(column.colored.map((code, at) => [code, PALETTE[at]])));
}

function rampColor(fraction) {
  const at = Math.max(0, Math.min(1, fraction)) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return RAMP[low].map((part, i) => Math.round(part + (RAMP[low + 1][i] - part) * (at - low)));
}

/** The color of a column's value: a code, a number or a date. */
function valueColor(column, value) {
  if (column.kind === "category") return paletteOf(column).get(value) ?? NO_COLOR;
  if (Number.isNaN(value)) return NO_COLOR;
  const { low, high } = scaleOf(column);
  return rampColor(high > low ? (value - low) / (high - low) : 0.5);
}

/**
 * The ends of a color scale. Values further than 1.5 interquartile ranges from the quartiles are
 * clipped, so that a few outliers do not leave one color for all others.
 */
function scaleOf(column) {
  return (column.scale ??= robustScale(column.values));
}

function robustScale(values) {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const many = sorted.length;
  if (!many) return { low: 0, high: 0, least: 0, most: 0, below: 0, above: 0, known: 0 };
  const at = (fraction) => sorted[Math.round(fraction * (many - 1))];
  const [least, most] = [sorted[0], sorted[many - 1]];
  let [first, third] = [at(0.25), at(0.75)];
  if (first === third) [first, third] = [at(0.02), at(0.98)]; // most values are equal
  if (first === third) [first, third] = [least, most];
  const beyond = 1.5 * (third - first);
  // The ends are values that occur.
  const low = sorted.find((value) => value >= first - beyond);
  const high = sorted.findLast((value) => value <= third + beyond);
  const below = sorted.findIndex((value) => value >= low);
  const above = many - 1 - sorted.findLastIndex((value) => value <= high);
  return { low, high, least, most, below, above, known: many };
}
