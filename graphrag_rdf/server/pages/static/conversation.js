// A conversation: shows the steps of a question live, then opens the page of its answer; marks the evidence of
// the sentence under the pointer or focus. Without it the form is sent, and the page of its answer shown.
"use strict";
(() => {
  const messages = JSON.parse(document.currentScript.dataset.messages);
  const say = (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const element = (id) => document.getElementById(id);
  const form = element("ask");
  const longest = 300;  // characters of an agent's line
  let run = null;  // of the question that is being answered
  let last = null;  // the last message
  let asking = null;

  function line(text) {
    const item = document.createElement("li");
    item.textContent = text;
    element("live-steps").append(item);
    item.scrollIntoView({ block: "nearest" });
  }

  function show(message) {
    const answer = element("live-answer");
    last = message;
    if (message.message_type === "explain") {
      if (message.kind === "session" && !message.run) run = message.explain_id.split(":").pop();
      line((message.run ? "↳ " : "") + message.label + (message.summary ? ` – ${message.summary}` : ""));
    } else if (message.kind === "answer") {
      answer.hidden = false;
      answer.append(message.response);
    } else if (message.response && !message.answer) {  // a thought, an action or an observation of an agent
      const text = message.response.slice(0, longest);
      line(message.kind in messages ? say(message.kind, { text }) : text);
    }
    if (message.error) fail(message.error.message);
  }

  function end(text) {
    element("status").textContent = `${text} `;
    element("stop").hidden = true;
    if (!run) return;
    const lead = document.createElement("a");
    lead.href = `/traces/${encodeURIComponent(run)}`;
    lead.textContent = say("far");
    element("status").append(lead);
  }

  const fail = (cause) => end(say("failed", { cause }));

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
        const data = event.split("\n").find((text) => text.startsWith("data: "));
        if (!data) continue;
        const message = JSON.parse(data.slice(6));
        if (message.status) fail(message.detail); else show(message);
      }
    }
  }

  async function ask(fields) {
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
    if (fields.get("token")) headers.Authorization = `Bearer ${fields.get("token")}`;
    const asked = { question: fields.get("question"), pipeline: fields.get("pipeline") };
    if (fields.get("suggest")) asked.suggestions = 3;
    if (fields.get("session")) asked.session = fields.get("session");
    asking = new AbortController();
    const response = await fetch("/ask", {
      method: "POST", headers, body: JSON.stringify(asked), signal: asking.signal,
    });
    if (!response.ok) return fail((await response.json()).detail);
    await read(response);
    if (last?.answer) location.assign(`/traces/${encodeURIComponent(last.answer.question_iri.split(":").pop())}#now`);
  }

  form.addEventListener("submit", async (event) => {
    if (!("live" in form.dataset)) return;  // nothing is stored: the answer comes as a page
    event.preventDefault();
    const fields = new FormData(form);
    const button = form.querySelector("button");
    run = last = null;
    element("live").hidden = element("stop").hidden = false;
    element("live-question").textContent = fields.get("question");
    element("live-answer").hidden = true;
    element("live-answer").textContent = element("live-steps").textContent = "";
    element("status").textContent = say("asking");
    button.disabled = true;
    try {
      await ask(fields);
    } catch (error) {
      if (error.name === "AbortError") end(say("stopped")); else fail(error.message);
    } finally {
      button.disabled = false;
    }
  });
  const samples = element("samples");
  samples?.addEventListener("submit", () => {
    const button = samples.querySelector("button");
    button.disabled = true;
    button.textContent = button.dataset.busy;
  });
  element("stop").addEventListener("click", () => asking?.abort());

  // The evidence of a sentence is marked while the pointer or the focus is on it.
  function point(event) {
    const sentence = event.target.closest?.("[data-cites]");
    if (!sentence) return;
    const cited = new Set(sentence.dataset.cites.split(" ").map((number) => `cite-${number}`));
    for (const item of document.querySelectorAll(".proof [id^=cite-]")) {
      item.classList.toggle("pointed", cited.has(item.id));
    }
    if (matchMedia("(min-width: 64rem)").matches) {
      document.querySelector(".proof .pointed")?.scrollIntoView({ block: "nearest" });
    }
  }
  document.addEventListener("pointerover", point);
  document.addEventListener("focusin", point);

  // Each text is scrolled to its first citation.
  for (const text of document.querySelectorAll(".proof .chunk")) {
    const mark = text.querySelector("mark:has(sup a)") ?? text.querySelector("mark");
    if (mark) text.scrollTop = mark.offsetTop - text.clientHeight / 3;
  }

  // Links to what is folded unfold it.
  function unfold() {
    const target = location.hash && document.querySelector(location.hash.replace(/[^#\w-]/g, ""));
    for (let fold = target?.closest?.("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target?.scrollIntoView?.();
  }
  addEventListener("hashchange", unfold);
  unfold();

  const copy = element("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(element("markdown").value);
      copy.textContent = copy.dataset.copied;
    });
  }
})();
