// How text and numbers are shown.
const escaped = (c) => {
  const code = c.codePointAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
};
// Control characters, and those that turn the direction of text, are shown instead of obeyed.
export const shown = (text) =>
  text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, escaped);
export const shownLine = (text) => shown(text).replace(/[\t\n]+/g, " ");
export const brief = (text, most) => (text.length > most ? `${shownLine(text.slice(0, most))} …` : shownLine(text));

function scaled(value, units) {
  let unit = 0;
  for (; value >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
  return `${unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
export const bytesText = (bytes) => scaled(bytes, ["B", "KB", "MB", "GB", "TB"]);
export const durationText = (ns) => scaled(ns, ["ns", "µs", "ms", "s"]);
const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
export const number = (value) => numbers.format(value);
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
export const timesText = (count) => (count === 1 ? "once" : `${number(count)} times`);

export const SEVERITIES = ["note", "warning", "error"];
