"use strict";
// The page's only script. It reads the data that stands in the page, and nothing else. What comes from the program
// under test goes into text nodes and attributes that hold text, never into markup.
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);

  // ---- light and dark: the system's, until one is chosen

  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosenTheme = null;
  try { chosenTheme = localStorage.getItem("devsan-theme"); } catch { /* a page without storage */ }
  function applyTheme() {
    const isDark = chosenTheme ? chosenTheme === "dark" : dark.matches;
    root.dataset.theme = isDark ? "dark" : "light";
    const button = byId("theme");
    if (button) button.textContent = isDark ? "Light" : "Dark";
  }
  applyTheme(); // before the first paint

  // ---- small helpers

  // A child that is a string is text.
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {}))
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    fill(element, children.flat());
    return element;
  }
  function fill(element, children) {
    element.replaceChildren(...children.filter((child) => child != null && child !== false));
  }

  const escaped = (c) => {
    const code = c.codePointAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  };
  // Control characters, and those that turn the direction of text, are shown instead of obeyed.
  const shown = (text) =>
    text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, escaped);
  const shownLine = (text) => shown(text).replace(/[\t\n]+/g, " ");
  const brief = (text, most) => (text.length > most ? `${shownLine(text.slice(0, most))} …` : shownLine(text));

  function scaled(value, units) {
    let unit = 0;
    for (; value >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
    return `${unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
  }
  const bytesText = (bytes) => scaled(bytes, ["B", "KB", "MB", "GB", "TB"]);
  const durationText = (ns) => scaled(ns, ["ns", "µs", "ms", "s"]);
  const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const number = (value) => numbers.format(value);
  const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
  const timesText = (count) => (count === 1 ? "once" : `${number(count)} times`);

  const SEVERITIES = ["note", "warning", "error"];
  const PLACE = 6; // numbers of a place: file, line, column, function, module, user
  const NEAR = matchMedia("(min-width: 1000px)"); // list and finding side by side

  let report, strings, places, paths, findings, summary;
  const column = {}; // typed arrays over the findings

  const text = (index) => (index === undefined ? "" : strings[index]);
  const placeAt = (index) => ({
    file: strings[places[index * PLACE]],
    line: places[index * PLACE + 1],
    column: places[index * PLACE + 2],
    function: strings[places[index * PLACE + 3]],
    module: strings[places[index * PLACE + 4]],
    user: places[index * PLACE + 5] === 1,
  });
  const placeText = (place) => (place.file ? `${shownLine(place.file)}${place.line ? `:${place.line}` : ""}` : "");
  const firstPlace = (finding) => (finding.places ? placeAt(finding.places[0]) : null);

  function read() {
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
    column.saves = columnOf(Float64Array, (f) => f.saves ?? 0);
    column.count = columnOf(Float64Array, (f) => f.count ?? 0);
    column.blocked = columnOf(Float64Array, (f) => f.blocked ?? 0);
    column.bytes = columnOf(Float64Array, (f) => f.bytes ?? 0);
    column.path = columnOf(Int32Array, (f) => (f.path ?? 0) - 1);
  }

  // ---- words

  const MARKS = ["predicted", "observed", "predicted and observed"];
  const markOf = (i) => MARKS[column.mark[i]];

  function costText(finding, whole) {
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

  function severityMark(severity) {
    return make("span", { class: `severity ${SEVERITIES[severity]}` }, make("i", { "aria-hidden": "true" }),
                SEVERITIES[severity]);
  }

  // ---- filters

  const filter = { words: "", severities: new Set([0, 1, 2]), rule: "", mark: "", rank: "", known: false,
                   steps: null, path: -1, device: "" };
  let order = "cost";
  let visible = new Int32Array(0);
  let selected = -1;
  const stale = new Set(); // views to draw again when they are shown
  let view = "findings";

  let lower = null;
  const hits = new Map(); // word -> which strings hold it, which paths
  function hitsOf(word) {
    lower ??= strings.map((s) => s.toLowerCase());
    let hit = hits.get(word);
    if (hit) return hit;
    const inString = Uint8Array.from(lower, (s) => (s.includes(word) ? 1 : 0));
    const inPath = new Uint8Array(paths.length / 2);
    for (let i = 0; i < inPath.length; ++i) {
      const caller = paths[i * 2] - 1, place = paths[i * 2 + 1] * PLACE;
      inPath[i] = (caller >= 0 && inPath[caller]) || inString[places[place]] || inString[places[place + 3]] ? 1 : 0;
    }
    hit = { inString, inPath };
    if (hits.size > 8) hits.clear();
    hits.set(word, hit);
    return hit;
  }

  function holds(i, { inString, inPath }, line) {
    const f = findings[i];
    if (inString[f.rule] || inString[f.message]) return true;
    for (const key of [f.op, f.from, f.to, f.remedy]) if (key !== undefined && inString[key]) return true;
    for (const place of f.places ?? []) {
      if (inString[places[place * PLACE]] || inString[places[place * PLACE + 3]]) return true;
      if (line && line.line === places[place * PLACE + 1] && lower[places[place * PLACE]].endsWith(line.file)) return true;
    }
    return f.path !== undefined && inPath[f.path - 1] === 1;
  }

  // A word "train.py:41" means that line.
  function lineOf(word) {
    const match = /^(.+):(\d+)$/.exec(word);
    return match && { file: match[1], line: Number(match[2]) };
  }

  const kindsOf = (f) => {
    const from = text(f.from), to = text(f.to);
    return { copy: Boolean(f.bytes && from && to && from !== to), wait: text(f.rule) === "device-host-sync" || f.blocked > 0 };
  };
  // A device's own are what goes from it or to it, and waits for it; the host's only what has no other device.
  function devicesOf(f) {
    const both = [...new Set([text(f.from), text(f.to)])].filter(Boolean);
    const others = both.filter((device) => device !== "cpu");
    return others.length ? others : both;
  }

  function apply() {
    const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
      .map((word) => ({ hit: hitsOf(word), line: lineOf(word) }));
    const rank = filter.rank === "" ? null : Number(filter.rank);
    const mark = filter.mark === "" ? null : Number(filter.mark);
    const rule = filter.rule === "" ? null : Number(filter.rule);
    const found = [];
    for (let i = 0; i < findings.length; ++i) {
      if (!filter.severities.has(column.severity[i])) continue;
      if (column.known[i] && !filter.known) continue;
      if (rule !== null && column.rule[i] !== rule) continue;
      if (mark !== null && column.mark[i] !== mark) continue;
      const f = findings[i];
      if (rank !== null && !f.ranks?.some((share) => share[0] === rank)) continue;
      if (filter.device && !devicesOf(f).includes(filter.device)) continue;
      if (filter.steps && !(f.steps && f.steps[2] <= filter.steps[1] && f.steps[3] >= filter.steps[0])) continue;
      if (filter.path >= 0 && !tree.isUnder(column.path[i], filter.path)) continue;
      if (!words.every(({ hit, line }) => holds(i, hit, line))) continue;
      found.push(i);
    }
    visible = Int32Array.from(found);
    // They come in the order of their cost.
    if (order === "place") {
      const key = (i) => firstPlace(findings[i]) ?? { file: "\uffff", line: 0, column: 0 };
      const keys = new Map(found.map((i) => [i, key(i)]));
      visible.sort((a, b) => {
        const x = keys.get(a), y = keys.get(b);
        return x.file < y.file ? -1 : x.file > y.file ? 1 : x.line - y.line || x.column - y.column || a - b;
      });
    } else if (order !== "cost") {
      visible.sort((a, b) => column[order][b] - column[order][a] || a - b);
    }
    showState();
    for (const name of ["findings", "timeline", "stacks"]) stale.add(name);
    draw();
  }

  const isFiltered = () => filter.words || filter.severities.size < 3 || filter.rule || filter.mark || filter.rank ||
    filter.steps || filter.path >= 0 || filter.device;

  function clearFilters() {
    Object.assign(filter, { words: "", severities: new Set([0, 1, 2]), rule: "", mark: "", rank: "", steps: null,
                            path: -1, device: "" });
    byId("search").value = byId("by-rule").value = byId("by-mark").value = byId("by-rank").value = "";
    for (const button of byId("severities").children) button.setAttribute("aria-pressed", "true");
    apply();
  }

  function showState() {
    let known = 0;
    for (const k of column.known) known += k;
    const all = filter.known ? findings.length : findings.length - known;
    byId("count").textContent = (visible.length === all ? plural(all, known && !filter.known ? "new finding" : "finding")
      : `${number(visible.length)} of ${plural(all, "finding")}`) +
      (known && !filter.known ? `, ${number(known)} known from the baseline` : "");
    const chips = [];
    const chip = (label, remove) => chips.push(make("button", { type: "button", class: "chip", onclick: () => { remove(); apply(); } },
      label, make("span", { "aria-hidden": "true" }, "×"), make("span", { class: "unseen" }, ", take this filter away")));
    if (filter.steps)
      chip(filter.steps[0] === filter.steps[1] ? `step ${filter.steps[0]}` : `steps ${filter.steps[0]}–${filter.steps[1]}`,
           () => { filter.steps = null; });
    if (filter.device) chip(`device ${brief(filter.device, 40)}`, () => { filter.device = ""; });
    if (filter.path >= 0) chip(`called from ${brief(tree.label(filter.path), 60)}`, () => { filter.path = -1; });
    if (isFiltered())
      chips.push(make("button", { type: "button", class: "chip clear", onclick: clearFilters }, "Clear all"));
    byId("chips").replaceChildren(...chips);
  }

  // ---- the list: only what is on the screen is in the page

  const list = {
    rows: new Map(), // by position
    MOST: 12e6, // pixels: browsers draw nothing beyond some 17 million

    measure() {
      this.row = parseFloat(getComputedStyle(byId("list")).getPropertyValue("--row"));
      this.full = visible.length * this.row;
      this.height = Math.min(this.full, this.MOST);
      byId("list").style.setProperty("height", `${this.height}px`);
    },
    // Pixels of the whole list above the screen, and where on the page that is.
    top() {
      const box = byId("list").getBoundingClientRect();
      const above = Math.max(0, -box.top);
      if (this.full <= this.height) return { offset: above, above };
      const room = Math.max(1, this.height - innerHeight);
      return { offset: Math.min(1, above / room) * (this.full - innerHeight), above };
    },
    draw(afresh) {
      if (view !== "findings") return;
      const box = byId("list");
      if (afresh) {
        box.replaceChildren();
        this.rows.clear();
        this.measure();
        box.hidden = visible.length === 0;
        byId("none").hidden = visible.length !== 0;
        stale.delete("findings");
      }
      const { offset, above } = this.top();
      const first = Math.max(0, Math.floor(offset / this.row) - 6);
      const last = Math.min(visible.length, Math.ceil((offset + innerHeight) / this.row) + 6);
      for (const [at, row] of this.rows)
        if (at < first || at >= last) {
          row.remove();
          this.rows.delete(at);
        }
      for (let at = first; at < last; ++at) {
        let row = this.rows.get(at);
        if (!row) {
          row = makeRow(visible[at], at);
          this.rows.set(at, row);
          box.append(row);
        }
        row.style.setProperty("transform", `translateY(${above + at * this.row - offset}px)`);
      }
      this.mark();
    },
    mark() {
      let active = "";
      for (const row of this.rows.values()) {
        const is = Number(row.dataset.finding) === selected;
        row.setAttribute("aria-selected", String(is));
        if (is) active = row.id;
      }
      if (active) byId("list").setAttribute("aria-activedescendant", active);
      else byId("list").removeAttribute("aria-activedescendant");
    },
    reveal(at) {
      const head = byId("bar").getBoundingClientRect().bottom;
      const box = byId("list").getBoundingClientRect();
      const { offset, above } = this.top();
      const y = box.top + above + at * this.row - offset;
      const hidden = y < head ? y - head : y + this.row > innerHeight ? y + this.row - innerHeight : 0;
      // Where the list is squeezed, a pixel of scrolling is several of the list.
      if (hidden) scrollBy(0, hidden * (this.full > this.height ? this.height / this.full : 1));
      this.draw(false);
    },
  };

  function makeRow(i, at) {
    const f = findings[i];
    const place = firstPlace(f);
    const where = text(f.where);
    return make("div", { class: "row", role: "option", id: `row-${i}`, "data-finding": i, "aria-setsize": visible.length,
                         "aria-posinset": at + 1, "aria-selected": "false" },
      make("div", { class: "row-head" }, severityMark(f.severity),
        make("span", { class: "rule" }, shownLine(text(f.rule))),
        make("span", { class: "cost" }, costText(f, false))),
      make("div", { class: "message" }, brief(text(f.message), 300)),
      make("div", { class: "row-foot" },
        make("span", { class: "place" }, make("code", {}, place ? brief(placeText(place), 200) : "no place in the sources"),
          place?.function && ` in ${brief(place.function, 120)}`, where && ` · ${where}`),
        column.mark[i] === 2 && make("span", { class: "tag both" }, "predicted and observed"),
        column.mark[i] === 0 && make("span", { class: "tag" }, "predicted"),
        f.known && make("span", { class: "tag" }, "known")));
  }

  // ---- one finding

  let pushed = false; // a step of the browser's history is ours

  function select(i, { open = false, reveal = true } = {}) {
    selected = i;
    const at = visible.indexOf(i);
    if (at >= 0 && reveal && view === "findings") list.reveal(at);
    list.mark();
    if (NEAR.matches) {
      showDetail(i);
      try { history.replaceState(null, "", `#finding-${i + 1}`); } catch { /* a page without a history */ }
      if (open) byId("detail").focus({ preventScroll: true });
    } else if (open) {
      openSheet(i);
    }
  }

  function openSheet(i) {
    const sheet = byId("sheet");
    showDetail(i);
    if (sheet.open) return;
    sheet.append(byId("detail"));
    sheet.showModal();
    byId("detail").focus({ preventScroll: true });
    try {
      history.pushState({ finding: i }, "", `#finding-${i + 1}`);
      pushed = true;
    } catch { /* a page without a history */ }
  }

  function move(by) {
    if (!visible.length) return;
    const at = visible.indexOf(selected);
    const next = at < 0 ? (by > 0 ? 0 : visible.length - 1) : Math.min(visible.length - 1, Math.max(0, at + by));
    if (byId("sheet").open) {
      selected = visible[next];
      showDetail(selected);
    } else {
      select(visible[next]);
    }
  }

  const bytes = new TextEncoder();
  const characters = new TextDecoder();
  // Columns count bytes from 1.
  const characterOf = (line, col) => characters.decode(bytes.encode(line).subarray(0, col - 1)).length;

  let sourceOf = null; // file -> line -> text
  function sourceLines(file, from, to) {
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

  function excerpt(place, around, label) {
    const lines = sourceLines(place.file, place.line - around, place.line + around);
    if (!place.line || !lines.some(([line]) => line === place.line)) return null;
    const code = make("code", {});
    for (const [line, content] of lines) {
      const clean = content.replace(/\r$/, "");
      const here = line === place.line;
      const row = make("span", { class: here ? "line here" : "line" }, make("span", { class: "number" }, String(line)));
      const at = here && place.column ? characterOf(clean, place.column) : -1;
      if (at >= 0 && at < clean.length)
        row.append(shown(clean.slice(0, at)), make("mark", {}, shown(clean.charAt(at))), shown(clean.slice(at + 1)));
      else row.append(shown(clean) || " ");
      code.append(row);
    }
    return make("pre", { class: "source", tabindex: "0", role: "group", "aria-label": label }, code);
  }

  function longText(value, className) {
    const most = 1200;
    const box = make("p", { class: className }, shown(value.slice(0, most)));
    if (value.length > most)
      box.append(" … ", make("button", { type: "button", class: "link",
        onclick: () => { box.textContent = shown(value); } }, `Show all ${number(value.length)} characters`));
    return box;
  }

  function strip(steps) {
    const [total, seen, first, last] = steps;
    const share = (value) => `${Math.max(0, Math.min(100, (value / total) * 100))}%`;
    const bar = make("i", {});
    bar.style.setProperty("left", share(first));
    bar.style.setProperty("width", share(Math.max(last - first + 1, total / 200)));
    if (seen < last - first + 1) bar.className = "thin";
    return make("span", { class: "strip", "aria-hidden": "true" }, bar);
  }

  function ranksTable(f) {
    const most = Math.max(...f.ranks.map((share) => share[5] || share[3]), 1);
    const blocked = f.ranks.some((share) => share[5]);
    return make("table", { class: "shares" },
      make("caption", { class: "unseen" }, "What each rank saw of it"),
      make("thead", {}, make("tr", {}, ["Rank", "Times", "Bytes", "Blocked"].map((head, k) =>
        make("th", { scope: "col", class: k ? "right" : null }, head)))),
      make("tbody", {}, f.ranks.map(([rank, worker, processes, count, size, blockedFor]) => {
        const bar = make("i", { "aria-hidden": "true" });
        bar.style.setProperty("width", `${((blocked ? blockedFor : count) / most) * 100}%`);
        const name = (rank < 0 ? "no rank" : `rank ${rank}`) + (worker ? ", workers" : "") +
          (processes > 1 ? ` (${processes} processes)` : "");
        return make("tr", {}, make("th", { scope: "row" }, name, bar), make("td", {}, number(count)),
          make("td", {}, size ? bytesText(size) : "–"), make("td", {}, blockedFor ? durationText(blockedFor) : "–"));
      })));
  }

  function stackList(i) {
    const frames = [];
    for (let at = column.path[i]; at >= 0; at = paths[at * 2] - 1) frames.push(placeAt(paths[at * 2 + 1]));
    if (!frames.length) return null;
    const hidden = frames.filter((frame) => !frame.user).length;
    const items = make("ol", { class: "stack" }, frames.map((frame) => {
      const [line] = frame.user ? sourceLines(frame.file, frame.line, frame.line) : [];
      const module = frame.module ? brief(frame.module.slice(frame.module.lastIndexOf("/") + 1), 80) : "";
      return make("li", { class: frame.user ? "user" : "framework" },
        make("span", { class: "function" }, brief(frame.function, 400) || "?"),
        make("code", { class: "at" }, placeText(frame) || module),
        line && make("code", { class: "code" }, shown(line[1].trim())));
    }));
    const box = make("section", {}, make("h3", {}, "Call stack"));
    if (hidden && hidden < frames.length) {
      items.classList.add("own");
      const toggle = make("button", { type: "button", class: "link", "aria-expanded": "false" },
        `Show ${plural(hidden, "frame")} of PyTorch and others`);
      toggle.addEventListener("click", () => {
        const own = items.classList.toggle("own");
        toggle.setAttribute("aria-expanded", String(!own));
        toggle.textContent = own ? `Show ${plural(hidden, "frame")} of PyTorch and others` : "Show the program's own frames only";
      });
      box.append(toggle);
    }
    box.append(items);
    return box;
  }

  function showDetail(i) {
    const box = byId("detail");
    if (i < 0) {
      box.replaceChildren(make("p", { class: "none" }, "Choose a finding."));
      return;
    }
    const f = findings[i];
    const place = firstPlace(f);
    const rule = text(f.rule);
    const facts = [];
    const fact = (name, ...value) => { if (value[0]) facts.push(make("div", {}, make("dt", {}, name), make("dd", {}, ...value))); };
    if (f.observed) {
      if (f.saves !== undefined) {
        const step = f.perStep ? `, ${durationText(f.perStep)} a step` : "";
        const share = f.share === undefined ? "" : `, ${(f.share * 100).toFixed(1)} % of the run`;
        fact("Removing it saves", make("strong", {}, durationText(f.saves)),
             make("small", {}, ` ${f.measured ? "measured" : "estimated"}${step}${share}`));
      }
      fact("Happened", timesText(f.count ?? 0));
      if (f.bytes) fact("Moved", bytesText(f.bytes));
      if (f.blocked) fact("Host blocked", durationText(f.blocked) + (f.ranks?.length > 1 ? ", over all processes" : ""));
      if (f.steps) fact("Steps", f.stepsText !== undefined ? text(f.stepsText) : `in ${number(f.steps[1])} of ${number(f.steps[0])}`,
                        f.steps[4] > 1 ? `, at most ${timesText(f.steps[4])} in one` : "", strip(f.steps));
    }
    const from = brief(text(f.from), 60), to = brief(text(f.to), 60);
    fact("Devices", from && to && from !== to ? `${from} → ${to}` : from || to);
    fact("Operator", f.op !== undefined && make("code", {}, brief(text(f.op), 200)));
    fact("Seen", text(f.where) || (f.rank !== undefined && `on rank ${f.rank}`));

    const at = visible.indexOf(i);
    const step = (label, by, key) => make("button", { type: "button", class: "quiet", disabled: at < 0 || at + by < 0 || at + by >= visible.length,
      "aria-keyshortcuts": key, onclick: () => move(by) }, label);
    const close = make("button", { type: "button", class: "quiet close", onclick: closeSheet }, "Back");
    const other = f.other;
    fill(box, [
      make("div", { class: "detail-bar" }, close,
        make("span", { class: "position" }, at < 0 ? "" : `${number(at + 1)} of ${number(visible.length)}`),
        step("Previous", -1, "k"), step("Next", 1, "j")),
      make("div", { class: "detail-head" }, severityMark(f.severity), make("span", { class: "rule" }, shownLine(rule)),
        make("span", { class: column.mark[i] === 2 ? "tag both" : "tag" }, markOf(i)),
        f.known && make("span", { class: "tag" }, "known from the baseline")),
      make("h2", { class: "unseen" }, `${SEVERITIES[f.severity]}: ${brief(text(f.message), 200)}`),
      longText(text(f.message), "what"),
      place && make("p", { class: "at" }, make("code", {}, placeText(place) + (place.column ? `:${place.column}` : "")),
        place.function && ` in ${brief(place.function, 400)}`),
      place && excerpt(place, 4, "Source") ,
      f.remedy !== undefined && make("p", { class: "remedy" }, make("b", {}, "Remedy "), shown(text(f.remedy)),
        f.fix && make("span", {}, " ", make("code", {}, "devsan check --fix"), " can do it.")),
      facts.length ? make("dl", { class: "facts-list" }, facts) : null,
      other !== undefined && make("p", { class: "other" },
        f.observed ? "devsan check predicted it on this line: " : "A run observed it on this line: ",
        make("button", { type: "button", class: "link", onclick: () => goTo(other) }, brief(text(findings[other].message), 160))),
      f.ranks?.length > 1 && make("section", {}, make("h3", {}, "By rank"), f.ranks.length <= 16 ? ranksTable(f)
        : make("details", {}, make("summary", {}, `All ${number(f.ranks.length)}`), ranksTable(f))),
      f.related && make("section", {}, make("h3", {}, "Explained by"), make("ul", { class: "related" },
        f.related.map(([where, message]) => make("li", {}, make("code", {}, placeText(placeAt(where))), " ",
          brief(text(message), 600), excerpt(placeAt(where), 0, "Source of what explains it"))))),
      f.places?.length > 1 && make("section", {}, make("h3", {}, "Also at"), make("ul", { class: "related" },
        f.places.slice(1, 30).map((where) => make("li", {}, make("code", {}, placeText(placeAt(where))))))),
      stackList(i),
      make("footer", {}, report.rules[rule] && make("p", {}, shown(report.rules[rule])),
        make("p", {}, "More: ", make("code", {}, `devsan explain ${brief(rule, 80)}`), ". If it is meant: ",
          make("code", {}, `NOLINT(${brief(rule, 80)}): reason`), " in a comment on the line."))]);
    byId("detail-side").scrollTop = byId("sheet").scrollTop = 0;
  }

  // To a finding that the filters may hide.
  function goTo(i) {
    if (visible.indexOf(i) < 0) {
      if (column.known[i]) filter.known = byId("show-known").checked = true;
      clearFilters();
    }
    showView("findings");
    select(i, { open: true });
  }

  function closeSheet() {
    const sheet = byId("sheet");
    if (sheet.open) sheet.close();
  }
  function sheetClosed() {
    byId("detail-side").append(byId("detail"));
    if (pushed) {
      pushed = false;
      history.back();
    }
    const at = visible.indexOf(selected);
    if (at >= 0 && view === "findings") {
      list.reveal(at);
      byId("list").focus({ preventScroll: true });
    }
  }

  // ---- timeline

  const BINS = 240;
  const timeline = { by: "rank", measure: "count" };
  const MEASURES = { count: ["how often", number], bytes: ["bytes", bytesText], blocked: ["time the host was blocked", durationText] };

  // Reports hold of each finding its first and last step, in how many of them it happened, and sums: they are drawn
  // spread evenly from first to last.
  function lanesOf() {
    const total = stepsTotal();
    const bins = Math.min(BINS, total);
    const lanes = new Map();
    const lane = (name, choose) => {
      let known = lanes.get(name);
      if (!known)
        lanes.set(name, known = { name, choose, sum: { copy: 0, wait: 0 },
          copy: [new Float64Array(bins + 1), new Float64Array(bins + 1)], wait: [new Float64Array(bins + 1), new Float64Array(bins + 1)] });
      return known;
    };
    let outside = 0;
    for (const i of visible) {
      const f = findings[i];
      const kinds = kindsOf(f);
      if (!f.observed || (!kinds.copy && !kinds.wait)) continue;
      if (!f.steps || f.steps[2] >= total) {
        ++outside;
        continue;
      }
      const [, seen, first, end] = f.steps;
      const last = Math.min(end, total - 1);
      const from = Math.floor((first / total) * bins), to = Math.floor((last / total) * bins);
      const sparse = seen < last - first + 1 ? 1 : 0;
      const add = (where, count, size, blocked) => {
        for (const kind of ["copy", "wait"]) {
          if (!kinds[kind]) continue;
          const value = { count, bytes: kind === "copy" ? size : 0, blocked: kind === "wait" ? blocked : 0 }[timeline.measure];
          where.sum[kind] += value;
          // What is added at the first bin is taken away after the last; sums run over it below.
          where[kind][sparse][from] += value / (to - from + 1);
          where[kind][sparse][to + 1] -= value / (to - from + 1);
        }
      };
      if (timeline.by === "rank")
        for (const [rank, worker, , count, size, blocked] of f.ranks ?? [])
          add(lane((rank < 0 ? "no rank" : `rank ${rank}`) + (worker ? ", workers" : ""), { rank: rank < 0 ? "" : String(rank) }),
              count, size, blocked);
      else
        for (const device of devicesOf(f))
          add(lane(device, { device }), f.count ?? 0, f.bytes ?? 0, f.blocked ?? 0);
    }
    let most = 0;
    for (const one of lanes.values())
      for (const kind of ["copy", "wait"]) {
        for (const values of one[kind])
          for (let k = 0, sum = 0; k < bins; ++k) values[k] = sum = Math.max(0, sum + values[k]);
        for (let k = 0; k < bins; ++k) most = Math.max(most, one[kind][0][k] + one[kind][1][k]);
      }
    const natural = new Intl.Collator("en", { numeric: true });
    return { lanes: [...lanes.values()].sort((a, b) => natural.compare(a.name, b.name)), bins, total, most, outside };
  }

  function stepsTotal() {
    let total = summary.steps;
    for (const f of findings) if (f.steps && f.steps[0] > total) total = f.steps[0];
    return total;
  }

  function paint(canvas, one, { bins, most }) {
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(root);
    const middle = height / 2;
    context.fillStyle = style.getPropertyValue("--line");
    context.fillRect(0, middle - 0.5, width, 1);
    if (!most) return;
    for (const [kind, direction] of [["copy", -1], ["wait", 1]]) {
      context.fillStyle = style.getPropertyValue(`--${kind}`);
      for (let k = 0; k < bins; ++k) {
        const x = (k / bins) * width, w = Math.max(1, width / bins - (width / bins > 4 ? 1 : 0));
        let y = 0;
        for (const sparse of [0, 1]) {
          const value = one[kind][sparse][k];
          if (value < most * 1e-9) continue; // what is left of sums that went up and down again
          const h = Math.max(1.5, (value / most) * (middle - 2));
          context.globalAlpha = sparse ? 0.45 : 1;
          context.fillRect(x, direction < 0 ? middle - 1 - y - h : middle + 1 + y, w, h);
          y += h;
        }
      }
    }
  }

  function choice(label, options, value, change) {
    const select = make("select", {}, Object.entries(options).map(([key, name]) => make("option", { value: key }, name)));
    select.value = value;
    select.addEventListener("change", () => change(select.value));
    return make("label", {}, make("span", {}, label), select);
  }

  const LANES = 192;
  function drawTimeline() {
    const box = byId("view-timeline");
    if (!stepsTotal()) {
      box.replaceChildren(make("h2", {}, "No steps to show"), make("p", {},
        "The program names no steps, or this report has no run in it. ", make("code", {}, "devsan::step()"), " in C++ and ",
        make("code", {}, "devsan.step()"), " in Python mark one; an optimizer's step counts as well."));
      return;
    }
    const data = lanesOf();
    const again = (key) => (value) => { timeline[key] = value; drawTimeline(); };
    const [unit, value] = MEASURES[timeline.measure];
    const shownLanes = data.lanes.slice(0, LANES);
    const canvases = [];
    const rows = shownLanes.map((one) => {
      const canvas = make("canvas", { "aria-hidden": "true", title: "Choose steps" });
      canvases.push([canvas, one]);
      canvas.addEventListener("click", (event) => {
        const bin = Math.min(data.bins - 1, Math.floor((event.offsetX / canvas.clientWidth) * data.bins));
        filter.steps = [Math.ceil((bin / data.bins) * data.total), Math.ceil(((bin + 1) / data.bins) * data.total) - 1];
        choose(one);
      });
      return make("li", { class: "lane" },
        make("button", { type: "button", class: "lane-name", onclick: () => choose(one) }, brief(one.name, 60)),
        canvas,
        make("span", { class: "lane-sum" }, make("span", { class: "copy" }, value(one.sum.copy), make("span", { class: "unseen" }, " copies")),
          make("span", { class: "wait" }, value(one.sum.wait), make("span", { class: "unseen" }, " waits"))));
    });
    function choose(one) {
      if (one.choose.device) filter.device = one.choose.device;
      if (one.choose.rank) filter.rank = byId("by-rank").value = one.choose.rank;
      showView("findings");
      apply();
    }
    const start = make("input", { type: "number", min: "0", max: String(data.total - 1), value: filter.steps ? String(filter.steps[0]) : "0" });
    const end = make("input", { type: "number", min: "0", max: String(data.total - 1),
                                value: filter.steps ? String(filter.steps[1]) : String(data.total - 1) });
    const range = make("form", { class: "range" }, make("label", {}, make("span", {}, "Steps from"), start),
      make("label", {}, make("span", {}, "to"), end), make("button", {}, "Show"));
    range.addEventListener("submit", (event) => {
      event.preventDefault();
      const [a, b] = [Number(start.value), Number(end.value)];
      filter.steps = [Math.min(a, b), Math.max(a, b)];
      apply();
    });
    const isMerged = summary.ranks.length > 1;
    fill(box, [
      make("div", { class: "panel-head" }, make("h2", {}, `${plural(data.total, "step")}`),
        choice("Lanes", { rank: "by rank", device: "by device" }, timeline.by, again("by")),
        choice("Height", Object.fromEntries(Object.entries(MEASURES).map(([key, [name]]) => [key, name])), timeline.measure, again("measure")),
        range),
      make("p", { class: "legend" }, [["copy", "copies, upward"], ["wait", "waits of the host, downward"], ["pale", "pale: not in each of these steps"]]
        .map(([key, name]) => make("span", {}, make("i", { class: `key ${key}`, "aria-hidden": "true" }), name))),
      rows.length ? make("ol", { class: "lanes" }, rows) : make("p", { class: "none" }, "No copies or waits among the findings shown."),
      rows.length ? make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, "0"), make("span", {}, number(Math.floor(data.total / 2))),
        make("span", {}, number(data.total - 1))) : null,
      make("p", { class: "small" },
        `Height: ${unit}${data.most ? `, at most ${value(data.most)} in ${data.total > data.bins ? "a column of steps" : "a step"}` : ""}. ` +
        "The report keeps of each finding its first and last step, how many it happened in, and sums, so that it is drawn evenly from its first to its last step." +
        (data.outside ? ` ${plural(data.outside, "finding")} lie${data.outside === 1 ? "s" : ""} outside of the steps.` : "") +
        (isMerged ? " Of several ranks, first and last are those of any." : "") +
        (timeline.by === "device" && isMerged ? " Devices are those of the rank that a finding is told for; the same of other ranks are in it." : "") +
        (data.lanes.length > LANES ? ` ${number(data.lanes.length - LANES)} more lanes are not drawn.` : ""))]);
    for (const [canvas, one] of canvases) paint(canvas, one, data);
    stale.delete("timeline");
  }

  // ---- call stacks

  // The program's own frames, or all: a frame that is left out gives its findings to its caller.
  const tree = {
    own: true,
    weigh: "",
    zoom: -1,
    unfolded: new Set(), // frames in chains of callers that are drawn in full
    of: new Map(), // "own" and "all" -> { parent, place, index of each path }

    get() {
      const name = this.own ? "own" : "all";
      let known = this.of.get(name);
      if (known) return known;
      const parent = [], place = [], index = new Int32Array(paths.length / 2), seen = new Map();
      for (let i = 0; i < index.length; ++i) {
        const caller = paths[i * 2] ? index[paths[i * 2] - 1] : -1;
        const at = paths[i * 2 + 1];
        if (this.own && !places[at * PLACE + 5]) {
          index[i] = caller;
          continue;
        }
        const key = `${caller} ${at}`;
        if (!seen.has(key)) {
          seen.set(key, parent.length);
          parent.push(caller);
          place.push(at);
        }
        index[i] = seen.get(key);
      }
      known = { parent, place, index };
      this.of.set(name, known);
      return known;
    },
    // Whether a path, as findings have it, goes through a node.
    isUnder(path, top) {
      const { parent, index } = this.get();
      for (let at = path < 0 ? -1 : index[path]; at >= 0; at = parent[at]) if (at === top) return true;
      return false;
    },
    label(node) {
      const where = placeAt(this.get().place[node]);
      return `${where.function || "?"}${where.file ? ` at ${placeText(where)}` : ""}`;
    },
  };
  const WEIGHTS = { saves: ["what removing saves", durationText], count: ["how often", number], bytes: ["bytes", bytesText],
                    blocked: ["time the host was blocked", durationText], one: ["number of findings", number] };
  const FLAME_NODES = 4000;

  function flameOf() {
    const { parent, index } = tree.get();
    const total = new Float64Array(parent.length);
    const without = [];
    let sum = 0;
    for (const i of visible) {
      const path = column.path[i];
      const weight = tree.weigh === "one" ? 1 : column[tree.weigh][i];
      if (path < 0 || index[path] < 0) {
        without.push(i);
        continue;
      }
      sum += weight;
      for (let at = index[path]; at >= 0; at = parent[at]) total[at] += weight;
    }
    const children = new Map();
    for (let at = 0; at < parent.length; ++at)
      if (total[at] > 0) {
        const of = children.get(parent[at]);
        if (of) of.push(at);
        else children.set(parent[at], [at]);
      }
    for (const of of children.values()) of.sort((a, b) => total[b] - total[a] || a - b);
    return { total, children, sum, without };
  }

  function drawStacks() {
    const box = byId("view-stacks");
    if (!paths.length) {
      box.replaceChildren(make("h2", {}, "No call stacks"),
        make("p", {}, "Findings of ", make("code", {}, "devsan check"), " have a place, but nobody who called it; a run records stacks."));
      return;
    }
    if (!tree.weigh) tree.weigh = column.saves.some((v) => v > 0) ? "saves" : "count";
    const data = flameOf();
    const { parent, place } = tree.get();
    const [unit, value] = WEIGHTS[tree.weigh];
    if (tree.zoom >= 0 && !data.total[tree.zoom]) tree.zoom = -1;
    const again = (change) => (chosen) => { change(chosen); drawStacks(); };
    const flame = make("div", { class: "flame", role: "group", "aria-label": "Call stacks, callers above what they call" });
    const panel = make("div", { class: "flame-note", role: "status" });
    const nodes = new Map();
    const size = 26;
    let depthMost = 0;

    const put = (node, left, width, depth, faint) => {
      const name = node < 0 ? "everything" : placeAt(place[node]).function || "?";
      const label = `${brief(node < 0 ? name : tree.label(node), 200)}: ${value(node < 0 ? data.sum : data.total[node])}`;
      const button = make("button", { type: "button", tabindex: "-1", "data-node": node, "aria-label": label, title: label,
        class: `${faint ? "faint " : ""}${node < 0 ? "whole" : places[place[node] * PLACE + 5] ? "user" : "framework"}` },
        width > 0.02 ? brief(name, 120) : "");
      add(node, button, left, width, depth);
    };
    const add = (node, button, left, width, depth) => {
      button.style.setProperty("left", `${left * 100}%`);
      button.style.setProperty("width", `${width * 100}%`);
      button.style.setProperty("top", `${depth * size}px`);
      flame.append(button);
      nodes.set(node, { button, depth, left, width });
      depthMost = Math.max(depthMost, depth);
    };

    // From a frame down to the one that calls several, or that findings lie in.
    const chainOf = (node) => {
      const chain = [node];
      for (;;) {
        const below = data.children.get(chain.at(-1)) ?? [];
        if (below.length !== 1 || data.total[below[0]] !== data.total[node]) return chain;
        chain.push(below[0]);
      }
    };
    const FOLD = 5;

    // The callers of what is zoomed into stand above it, as wide as it.
    const above = [];
    for (let at = tree.zoom; at >= 0; at = parent[at]) above.unshift(at);
    put(-1, 0, 1, 0, tree.zoom >= 0);
    above.forEach((node, k) => put(node, 0, 1, k + 1, node !== tree.zoom));
    const whole = tree.zoom < 0 ? data.sum : data.total[tree.zoom];
    const narrow = 2 / Math.max(320, innerWidth);
    let queue = [[tree.zoom, 0, above.length]];
    let left = FLAME_NODES, dropped = 0;
    while (queue.length) {
      const next = [];
      for (const [node, start, depth] of queue) {
        let x = start;
        for (const child of data.children.get(node) ?? []) {
          const width = data.total[child] / whole;
          if (width >= narrow && left-- > 0) {
            put(child, x, width, depth + 1, false);
            const chain = tree.unfolded.has(child) ? [] : chainOf(child);
            if (chain.length > FOLD) {
              const fold = make("button", { type: "button", tabindex: "-1", class: "fold", "data-node": chain[1], "data-fold": child },
                width > 0.02 ? `… ${number(chain.length - 2)} frames, one calling the next` : "");
              add(chain[1], fold, x, width, depth + 2);
              put(chain.at(-1), x, width, depth + 3, false);
              next.push([chain.at(-1), x, depth + 3]);
            } else {
              next.push([child, x, depth + 1]);
            }
          } else {
            ++dropped;
          }
          x += width;
        }
      }
      queue = next;
    }
    flame.style.setProperty("height", `${(depthMost + 1) * size}px`);

    function describe(node) {
      if (node < 0) {
        panel.replaceChildren(`${value(data.sum)} in all. Choose a frame to see what it called.`);
        return;
      }
      let below = 0;
      for (const i of visible) if (tree.isUnder(column.path[i], node)) ++below;
      panel.replaceChildren(make("strong", {}, brief(placeAt(place[node]).function, 300) || "?"), " ",
        make("code", {}, placeText(placeAt(place[node]))), ` ${value(data.total[node])}, ${plural(below, "finding")} `,
        make("button", { type: "button", onclick: () => { filter.path = node; showView("findings"); apply(); } }, "Show them"));
    }
    function focusOn(node) {
      for (const { button } of nodes.values()) button.tabIndex = -1;
      const { button } = nodes.get(node);
      button.tabIndex = 0;
      button.focus({ preventScroll: false });
    }
    flame.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.fold) for (const node of chainOf(Number(button.dataset.fold))) tree.unfolded.add(node);
      else tree.zoom = Number(button.dataset.node);
      drawStacks();
      byId("view-stacks").querySelector(`.flame [data-node="${button.dataset.node}"]`).focus({ preventScroll: true });
    });
    flame.addEventListener("focusin", (event) => describe(Number(event.target.dataset.node)));
    flame.addEventListener("keydown", (event) => {
      const node = Number(event.target.dataset.node);
      const here = nodes.get(node);
      const inRow = (depth) => [...nodes].filter(([, n]) => n.depth === depth).sort(([, a], [, b]) => a.left - b.left).map(([n]) => n);
      let to;
      const covers = ([n, other]) => n !== node && other.left <= here.left + 1e-9 && other.left + other.width >= here.left + here.width - 1e-9;
      if (event.key === "ArrowUp") to = [...nodes].find((one) => one[1].depth === here.depth - 1 && covers(one))?.[0];
      else if (event.key === "ArrowDown")
        to = [...nodes].find(([, n]) => n.depth === here.depth + 1 && n.left >= here.left - 1e-9 && n.left < here.left + here.width)?.[0];
      else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const row = inRow(here.depth);
        to = row[row.indexOf(node) + (event.key === "ArrowLeft" ? -1 : 1)];
      } else return;
      event.preventDefault();
      if (to !== undefined && nodes.has(to)) focusOn(to);
    });
    nodes.get(tree.zoom).button.tabIndex = 0;

    const own = make("input", { type: "checkbox" });
    own.checked = !tree.own;
    own.addEventListener("change", () => {
      tree.own = !own.checked;
      tree.zoom = -1;
      tree.unfolded.clear(); // its numbers are those of the other tree
      filter.path = -1;
      apply();
    });
    box.replaceChildren(
      make("div", { class: "panel-head" }, make("h2", {}, "Call stacks"),
        choice("Width", Object.fromEntries(Object.entries(WEIGHTS).map(([key, [name]]) => [key, name])), tree.weigh, again((chosen) => { tree.weigh = chosen; })),
        make("label", { class: "check" }, own, " ", make("span", {}, "Frames of PyTorch and others too"))),
      panel, flame,
      make("p", { class: "small" }, `Width: ${unit}. Callers stand above what they call; the widest first.` +
        (dropped ? ` ${plural(dropped, "frame")} too narrow to draw: choose its caller to see more.` : "") +
        (data.without.length ? ` ${plural(data.without.length, "finding")} without such a stack ${data.without.length === 1 ? "is" : "are"} left out.` : "")));
    describe(tree.zoom);
    stale.delete("stacks");
  }

  // ---- the rest of the page

  let hasFirst = false;
  function drawFirst() {
    const rows = [];
    for (let i = 0; i < findings.length && rows.length < 5; ++i)
      if (!column.known[i] && findings[i].observed && column.severity[i] > 0) rows.push(i);
    if (!rows.length || findings.length < 2) return;
    const most = Math.max(...rows.map((i) => column.saves[i]), 1);
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

  function drawAbout() {
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

  function drawHead() {
    const counts = [0, 0, 0];
    for (let i = 0; i < findings.length; ++i) if (!column.known[i]) ++counts[column.severity[i]];
    byId("tool").textContent = `DevSan · ${shownLine(summary.tool.replace(/^devsan /, ""))}`;
    byId("subject").textContent = brief(summary.subject, 400) || "DevSan report";
    document.title = `${brief(summary.subject, 80) || "Report"} · DevSan`;
    const facts = [plural(counts[2], "error"), plural(counts[1], "warning"), plural(counts[0], "note")];
    if (summary.ranks.length > 1) facts.push(`${number(summary.ranks.length)} ranks`);
    if (summary.steps) facts.push(plural(summary.steps, "step"));
    if (summary.wall) facts.push(durationText(summary.wall));
    if (summary.simulated) facts.push("simulated devices");
    if (summary.suppressed) facts.push(`${number(summary.suppressed)} suppressed`);
    byId("facts").replaceChildren(...facts.map((fact) => make("span", {}, fact)));
    const alerts = [];
    if (summary.partial) alerts.push("The program ended early: what was not found may still be there.");
    if (summary.notes.length) alerts.push(brief(summary.notes[0], 300) + (summary.notes.length > 1 ? ` (${plural(summary.notes.length - 1, "more note")}: About)` : ""));
    byId("alerts").replaceChildren(...alerts.map((line) => make("p", { class: "alert" }, line)));
  }

  function fillFilters() {
    const counts = [0, 0, 0];
    const rules = new Map(), ranks = new Set();
    const marks = [0, 0, 0];
    for (let i = 0; i < findings.length; ++i) {
      ++counts[column.severity[i]];
      ++marks[column.mark[i]];
      rules.set(column.rule[i], (rules.get(column.rule[i]) ?? 0) + 1);
      for (const share of findings[i].ranks ?? []) if (share[0] >= 0) ranks.add(share[0]);
    }
    byId("severities").replaceChildren(...[2, 1, 0].map((severity) => {
      const button = make("button", { type: "button", "aria-pressed": "true", disabled: counts[severity] === 0 },
        severityMark(severity), make("span", { class: "number" }, number(counts[severity])));
      button.addEventListener("click", () => {
        const on = !filter.severities.has(severity);
        if (on) filter.severities.add(severity);
        else filter.severities.delete(severity);
        button.setAttribute("aria-pressed", String(on));
        apply();
      });
      return button;
    }));
    const options = (id, all, entries, key) => {
      const element = byId(id);
      element.replaceChildren(make("option", { value: "" }, all), ...entries.map(([value, name]) => make("option", { value }, name)));
      element.addEventListener("change", () => { filter[key] = element.value; apply(); });
    };
    options("by-rule", "All", [...rules].map(([rule, count]) => [rule, `${brief(text(rule), 60)} (${number(count)})`])
      .sort((a, b) => (a[1] < b[1] ? -1 : 1)), "rule");
    options("by-mark", "All", MARKS.map((name, k) => [k, `${name} (${number(marks[k])})`]).filter((_, k) => marks[k]), "mark");
    options("by-rank", "All", [...ranks].sort((a, b) => a - b).map((rank) => [rank, `rank ${rank}`]), "rank");
    byId("rank-label").hidden = ranks.size < 2;
    byId("order").replaceChildren(...[["cost", "cost"], ["count", "how often"], ["blocked", "time blocked"], ["bytes", "bytes"], ["place", "place"]]
      .map(([value, name]) => make("option", { value }, name)));
    byId("order").addEventListener("change", () => { order = byId("order").value; apply(); });
    byId("known-label").hidden = !column.known.includes(1);
    byId("show-known").addEventListener("change", () => { filter.known = byId("show-known").checked; apply(); });
    let waiting = 0;
    byId("search").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { filter.words = byId("search").value; apply(); }, 80);
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("clear-all").addEventListener("click", clearFilters);
    byId("more").addEventListener("click", () => {
      const open = byId("choices").classList.toggle("open");
      byId("more").setAttribute("aria-expanded", String(open));
    });
  }

  const VIEWS = ["findings", "timeline", "stacks", "about"];
  function showView(name) {
    view = name;
    for (const one of VIEWS) {
      const is = one === name;
      byId(`tab-${one}`).setAttribute("aria-selected", String(is));
      byId(`tab-${one}`).tabIndex = is ? 0 : -1;
      byId(`view-${one}`).hidden = !is;
    }
    byId("filters").hidden = byId("state").hidden = name === "about";
    draw();
  }
  function draw() {
    byId("first").hidden = !hasFirst || Boolean(isFiltered());
    if (view === "findings") list.draw(stale.has("findings"));
    if (view === "timeline" && stale.has("timeline")) drawTimeline();
    if (view === "stacks" && stale.has("stacks")) drawStacks();
    if (view === "findings" && NEAR.matches) {
      // What is shown beside the list is of the list.
      if (visible.indexOf(selected) < 0) selected = visible.length ? visible[0] : -1;
      showDetail(selected);
      list.mark();
    }
  }

  function listen() {
    let asked = false;
    addEventListener("scroll", () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; list.draw(false); });
    }, { passive: true });
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return list.draw(false); // a phone's address bar
      width = innerWidth;
      for (const name of ["findings", "timeline", "stacks"]) stale.add(name);
      draw();
    });
    new ResizeObserver(() => root.style.setProperty("--bar", `${byId("bar").offsetHeight}px`)).observe(byId("bar"));
    NEAR.addEventListener("change", closeSheet);
    dark.addEventListener("change", () => { applyTheme(); stale.add("timeline"); draw(); });
    addEventListener("popstate", () => { pushed = false; closeSheet(); });
    byId("sheet").addEventListener("close", sheetClosed);
    byId("theme").addEventListener("click", switchTheme);
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    byId("list").addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) select(Number(row.dataset.finding), { open: !NEAR.matches, reveal: false });
    });
    byId("list").addEventListener("focus", () => { if (selected < 0) move(1); });
    byId("list").addEventListener("keydown", (event) => {
      const page = Math.max(1, Math.floor(innerHeight / list.row) - 3);
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -visible.length, End: visible.length }[event.key];
      if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      move(by);
    });
    byId("views").addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) showView(tab.id.slice("tab-".length));
    });
    byId("views").addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = VIEWS[(VIEWS.indexOf(view) + by + VIEWS.length) % VIEWS.length];
      showView(next);
      byId(`tab-${next}`).focus();
    });
    addEventListener("keydown", keyPressed);
  }

  function switchTheme() {
    chosenTheme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("devsan-theme", chosenTheme); } catch { /* a page without storage */ }
    applyTheme();
    stale.add("timeline"); // its colours are painted
    draw();
  }

  function keyPressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "Escape") {
      if (event.target === byId("search")) {
        if (byId("search").value) {
          filter.words = byId("search").value = "";
          apply();
        } else {
          byId("list").focus();
        }
        event.preventDefault();
      } else if (NEAR.matches && byId("detail").contains(event.target)) {
        byId("list").focus({ preventScroll: true });
      }
      return;
    }
    if (event.key === "Enter" && event.target === byId("search")) {
      event.preventDefault();
      showView("findings");
      byId("list").focus();
      return;
    }
    if (inField) return;
    const inSheet = byId("sheet").open;
    const act = {
      "j": () => { if (!inSheet) showView("findings"); move(1); },
      "k": () => { if (!inSheet) showView("findings"); move(-1); },
      "Enter": event.target === byId("list") || event.target === document.body ? () => { if (selected >= 0) select(selected, { open: true }); } : null,
      "?": () => byId("help").showModal(),
      "t": switchTheme,
      "/": inSheet ? null : () => { byId("search").focus(); byId("search").select(); },
      "x": inSheet ? null : clearFilters,
      "1": inSheet ? null : () => showView("findings"),
      "2": inSheet ? null : () => showView("timeline"),
      "3": inSheet ? null : () => showView("stacks"),
      "4": inSheet ? null : () => showView("about"),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  addEventListener("DOMContentLoaded", () => {
    applyTheme();
    try {
      read();
    } catch {
      byId("top").after(make("p", { class: "alert" }, "This file is cut off or damaged: its findings cannot be read."));
      return;
    }
    byId("main").hidden = false;
    timeline.by = summary.ranks.length > 1 ? "rank" : "device";
    drawHead();
    drawFirst();
    fillFilters();
    drawAbout();
    listen();
    apply();
    const asked = /^#finding-(\d+)$/.exec(location.hash);
    if (asked && findings[asked[1] - 1]) goTo(asked[1] - 1);
    root.dataset.ready = "yes";
  });
})();
