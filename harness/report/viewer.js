"use strict";
// The response viewer. Everything from a model is set as text (textContent), never as markup.
(() => {
  const block = document.getElementById("data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const byId = (id) => document.getElementById(id);
  const PAGE = 6;
  const TINTS = 9;
  const VERDICTS = { correct: "correct", wrong: "wrong", no_answer: "no answer", truncated: "truncated", unscored: "unscored" };

  const digit = new Map([...data.alphabet].map((character, i) => [character, i]));
  const nats = (level) => data.top * (level / (data.levels - 1)) ** 2;
  const tint = (entropy) => (data.full_tint > 0 ? Math.min(TINTS - 1, Math.round((TINTS - 1) * Math.sqrt(entropy / data.full_tint))) : 0);
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };

  const responses = data.responses.run.map((_, i) =>
    Object.fromEntries(Object.entries(data.responses).map(([name, column]) => [name, column[i]])),
  );

  function tokens(response) {
    if (response.tokens === null) return null;
    const found = [];
    for (let i = 0; i < response.entropy.length; i++) {
      let index = 0;
      for (let k = 0; k < data.width; k++) index = index * data.alphabet.length + digit.get(response.tokens[i * data.width + k]);
      const code = digit.get(response.entropy[i]);
      found.push({ text: data.strings[index], level: code >> 1, fork: code % 2 === 1 });
    }
    return found;
  }

  // filters

  const filters = { problem: byId("f-problem"), run: byId("f-run"), verdict: byId("f-verdict") };
  let page = 0;

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
    if (data.problems.length) filters.problem.value = "0";
  }

  function matching() {
    const { problem, run, verdict } = filters;
    const found = responses.filter(
      (r) =>
        (problem.value === "" || r.problem === Number(problem.value)) &&
        (run.value === "" || r.run === Number(run.value)) &&
        (verdict.value === "" || r.verdict === verdict.value),
    );
    // the runs side by side: the first sample of each, then the second
    return found.sort((a, b) => a.problem - b.problem || a.sample - b.sample || (a.seed ?? 0) - (b.seed ?? 0) || a.run - b.run);
  }

  // one response

  function article(r) {
    const problem = data.problems[r.problem];
    const box = make("article", undefined, "response");
    const name = data.runs[r.run].name;
    const sample = `sample ${r.sample}` + (r.seed === null ? "" : `, seed ${r.seed}`);
    const head = make("h4");
    head.append(make("span", name, "run"), make("span", VERDICTS[r.verdict] || r.verdict, `verdict ${r.verdict}`));
    const facts = [sample];
    if (filters.problem.value === "") facts.unshift(problem.id);
    if (r.length !== null) facts.push(`${r.length} tokens`);
    const parts = tokens(r);
    if (parts !== null && parts.length) {
      const mean = parts.reduce((sum, token) => sum + nats(token.level), 0) / parts.length;
      facts.push(`mean entropy about ${mean.toFixed(2)} nats`);
    }
    facts.push(r.answer === null ? "no answer" : `answer ${r.answer}`);
    const line = make("p", facts.join(" · "), "facts");
    const text = make("div", undefined, "text");
    text.tabIndex = 0;
    text.setAttribute("role", "group");
    text.setAttribute("aria-label", `Response of ${name}, problem ${problem.id}, ${sample}`);
    if (parts === null) {
      text.textContent = r.text;
      line.textContent += " · entropy not measured";
    } else {
      parts.forEach((token) => {
        text.append(make("span", token.text, `t h${tint(nats(token.level))}${token.fork ? " fork" : ""}`));
      });
      walk(text, parts);
    }
    box.append(head, line, text);
    return box;
  }

  // pointing at a token, or walking over them

  function describe(parts, i) {
    const token = parts[i];
    const shown = JSON.stringify(token.text);
    byId("v-token").textContent =
      `${shown} · token ${i + 1} of ${parts.length} · entropy about ${nats(token.level).toFixed(2)} nats` + (token.fork ? " · fork" : "");
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

  // the page of responses

  function show() {
    const found = matching();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const problem = filters.problem.value === "" ? null : data.problems[Number(filters.problem.value)];
    const head = byId("v-problem");
    head.replaceChildren();
    if (problem) {
      head.append(make("p", `Gold answer: ${problem.gold}`, "gold"));
      if (problem.prompt !== null) head.append(make("p", "Prompt, as the model saw it:", "facts"), make("pre", problem.prompt));
    }
    byId("v-list").replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map(article));
    const kept = data.kept === data.of ? `all ${data.of} kept` : `${data.kept} of ${data.of} kept in this file`;
    byId("v-count").textContent = `${found.length} response${found.length === 1 ? "" : "s"} match (${kept}).`;
    byId("v-page").textContent = `${page + 1} of ${pages}`;
    byId("v-previous").disabled = page === 0;
    byId("v-next").disabled = page === pages - 1;
  }

  function legend() {
    const place = byId("v-legend");
    if (!(data.top > 0)) {
      place.remove();
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

  for (const select of Object.values(filters)) {
    select.addEventListener("change", () => {
      page = 0;
      show();
    });
  }
  byId("v-previous").addEventListener("click", () => { page -= 1; show(); });
  byId("v-next").addEventListener("click", () => { page += 1; show(); });
  fill();
  legend();
  byId("viewer").hidden = false;
  show();
})();
