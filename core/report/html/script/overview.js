// What stands around the findings: the head, what to fix first, and how to read it.
import { byId, fill, make } from "./dom.js";
import { brief, bytesText, durationText, number, plural, shownLine } from "./words.js";
import { column, findings, firstPlace, placeText, summary, text } from "./data.js";
import { GONE, SINCE, costText, isCompared, severityMark } from "./finding.js";
import { goTo } from "./detail.js";

export let hasFirst = false;
export function drawFirst() {
  const rows = [];
  for (let i = 0; i < findings.length && rows.length < 5; ++i)
    if (!column.known[i] && column.since[i] <= 0 && findings[i].observed && column.severity[i] > 0) rows.push(i);
  if (!rows.length || findings.length < 2) return;
  const most = Math.max(...rows.map((i) => column.saves[i]), 1);
  if (isCompared()) byId("first-title").textContent = "New: fix first";
  byId("first-basis").textContent = summary.simulated
    ? "Simulated devices take the host's time: the order is by count and bytes."
    : "In the order of what removing each one saves.";
  byId("first-list").replaceChildren(...rows.map((i) => {
    const f = findings[i];
    const place = firstPlace(f);
    const bar = make("i", {});
    bar.style.setProperty("width", `${Math.max(1, (column.saves[i] / most) * 100)}%`);
    return make("li", {}, make("button", { type: "button", onclick: () => goTo(i) },
      make("span", { class: "message" }, brief(text(f.message), 220)),
      make("span", { class: "origin" }, severityMark(f.severity), make("span", { class: "rule" }, shownLine(text(f.rule))),
        place && make("code", {}, brief(placeText(place), 160)),
        column.mark[i] === 2 && make("span", { class: "tag both" }, "predicted and observed")),
      make("span", { class: "cost" }, costText(f, true)),
      f.saves === undefined ? f.severity === 2 && make("span", { class: "wrong" }, "a wrong result or a crash")
                            : make("span", { class: "meter", "aria-hidden": "true" }, bar)));
  }));
  hasFirst = true;
}

export function drawAbout() {
  const box = byId("view-about");
  const section = (title, lines) => lines.length > 0 && make("section", {}, make("h2", {}, title),
    make("ul", {}, lines.slice(0, 200).map((line) => make("li", {}, brief(line, 2000)))),
    lines.length > 200 && make("p", {}, `${number(lines.length - 200)} more`));
  const parts = [
    make("section", {}, make("h2", {}, "How to read it"), make("dl", {},
      make("dt", {}, "Predicted"), make("dd", {}, "devsan check found it in the source."),
      make("dt", {}, "Observed"), make("dd", {}, "It happened in a run."),
      make("dt", {}, "Predicted and observed"), make("dd", {}, "Both, by the same rule on the same line. A report has both after devsan report --merge of a check's and a run's."),
      make("dt", {}, "Cost"), make("dd", {}, "Measured: the time that the host was blocked, in the process that was blocked longest. " +
        `Estimated: ${durationText(summary.assumedWait)} for a wait, ${bytesText(summary.assumedRate)}/s for a copy. Errors have none: a wrong result is wrong at any speed.`))),
    section("Notes", summary.notes),
    section("Suppressions never used", summary.unusedSuppressions),
    section("Not found any more: take them out of the baseline", summary.staleBaseline),
    make("section", {}, make("h2", {}, "This report"), make("p", {}, `DevSan ${summary.version}. One file: it loads nothing and sends nothing.`)),
  ];
  fill(box, parts);
}

export function drawHead() {
  const counts = [0, 0, 0];
  for (let i = 0; i < findings.length; ++i) if (!column.known[i] && column.since[i] !== GONE) ++counts[column.severity[i]];
  byId("tool").textContent = `DevSan · ${shownLine(summary.tool.replace(/^devsan /, ""))}`;
  byId("subject").textContent = brief(summary.subject, 400) || "DevSan report";
  document.title = `${brief(summary.subject, 80) || "Report"} · DevSan`;
  const facts = [...(summary.verdict ? [summary.verdict] : []), plural(counts[2], "error"), plural(counts[1], "warning"), plural(counts[0], "note")];
  if (isCompared())
    SINCE.forEach((name, since) => facts.push(`${number(column.since.filter((one) => one === since).length)} ${name}`));
  if (summary.ranks.length > 1) facts.push(`${number(summary.ranks.length)} ranks`);
  if (summary.steps) facts.push(plural(summary.steps, "step"));
  if (summary.wall) facts.push(durationText(summary.wall));
  if (summary.simulated) facts.push("simulated devices");
  if (summary.suppressed) facts.push(`${number(summary.suppressed)} suppressed`);
  byId("facts").replaceChildren(...facts.map((fact) => make("span", {}, fact)));
  const alerts = [];
  if (summary.partial) alerts.push("Not all could be looked at: what was not found may still be there.");
  if (summary.notes.length) alerts.push(brief(summary.notes[0], 300) + (summary.notes.length > 1 ? ` (${plural(summary.notes.length - 1, "more note")}: About)` : ""));
  byId("alerts").replaceChildren(...alerts.map((line) => make("p", { class: "alert" }, line)));
}
