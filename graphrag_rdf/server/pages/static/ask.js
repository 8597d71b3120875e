// Live steps of a question: reads the events of POST /ask. Without it the form is sent and its trace shown.
"use strict";
(() => {
  const messages = JSON.parse(document.currentScript.dataset.messages);
  const say = (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const form = document.getElementById("ask");
  const live = document.getElementById("live");
  const steps = document.getElementById("steps");
  const answer = document.getElementById("live-answer");
  const quotes = document.getElementById("live-quotes");
  const warnings = document.getElementById("live-warnings");
  const status = document.getElementById("status");
  const shown = 5;  // sources of a marker; the others are behind "n more"
  const longest = 300;  // characters of an agent's line
  let run = null;

  function line(text) {
    const item = document.createElement("li");
    item.textContent = text;
    steps.append(item);
  }

  function add(message) {
    if (message.message_type === "explain") {
      if (message.kind === "session" && !message.run) run = message.explain_id.split(":").pop();
      line((message.run ? "↳ " : "") + message.label + (message.summary ? ` – ${message.summary}` : ""));
    } else if (message.kind === "answer") {
      answer.hidden = false;
      answer.append(message.response);
    } else if (message.answer) {
      answer.hidden = false;
      answer.textContent = message.answer.answer;
      finish({ citations: [], passages: [], suggestions: [], warnings: [], ...message.answer });
    } else if (message.response) {  // a thought, an action or an observation of an agent
      const text = message.response.slice(0, longest);
      line(message.kind in messages ? say(message.kind, { text }) : text);
    }
    if (message.error) fail(message.error.message);
  }

  // The answer with its citations as links to what they rest on.
  function link(text, cited, address) {
    answer.textContent = "";
    for (const piece of text.split(/(\[S?\d{1,4}\])/)) {
      if (!cited.has(piece)) {
        answer.append(piece);
        continue;
      }
      const lead = document.createElement("a");
      lead.href = `${address}#cite-${piece.replace(/\D/g, "")}`;
      lead.textContent = piece;
      answer.append(lead);
    }
  }

  function inDocument({ document: iri, chunk, verified, char_offset: start, char_length: length }) {
    const place = new URLSearchParams(verified ? { chunk, start, length } : { chunk });
    return `/documents/${encodeURIComponent(iri)}?${place}#cited`;
  }

  function ofFact({ s, p, o }) {
    return `/facts?${new URLSearchParams({ subject: s, predicate: p, object: o })}`;
  }

  // The quotes that the answer cites, each with its place in the document.
  function show(found) {
    const markers = new Map(); // each source of a marker once
    for (const one of found.citations) {
      const own = markers.get(one.marker) || new Map();
      markers.set(one.marker, own);
      for (const source of one.sources) {
        const words = source.quote || `${one.edge.s_label} ${one.edge.p_label} ${one.edge.o_label}`;
        const key = JSON.stringify([source.document, source.page_number, words]);
        if (!own.has(key)) own.set(key, [one, source]);
      }
    }
    const citation = ([one, source]) => {
      const item = document.createElement("li");
      const lead = document.createElement("a");
      lead.href = source.chunk ? inDocument(source) : ofFact(one.edge);
      lead.textContent = source.name;
      const words = document.createElement("q");
      words.dir = "auto";
      words.textContent = source.quote || `${one.edge.s_label} ${one.edge.p_label} ${one.edge.o_label}`;
      item.append(one ? `${one.marker} ` : "", words, " ", lead);
      return item;
    };
    for (const [marker, own] of markers) {
      const cited = [...own.values()].map(citation);
      quotes.append(...cited.slice(0, shown));
      if (cited.length > shown) {
        const more = document.createElement("details");
        const label = document.createElement("summary");
        label.textContent = say("more", { number: cited.length - shown, marker });
        const list = document.createElement("ul");
        list.className = "plainlist";
        list.append(...cited.slice(shown));
        more.append(label, list);
        const last = document.createElement("li");
        last.append(more);
        quotes.append(last);
      }
    }
  }

  // The first passage, and further ones folded, with the best sentence of each marked.
  function passage(one) {
    const item = document.createElement("li");
    const text = document.createElement("div");
    text.className = "chunk";
    text.dir = "auto";
    const letters = [...one.text];  // code points
    const { start, end } = one.marked;
    const mark = document.createElement("mark");
    mark.textContent = letters.slice(start, end).join("");
    text.append(letters.slice(0, start).join(""), mark, letters.slice(end).join(""));
    const place = [one.name, ...one.headings, ...(one.page_number ? [say("page", { page: one.page_number })] : [])];
    const lead = document.createElement("a");
    lead.textContent = place.join(" › ");
    if (one.chunk) {
      const from = one.char_offset + start;
      lead.href = inDocument({ ...one, verified: true, char_offset: from, char_length: end - start });
    }
    if (one.rank === 1) {
      const heading = document.createElement("h3");
      heading.textContent = one.label;
      item.append(heading, lead, text);
    } else {
      const folded = document.createElement("details");
      const label = document.createElement("summary");
      label.textContent = `${one.label}: ${place.join(" › ")}`;
      folded.append(label, lead, text);
      item.append(folded);
    }
    return item;
  }

  function finish(found) {
    status.textContent = `${say("done", { seconds: found.seconds.toFixed(2) })} `;
    for (const { detail } of found.warnings) {
      const told = document.createElement("p");
      told.className = "warning";
      told.textContent = detail;
      warnings.append(told);
    }
    if (found.passages.length) quotes.append(...found.passages.map(passage)); else show(found);
    const list = document.createElement("ul");
    list.id = "live-list";
    const stored = !found.warnings.some((w) => w.type === "trace_not_stored");
    if (stored) {
      const address = `/traces/${encodeURIComponent(found.question_iri.split(":").pop())}`;
      link(found.answer, new Set(found.citations.map((c) => c.marker)), address);
      const lead = document.createElement("a");
      lead.href = address;
      lead.textContent = say("trace");
      const next = document.createElement("a");
      next.href = `/ask?session=${encodeURIComponent(found.question_iri.split(":").pop())}`;
      next.textContent = say("next");
      status.append(lead, " · ", next);
      for (const suggestion of found.suggestions) {
        const item = document.createElement("li");
        const lead = document.createElement("a");
        lead.href = `${next.href}&question=${encodeURIComponent(suggestion.question)}`;
        lead.textContent = suggestion.question;
        item.append(lead, ` (${say(suggestion.by === "graph" ? "graph" : "model")})`);
        list.append(item);
      }
    }
    if (list.children.length) status.after(list);
  }

  function fail(text) {
    status.textContent = `${say("failed", { cause: text })} `;
    if (!run) return;
    const lead = document.createElement("a");
    lead.href = `/traces/${encodeURIComponent(run)}`;
    lead.textContent = say("far");
    status.append(lead);
  }

  async function read(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let waiting = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      waiting += value;
      const events = waiting.split("\n\n");
      waiting = events.pop();
      for (const event of events) {
        const data = event.split("\n").find((line) => line.startsWith("data: "));
        if (!data) continue;
        const message = JSON.parse(data.slice(6));
        if (message.status) fail(message.detail); else add(message);
      }
    }
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
    if (fields.get("token")) headers.Authorization = `Bearer ${fields.get("token")}`;
    const button = form.querySelector("button");
    live.hidden = false;
    answer.hidden = true;
    answer.textContent = "";
    answer.setAttribute("aria-busy", "true");  // read aloud when it is whole, not bit by bit
    document.getElementById("live-list")?.remove();
    steps.textContent = "";
    run = null;
    warnings.textContent = quotes.textContent = "";
    status.textContent = say("asking");
    button.disabled = true;
    try {
      const asked = { question: fields.get("question") };
      if (fields.get("suggest")) asked.suggestions = 3;
      if (fields.get("session")) asked.session = fields.get("session");
      const body = JSON.stringify(asked);
      const response = await fetch("/ask", { method: "POST", headers, body });
      if (response.ok) await read(response); else fail((await response.json()).detail);
    } catch (error) {
      fail(error.message);
    } finally {
      button.disabled = false;
      answer.removeAttribute("aria-busy");
    }
  });
})();
