// What the reader has chosen, beside the filters.
export const state = { view: "findings", order: "cost", visible: new Int32Array(0), selected: -1 };
export const stale = new Set(); // views to draw again when they are shown
