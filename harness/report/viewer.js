"use strict";
// The response viewer. Everything from a model is set as text (textContent), never as markup.

// The rows of a list of responses: of each problem, the i-th response of every run beside the i-th of the others, and
// null where a run has no more. A row is never split over pages.
function paired(matches, runs) {
  const problems = new Map();
  for (const r of matches) {
    if (!problems.has(r.problem)) problems.set(r.problem, { rows: [], counts: runs.map(() => 0) });
    const { rows, counts } = problems.get(r.problem);
    const column = runs.indexOf(r.run);
    const i = counts[column]++;
    rows[i] ??= { problem: r.problem, cells: runs.map(() => null) };
    rows[i].cells[column] = r;
  }
  return [...problems.values()].flatMap(({ rows }) => rows);
}

// the page that a problem begins on; -1: no row is of a problem with this id, or one that begins so
function pageOf(rows, names, wanted, size) {
  const id = wanted.trim().toLowerCase();
  const exact = rows.findIndex((row) => names[row.problem].toLowerCase() === id);
  const at = exact >= 0 ? exact : rows.findIndex((row) => id !== "" && names[row.problem].toLowerCase().startsWith(id));
  return at < 0 ? -1 : Math.floor(at / size);
}

if (typeof module !== "undefined") module.exports = { paired, pageOf }; // for a test without a browser

