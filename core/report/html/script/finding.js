// What is said of a finding wherever it stands.
import { make } from "./dom.js";
import { SEVERITIES, bytesText, durationText, timesText } from "./words.js";
import { column, text } from "./data.js";

export const MARKS = ["predicted", "observed", "predicted and observed"];
// Since the earlier of two reports that are compared.
export const SINCE = ["new", "changed", "gone", "the same"];
export const GONE = SINCE.indexOf("gone");
export const isCompared = () => column.since.some((since) => since >= 0);
export function sinceTag(f) {
  if (f.since === undefined) return null;
  return make("span", { class: f.since === 0 ? "tag since fresh" : "tag since" }, SINCE[f.since]);
}

export const markOf = (i) => MARKS[column.mark[i]];

export function costText(finding, whole) {
  if (!finding.observed) return "";
  const parts = [timesText(finding.count ?? 0)];
  if (finding.saves !== undefined) {
    const share = finding.share === undefined || !whole ? "" : ` (${(finding.share * 100).toFixed(1)} % of the run)`;
    parts.push(finding.measured ? `${durationText(finding.saves)} blocked${share}`
                                : `about ${durationText(finding.saves)}`);
  }
  if (finding.bytes && whole) parts.push(bytesText(finding.bytes));
  return parts.join(" · ");
}

export function severityMark(severity) {
  return make("span", { class: `severity ${SEVERITIES[severity]}` }, make("i", { "aria-hidden": "true" }),
              SEVERITIES[severity]);
}

export const kindsOf = (f) => {
  const from = text(f.from), to = text(f.to);
  return { copy: Boolean(f.bytes && from && to && from !== to), wait: text(f.rule) === "device-host-sync" || f.blocked > 0 };
};
// A device's own are what goes from it or to it, and waits for it; the host's only what has no other device.
export function devicesOf(f) {
  const both = [...new Set([text(f.from), text(f.to)])].filter(Boolean);
  const others = both.filter((device) => device !== "cpu");
  return others.length ? others : both;
}
