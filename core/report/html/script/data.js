// The report: the data that stands in the page, and typed arrays over its findings.
import { byId } from "./dom.js";
import { shownLine } from "./words.js";

export let report, strings, places, paths, findings, summary;
export const PLACE = 6; // numbers of a place: file, line, column, function, module, user
export const column = {}; // typed arrays over the findings

export const text = (index) => (index === undefined ? "" : strings[index]);
export const placeAt = (index) => ({
  file: strings[places[index * PLACE]],
  line: places[index * PLACE + 1],
  column: places[index * PLACE + 2],
  function: strings[places[index * PLACE + 3]],
  module: strings[places[index * PLACE + 4]],
  user: places[index * PLACE + 5] === 1,
});
export const placeText = (place) => (place.file ? `${shownLine(place.file)}${place.line ? `:${place.line}` : ""}` : "");
export const firstPlace = (finding) => (finding.places ? placeAt(finding.places[0]) : null);

let sourceOf = null; // file -> line -> text
export function sourceLines(file, from, to) {
  if (!sourceOf) {
    sourceOf = new Map();
    for (const [name, first, lines] of report.source) {
      const known = sourceOf.get(strings[name]) ?? new Map();
      lines.forEach((line, k) => known.set(first + k, line));
      sourceOf.set(strings[name], known);
    }
  }
  const known = sourceOf.get(file);
  const result = [];
  for (let line = from; known && line <= to; ++line) if (known.has(line)) result.push([line, known.get(line)]);
  return result;
}

export function read() {
  const element = byId("report");
  report = JSON.parse(element.textContent);
  element.remove(); // the text is as large as what it became
  ({ strings, places, paths, findings, summary } = report);
  const count = findings.length;
  const columnOf = (Type, value) => Type.from({ length: count }, (_, i) => value(findings[i]));
  column.severity = columnOf(Uint8Array, (f) => f.severity);
  column.rule = columnOf(Int32Array, (f) => f.rule);
  column.known = columnOf(Uint8Array, (f) => (f.known ? 1 : 0));
  column.mark = columnOf(Uint8Array, (f) => (f.other !== undefined ? 2 : f.observed ? 1 : 0));
  column.since = columnOf(Int8Array, (f) => f.since ?? -1);
  column.saves = columnOf(Float64Array, (f) => f.saves ?? 0);
  column.count = columnOf(Float64Array, (f) => f.count ?? 0);
  column.blocked = columnOf(Float64Array, (f) => f.blocked ?? 0);
  column.bytes = columnOf(Float64Array, (f) => f.bytes ?? 0);
  column.path = columnOf(Int32Array, (f) => (f.path ?? 0) - 1);
}