(() => {
  if (typeof document === "undefined") return;
  const block = document.getElementById("data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const byId = (id) => document.getElementById(id);
  const TINTS = 9;
  const VERDICTS = { correct: "correct", wrong: "wrong", no_answer: "no answer", truncated: "truncated", unscored: "unscored" };

  const tint = (entropy) => (data.full_tint > 0 ? Math.min(TINTS - 1, Math.round((TINTS - 1) * Math.sqrt(entropy / data.full_tint))) : 0);
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  const responses = data.responses;

  // mathematics: LaTeX between $ $, $$ $$, \( \), \[ \], in an environment or a box, as MathML by Temml (beside this script)

  const MATH = new RegExp(
    [
      String.raw`\\\$|\\\\`, // an escaped dollar or backslash is text
      String.raw`\$\$(?<display>(?:\\[^]|[^$\\]){1,4000}?)\$\$`,
      String.raw`\\\[(?<bracket>[^]{1,4000}?)\\\]`,
      String.raw`\\\((?<paren>[^]{1,2000}?)\\\)`,
      String.raw`(?<environment>\\begin\{(?<name>(?:align|equation|gather|multline|alignat|eqnarray)\*?)\}[^]{1,4000}?\\end\{\k<name>\})`,
      String.raw`(?<boxed>\\boxed\s*\{)`,
      String.raw`\$(?!\s)(?<inline>(?:\\[^]|[^$\\\n]){1,1000}?)(?<!\s)\$(?!\d)`,
    ].join("|"),
    "g",
  );

  // the end of a group that opens just before `at`; -1 if it stays open
  function closing(text, at) {
    for (let depth = 1, i = at; i < text.length; i += 1) {
      if (text[i] === "\\") i += 1;
      else if (text[i] === "{") depth += 1;
      else if (text[i] === "}" && (depth -= 1) === 0) return i + 1;
    }
    return -1;
  }

  // a formula as an element; null where Temml cannot read it
  function formula(source, display) {
    try {
      const tree = temml.__renderToMathMLTree(source, { displayMode: display, throwOnError: true, maxExpand: 200, maxSize: [20, 50] });
      const bare = (node) => {
        if (node.attributes) delete node.attributes.style; // the page's policy refuses style attributes
        (node.children ?? []).forEach(bare);
      };
      bare(tree);
      const box = make("span", undefined, display ? "formula display" : "formula");
      box.title = source;
      box.append(tree.toNode());
      return box;
    } catch {
      return null;
    }
  }

  // text with its formulas rendered, and the rest as it is
  function typeset(text) {
    const parts = document.createDocumentFragment();
    if (!data.mathematics) {
      parts.append(text);
      return parts;
    }
    let from = 0;
    MATH.lastIndex = 0;
    for (let match; (match = MATH.exec(text)); ) {
      const { display, bracket, paren, environment, boxed, inline } = match.groups;
      let end = MATH.lastIndex;
      let source = display ?? bracket ?? environment ?? paren ?? inline;
      if (boxed !== undefined) {
        end = closing(text, MATH.lastIndex);
        source = end < 0 ? undefined : text.slice(match.index, end);
      }
      const made = source === undefined ? null : formula(source, (display ?? bracket ?? environment) !== undefined);
      if (made !== null) {
        parts.append(text.slice(from, match.index), made);
        from = MATH.lastIndex = end;
      }
    }
    parts.append(text.slice(from));
    return parts;
  }

  // an answer or a gold: LaTeX without marks, if it has a command or an exponent
  const typesetAnswer = (answer) =>
    (data.mathematics && !answer.includes("$") && /\\[a-zA-Z]|[\^_]/.test(answer) && formula(answer, false)) || typeset(answer);

  function tokens(response) {
    if (response.tokens === undefined) return null;
    const forks = new Set(response.forks);
    return response.tokens.map((token, i) => ({ text: data.strings[token], entropy: response.entropies[i], fork: forks.has(i) }));
  }

  const text = (response) => {
    if (response.shown === undefined) response.shown = response.text ?? tokens(response).map((t) => t.text).join("");
    return response.shown;
  };

  // filters

  const filters = {
    problem: byId("f-problem"), run: byId("f-run"), verdict: byId("f-verdict"), compare: byId("f-compare"), search: byId("f-search"),
  };
  const rendered = byId("v-rendered");
  const size = byId("v-size");
  let page = 0;
  let only = null; // one response, by the number of its row: what a deep link to it shows

  function option(select, value, text) {
    const element = make("option", text);
    element.value = value;
    select.append(element);
  }

  function fill() {
    option(filters.problem, "", `all ${data.problems.length} problems`);
    let group = null;
    data.problems.forEach((problem, i) => {
      if (!group || group.label !== problem.benchmark) {
        group = document.createElement("optgroup");
        group.label = problem.benchmark;
        filters.problem.append(group);
      }
      option(group, String(i), problem.id);
    });
    option(filters.run, "", data.runs.length === 1 ? data.runs[0].name : "all runs");
    if (data.runs.length > 1) data.runs.forEach((run, i) => option(filters.run, String(i), run.name));
    option(filters.verdict, "", "all verdicts");
    for (const [key, name] of Object.entries(VERDICTS)) {
      if (responses.some((r) => r.verdict === key)) option(filters.verdict, key, name);
    }
    option(filters.compare, "", "nothing");
    data.runs.forEach((a, i) =>
      data.runs.forEach((b, j) => {
        if (i < j) option(filters.compare, `${i},${j},differ`, `${a.name} and ${b.name} differ`);
        if (i !== j) option(filters.compare, `${i},${j}`, `${a.name} correct, ${b.name} incorrect`);
      }),
    );
    if (data.runs.length < 2) filters.compare.parentElement.remove();
    start();
  }

  // what the page opens on: where the first two runs differ, or the first problem
  function start() {
    for (const filter of Object.values(filters)) filter.value = "";
    if (data.differing) {
      filters.compare.value = "0,1,differ";
      if (matching().length) return;
      filters.compare.value = "";
    }
    if (data.problems.length) filters.problem.value = "0";
  }

  const incorrect = (r) => r.verdict !== "correct" && r.verdict !== "unscored";

  // of each problem, the share of a run's scored responses that are correct; null without one
  function shares(run) {
    const counts = data.problems.map(() => [0, 0]);
    for (const r of responses) {
      if (r.run === run && r.verdict !== "unscored") {
        counts[r.problem][0] += r.verdict === "correct";
        counts[r.problem][1] += 1;
      }
    }
    return counts.map(([correct, all]) => (all ? correct / all : null));
  }

  function matching() {
    if (only !== null) return [responses[only]];
    const { problem, run, verdict, compare } = filters;
    const wanted = filters.search.value.trim().toLowerCase();
    let matches = responses.filter(
      (r) =>
        (problem.value === "" || r.problem === Number(problem.value)) &&
        (run.value === "" || r.run === Number(run.value)) &&
        (verdict.value === "" || r.verdict === verdict.value) &&
        (wanted === "" || text(r).toLowerCase().includes(wanted) || (r.answer ?? "").toLowerCase().includes(wanted)),
    );
    const gain = data.problems.map(() => 0);
    if (compare.value !== "") {
      // correct responses of A and incorrect ones of B, to the problems that have both; where A gains most comes first.
      // differ: on each problem A is the run with the larger share of correct responses
      const [a, b] = compare.value.split(",").slice(0, 2).map(Number);
      const of = [shares(a), shares(b)];
      data.problems.forEach((_, i) => { gain[i] = of[0][i] === null || of[1][i] === null ? 0 : of[0][i] - of[1][i]; });
      const side = (r, better, worse) => (r.run === better && r.verdict === "correct") || (r.run === worse && incorrect(r));
      if (compare.value.endsWith("differ")) {
        matches = matches.filter((r) => (gain[r.problem] > 0 && side(r, a, b)) || (gain[r.problem] < 0 && side(r, b, a)));
        gain.forEach((value, i) => { gain[i] = Math.abs(value); });
      } else {
        const both = data.problems.map((_, i) => of[0][i] !== null && of[0][i] > 0 && of[1][i] !== null && of[1][i] < 1);
        matches = matches.filter((r) => both[r.problem] && side(r, a, b));
      }
    }
    // the runs side by side: the first sample of each, then the second
    return matches.sort(
      (a, b) =>
        gain[b.problem] - gain[a.problem] || a.problem - b.problem || a.sample - b.sample || (a.seed ?? 0) - (b.seed ?? 0) || a.run - b.run,
    );
  }

  // addresses: #responses?problem=BENCHMARK/ID&run=NAME&verdict=..&compare=A>B&search=..&page=2, or &sample=3 for one response

  const problemName = (i) => `${data.problems[i].benchmark}/${data.problems[i].id}`;

  function address() {
    const parts = new URLSearchParams();
    if (filters.problem.value !== "") parts.set("problem", problemName(Number(filters.problem.value)));
    if (filters.run.value !== "") parts.set("run", data.runs[Number(filters.run.value)].name);
    if (filters.verdict.value !== "") parts.set("verdict", filters.verdict.value);
    if (filters.compare.value !== "") parts.set("compare", filters.compare.value.split(",").map((i) => data.runs[Number(i)]?.name ?? i).join(">"));
    if (filters.search.value.trim() !== "") parts.set("search", filters.search.value.trim());
    if (page > 0) parts.set("page", String(page + 1));
    if (size.selectedIndex > 0) parts.set("rows", size.value);
    return `#responses?${parts}`;
  }

  function link(r) {
    const parts = new URLSearchParams({ problem: problemName(r.problem), run: data.runs[r.run].name, sample: String(r.sample) });
    if (r.seed !== null) parts.set("seed", String(r.seed));
    return `#responses?${parts}`;
  }

  function follow() {
    if (!location.hash.startsWith("#responses?")) return false;
    const parts = new URLSearchParams(location.hash.slice("#responses?".length));
    const index = (names, name) => (names.indexOf(name) < 0 ? "" : String(names.indexOf(name)));
    const runs = data.runs.map((run) => run.name);
    filters.problem.value = index(data.problems.map((_, i) => problemName(i)), parts.get("problem"));
    filters.run.value = index(runs, parts.get("run"));
    filters.verdict.value = parts.get("verdict") ?? "";
    filters.compare.value = (parts.get("compare") ?? "").split(">").map((name) => (name === "differ" ? name : index(runs, name))).join(",");
    if (filters.compare.selectedIndex < 0) filters.compare.value = "";
    if (filters.verdict.selectedIndex < 0) filters.verdict.value = "";
    filters.search.value = parts.get("search") ?? "";
    size.value = parts.get("rows") ?? size.options[0].value;
    if (size.selectedIndex < 0) size.selectedIndex = 0;
    page = Math.max(0, Number(parts.get("page") ?? 1) - 1 || 0);
    only = null;
    if (parts.has("sample")) {
      const at = responses.findIndex((r) => link(r) === `#responses?${parts}`);
      only = at < 0 ? null : at;
    }
    show();
    byId("responses").scrollIntoView();
    return true;
  }

  // one response

  function article(r) {
    const problem = data.problems[r.problem];
    const box = make("article", undefined, "response");
    const name = data.runs[r.run].name;
    const sample = `sample ${r.sample}` + (r.seed === null ? "" : `, seed ${r.seed}`);
    const head = make("h4");
    const run = make("span", name, "run");
    run.title = name;
    head.append(run, make("span", VERDICTS[r.verdict] || r.verdict, `verdict ${r.verdict}`));
    const to = make("a", "link", "deep");
    to.href = link(r);
    to.setAttribute("aria-label", `Link to this response: ${name}, problem ${problem.id}, ${sample}`);
    head.append(to);
    const facts = [sample];
    if (filters.problem.value === "") facts.unshift(problem.id);
    if (r.length !== null) facts.push(`${r.length} tokens`);
    const parts = tokens(r);
    if (parts !== null && parts.length) {
      const mean = parts.reduce((sum, token) => sum + token.entropy, 0) / parts.length;
      facts.push(`mean entropy ${mean.toFixed(2)} nats`);
    }
    if (r.reason) facts.push(r.reason);
    else facts.push(r.answer === null ? "no answer" : "answer ");
    const line = make("p", facts.join(" · "), "facts");
    if (r.answer !== null && !r.reason) line.append(typesetAnswer(r.answer));
    const body = make("div", undefined, "text");
    body.tabIndex = 0;
    body.setAttribute("role", "group");
    body.setAttribute("aria-label", `Response of ${name}, problem ${problem.id}, ${sample}`);
    if (parts === null || rendered.checked) {
      body.append(rendered.checked ? typeset(text(r)) : text(r));
      if (parts === null && data.full_tint > 0) line.append(" · entropy not measured");
    } else {
      parts.forEach((token) => {
        body.append(make("span", token.text, `t h${tint(token.entropy)}${token.fork ? " fork" : ""}`));
      });
      walk(body, parts);
    }
    box.append(head, line, body);
    return box;
  }

  // pointing at a token, or walking over them

  function describe(parts, i) {
    const token = parts[i];
    const shown = JSON.stringify(token.text);
    byId("v-token").textContent =
      `${shown} · token ${i + 1} of ${parts.length} · entropy ${token.entropy.toFixed(2)} nats` + (token.fork ? " · fork" : "");
  }

  function walk(text, parts) {
    let at = -1;
    const go = (i) => {
      if (i < 0 || i >= parts.length) return;
      if (at >= 0) text.children[at].classList.remove("here");
      at = i;
      text.children[at].classList.add("here");
      text.children[at].scrollIntoView({ block: "nearest" });
      describe(parts, at);
    };
    const fork = (from, by) => {
      for (let i = from + by; i >= 0 && i < parts.length; i += by) if (parts[i].fork) return i;
      return -1;
    };
    text.addEventListener("keydown", (event) => {
      const to = {
        ArrowRight: () => at + 1,
        ArrowLeft: () => at - 1,
        Home: () => 0,
        End: () => parts.length - 1,
        f: () => fork(at, 1),
        b: () => fork(at < 0 ? parts.length : at, -1),
      }[event.key];
      if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      go(to());
    });
    text.addEventListener("pointerover", (event) => {
      const i = [...text.children].indexOf(event.target);
      if (i >= 0) describe(parts, i);
    });
    text.addEventListener("blur", () => {
      if (at >= 0) text.children[at].classList.remove("here");
      at = -1;
    });
  }

  // a problem: the question, the gold answer, and the prompt where it is more than the question

  function asked(problem) {
    const gold = make("p", "Gold answer: ", "gold");
    gold.append(typesetAnswer(problem.gold));
    const parts = [gold];
    if (problem.question !== null) {
      const question = make("div", undefined, "question");
      question.append(make("span", `Question ${problem.id}`, "facts"), typeset(problem.question));
      parts.unshift(question);
    }
    if (problem.prompt !== null && problem.prompt !== problem.question) {
      const more = make("details");
      more.open = problem.question === null;
      more.append(make("summary", "Prompt, as the model saw it"), make("pre", problem.prompt));
      parts.push(more);
    }
    return parts;
  }

  // the page of responses

  // the runs side by side: those that are compared or chosen, or all
  function columns() {
    if (only !== null) return [responses[only].run];
    if (filters.compare.value !== "") return filters.compare.value.split(",").slice(0, 2).map(Number);
    if (filters.run.value !== "") return [Number(filters.run.value)];
    return data.runs.map((_, i) => i);
  }

  const listed = (matches) => paired(matches, columns());

  function pair(row) {
    const box = make("div", undefined, "pair");
    columns().forEach((run, i) => {
      const r = row.cells[i];
      if (r !== null) return box.append(article(r));
      const unscored = responses.filter((o) => o.run === run && o.problem === row.problem && o.verdict === "unscored").length;
      const why = unscored ? `${unscored} unscored` : "no further response matches";
      box.append(make("p", `${data.runs[run].name}: ${why}`, "response facts"));
    });
    return box;
  }

  function show() {
    const matches = matching();
    if (only !== null) filters.problem.value = String(responses[only].problem);
    const rows = listed(matches);
    const pages = Math.max(1, Math.ceil(rows.length / Number(size.value)));
    page = Math.min(Math.max(page, 0), pages - 1);
    const problem = filters.problem.value === "" ? null : data.problems[Number(filters.problem.value)];
    const head = byId("v-problem");
    head.replaceChildren(...(problem ? asked(problem) : []));
    const shown = rows.slice(page * size.value, (page + 1) * size.value);
    const heads = (row, i) => (problem || (i && shown[i - 1].problem === row.problem) ? [] : asked(data.problems[row.problem]));
    byId("v-list").replaceChildren(...shown.flatMap((row, i) => [...heads(row, i), pair(row)]));
    const kept = data.kept === data.of ? `all ${data.of} kept` : `${data.kept} of ${data.of} kept in this file`;
    const order = filters.compare.value === "" || only !== null ? "" : " Problems with the largest difference in accuracy come first.";
    byId("v-count").textContent =
      only !== null ? "One response, by its link; Reset shows all." : `${matches.length} response${matches.length === 1 ? "" : "s"} match (${kept}).${order}`;
    byId("v-page").textContent = `${page + 1} of ${pages}`;
    byId("v-previous").disabled = page === 0;
    byId("v-next").disabled = page === pages - 1;
  }

  function legend() {
    const place = byId("v-legend");
    rendered.checked = data.mathematics && !(data.full_tint > 0);
    if (!data.mathematics) rendered.parentElement.remove();
    if (!(data.full_tint > 0)) {
      place.remove();
      byId("v-token").remove();
      return;
    }
    place.append(make("span", "Entropy (nats): ", "facts"));
    for (let step = 0; step < TINTS; step += 2) {
      const entropy = data.full_tint * (step / (TINTS - 1)) ** 2;
      place.append(make("span", entropy.toFixed(2) + (step === TINTS - 1 ? " and more" : ""), `t h${step}`), document.createTextNode(" "));
    }
    place.append(make("span", "fork", "t fork"));
    const keys = make("span", " In a response: ← → a token, f and b the next and the previous fork.", "facts");
    place.append(keys);
    for (const run of data.runs) {
      if (run.fork !== null) place.append(make("span", ` Forks of ${run.name}: from ${run.fork.toFixed(2)}.`, "facts"));
    }
  }

  function changed() {
    page = 0;
    only = null;
    update();
  }

  function update() {
    show();
    history.replaceState(null, "", address());
  }

  for (const [name, filter] of Object.entries(filters)) {
    filter.addEventListener(name === "search" ? "input" : "change", () => {
      if (name === "compare" && filter.value !== "") filters.problem.value = filters.run.value = filters.verdict.value = "";
      if (name === "search" && filter.value !== "") filters.problem.value = "";
      changed();
    });
  }
  rendered.addEventListener("change", show);
  byId("v-reset").addEventListener("click", () => {
    start();
    changed();
  });
  const turn = (by) => { page += by; update(); };
  byId("v-previous").addEventListener("click", () => turn(-1));
  byId("v-next").addEventListener("click", () => turn(1));
  size.addEventListener("change", changed);
  const go = byId("v-go");
  go.addEventListener("change", () => {
    if (go.value.trim() === "") return;
    filters.problem.value = "";
    only = null;
    const found = pageOf(listed(matching()), data.problems.map((problem) => problem.id), go.value, Number(size.value));
    if (found >= 0) page = found;
    update();
    if (found < 0) byId("v-count").textContent = `No response that matches is of problem ${go.value}.`;
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea, .text");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("viewer").hidden) return;
    const does = { n: () => turn(1), p: () => turn(-1), g: () => go.focus(), "/": () => filters.search.focus() }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });
  addEventListener("hashchange", follow);
  fill();
  legend();
  byId("viewer").hidden = false;
  if (!follow()) show();
})();
