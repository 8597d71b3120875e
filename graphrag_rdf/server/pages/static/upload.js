// Uploads of the page /documents: files and folders, chosen or dropped, with the progress of each.
// Without it the form is sent as it is.
"use strict";
(() => {
  const messages = JSON.parse(document.currentScript.dataset.messages);
  const say = (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const area = document.getElementById("upload");
  const form = area.querySelector("form");
  const drop = area.querySelector(".drop");
  const list = document.getElementById("uploads");
  const status = document.getElementById("upload-status");
  const warnings = document.getElementById("upload-warnings");
  const cancel = document.getElementById("cancel");
  const token = document.getElementById("upload-token");
  const chosen = [document.getElementById("files"), document.getElementById("folder")];
  const most = Number(area.dataset.most);
  const files = 20, bytes = 4 << 20;  // of one request, so that a cancelled one loses little
  const ended = ["done", "failed", "left out", "cancelled"];
  let queue = [];  // {file, path, item, text, bar, state}
  let request = null;

  for (const part of area.querySelectorAll(".scripted")) part.hidden = false;
  chosen[0].required = false;

  function add(file, path) {
    if (path.split("/").some((part) => part.startsWith(".") || part.startsWith("~$"))) return;
    const old = queue.find((one) => one.path === path);
    if (old && !ended.includes(old.state)) return;
    if (old) remove(old);
    const one = { file, path, item: document.createElement("li"), text: document.createElement("span"), bar: document.createElement("progress") };
    const name = document.createElement("bdi");
    name.textContent = path;
    one.text.className = "soft";
    one.item.append(name, one.bar, one.text);
    list.append(one.item);
    queue.push(one);
    set(one, "waiting");
    if (file.size + 4096 > most) set(one, "left out", say("large", { size: Math.floor(most / 1048576) }));
  }

  function remove(one) {
    one.item.remove();
    queue = queue.filter((other) => other !== one);
  }

  // A stage of a file: its words, and how far it is (0 to 1, null: not known).
  function set(one, state, detail = "", part = 0) {
    one.state = state;
    one.text.textContent = detail ? say("detail", { state: say(state), detail }) : say(state);
    one.item.dataset.state = state;
    one.bar.hidden = ended.includes(state);
    if (part === null) one.bar.removeAttribute("value"); else one.bar.value = part;
    if (state === "done") {
      const lead = document.createElement("a");
      lead.href = `/documents/${one.path.split("/").map(encodeURIComponent).join("/")}`;
      lead.append(...one.item.querySelector("bdi").childNodes);
      one.item.querySelector("bdi").append(lead);
    }
    count();
  }

  function count() {
    const of = (state) => queue.filter((one) => one.state === state).length;
    const told = ended.map((state) => [of(state), state]).filter(([number]) => number);
    const open = queue.length - told.reduce((sum, [number]) => sum + number, 0);
    if (open) told.push([open, "to do"]);
    status.textContent = told.map(([number, state]) => say("counted", { number, state: say(state) })).join(say("comma"));
  }

  function warn(text) {
    const told = document.createElement("p");
    told.className = "warning";
    told.textContent = text;
    if (![...warnings.children].some((one) => one.textContent === text)) warnings.append(told);
  }

  function batch() {
    const found = [];
    let size = 0;
    for (const one of queue.filter((each) => each.state === "waiting")) {
      if (found.length && (found.length === files || size + one.file.size > bytes)) break;
      found.push(one);
      size += one.file.size;
    }
    return found;
  }

  async function run() {
    if (request) return;
    if (token && !token.value) {
      status.textContent = say("token");
      token.focus();
      return;
    }
    warnings.textContent = "";
    cancel.hidden = false;
    for (let group = batch(); group.length; group = batch()) await send(group);
    cancel.hidden = true;
    if (document.querySelector(".begin") && queue.every((one) => one.state === "done")) {
      location.reload();  // now one can ask
    } else if (queue.some((one) => one.state === "done")) {
      const lead = document.createElement("a");
      lead.href = "/documents?sort=added";
      lead.textContent = say("show");
      status.append(say("stop"), lead);
    }
  }

  // One request; its promise is kept when it ended, however it ended.
  function send(group) {
    return new Promise((resolve) => {
      const body = new FormData();
      for (const one of group) body.append("files", one.file, one.path);
      const by = new Map(group.map((one) => [one.path.normalize("NFC"), one]));
      const open = () => group.filter((one) => !ended.includes(one.state));
      let read = 0, current = null, report = null, problem = null;

      function progress({ done, total, path }) {
        const one = by.get(path);
        if (!one) return;
        if (current && current !== one) set(current, "reading", say("chunks done"), 1);
        current = one;
        set(one, "reading", say(group.length > 1 ? "chunks sent" : "chunks", { done, total }), total ? done / total : null);
      }

      function events(end) {
        const text = request.responseText;
        for (let stop = text.indexOf("\n\n", read); stop >= 0; stop = text.indexOf("\n\n", read)) {
          const lines = text.slice(read, stop).split("\n");
          read = stop + 2;
          const kind = lines.find((line) => line.startsWith("event: "));
          const data = lines.find((line) => line.startsWith("data: "));
          if (!kind || !data) continue;
          const found = JSON.parse(data.slice(6));
          if (kind === "event: progress") progress(found);
          else if (kind === "event: report") report = found;
          else problem = found.detail;
        }
        if (end && !report && !problem) problem = say("broke off");
      }

      function finish() {
        if (report) {
          for (const one of group) {
            const failed = report.failures.filter((each) => each.path.normalize("NFC") === one.path.normalize("NFC"));
            if (!failed.length) set(one, report.stopped ? "cancelled" : "done");
            else if (failed.some((each) => !each.chunk)) set(one, "failed", failed[0].reason);
            else set(one, "failed", say("failed chunks", { number: failed.length, reason: failed[0].reason }));
          }
          for (const { detail } of report.warnings) warn(detail);
        } else {
          for (const one of open()) set(one, "failed", problem);
        }
        request = null;
        resolve();
      }

      request = new XMLHttpRequest();
      request.open("POST", "/documents");
      request.setRequestHeader("Accept", "text/event-stream");
      if (token) request.setRequestHeader("Authorization", `Bearer ${token.value.trim()}`);
      request.upload.onprogress = ({ loaded, total }) => {
        for (const one of open()) set(one, "sending", "", total ? loaded / total : null);
      };
      request.upload.onload = () => {
        for (const one of open()) set(one, "sent", say("turn"), null);
      };
      request.onprogress = () => { if (request.status === 200) events(false); };
      request.onload = () => {
        if (request.status === 200) events(true);
        else problem = told(request.responseText) || say("status", { status: request.status });
        if (request.status === 401 || request.status === 403) {
          for (const one of queue) if (one.state === "waiting") set(one, "failed", problem);
        }
        finish();
      };
      request.onerror = () => {
        problem = say("unreachable");
        finish();
      };
      request.onabort = () => {
        for (const one of queue) if (!ended.includes(one.state)) set(one, "cancelled");
        request = null;
        resolve();
      };
      for (const one of group) set(one, "sending", "", 0);
      request.send(body);
    });
  }

  function told(text) {
    try {
      const { detail, hint } = JSON.parse(text);
      return hint ? say("hint", { detail, hint }) : detail;
    } catch {
      return "";
    }
  }

  // All files below what was dropped.
  async function walk(entry, found) {
    if (entry.isFile) {
      found.push([await new Promise((resolve, reject) => entry.file(resolve, reject)), entry.fullPath.slice(1)]);
    } else if (entry.isDirectory && entry.name !== "node_modules") {
      const reader = entry.createReader();
      for (;;) {  // a reader gives some at a time
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) return;
        for (const one of some) await walk(one, found);
      }
    }
  }

  async function take(found) {
    for (const [file, path] of found) add(file, path);
    if (found.length) await run();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    for (const one of queue.filter((each) => each.state === "failed" || each.state === "cancelled")) set(one, "waiting");
    run();
  });
  for (const input of chosen) {
    input.addEventListener("change", () => {
      const found = [...input.files].map((file) => [file, file.webkitRelativePath || file.name]);
      input.value = "";
      take(found);
    });
  }
  cancel.addEventListener("click", () => request && request.abort());
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
    const plain = [...event.dataTransfer.files];  // both are empty once this function waits
    const found = [];
    try {
      if (entries.some(Boolean)) for (const entry of entries.filter(Boolean)) await walk(entry, found);
      else found.push(...plain.map((file) => [file, file.name]));
    } catch (error) {
      warn(say("folder", { cause: error.message }));
    }
    await take(found);
  });
})();
