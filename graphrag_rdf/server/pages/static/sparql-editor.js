// The query editor: CodeMirror over the form's text field, completion from /sparql-editor/terms, and a mark where
// the server found an error. Tab leaves the editor, Ctrl-Enter runs the query, Ctrl-Space completes.
"use strict";
(() => {
  const messages = JSON.parse(document.currentScript.dataset.messages);
  const CodeMirror = window.CodeMirror;
  const field = document.getElementById("query");
  const WORDS = ("SELECT DISTINCT WHERE CONSTRUCT ASK DESCRIBE PREFIX GRAPH FROM NAMED OPTIONAL UNION MINUS FILTER "
    + "EXISTS NOT BIND AS VALUES GROUP_CONCAT COUNT SUM MIN MAX AVG SAMPLE COALESCE IF CONTAINS STRSTARTS STRENDS "
    + "LCASE UCASE STR LANG LANGMATCHES DATATYPE REGEX REPLACE YEAR MONTH DAY isIRI isTRIPLE TRIPLE SUBJECT "
    + "PREDICATE OBJECT LIMIT OFFSET HAVING").split(" ").concat("GROUP BY", "ORDER BY", "<<( ?s ?p ?o )>>");
  const MOST = 60;

  // CodeMirror's mode for SPARQL 1.1, with the brackets and words of SPARQL 1.2, which it takes for IRIs and names.
  CodeMirror.defineMode("sparql12", (config) => {
    const base = CodeMirror.getMode(config, "sparql");
    const token = (stream, state) => {
      if (stream.match(/^(<<\(?|\)?>>|\{\||\|\}|~)/)) return "bracket";
      if (stream.match(/^((is)?TRIPLE|SUBJECT|PREDICATE|OBJECT|(has|STR)?LANGDIR|VERSION)\b(?!:)/i)) return "builtin";
      return base.token(stream, state);
    };
    const inText = (state) => state.tokenize.name !== "tokenBase";
    return { ...base, token: (stream, state) => (inText(state) ? base.token : token)(stream, state) };
  });

  let terms;
  const load = () => {
    terms ??= fetch("/sparql-editor/terms", { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : Promise.reject()))
      .catch(() => ({ prefixes: {}, terms: [] }));
    return terms;
  };

  // Terms that hold what stands before the cursor in their IRI or label: those that fit the place first.
  async function hints(editor) {
    const cursor = editor.getCursor();
    const line = editor.getLine(cursor.line).slice(0, cursor.ch);
    const word = line.match(/[<?$]?[^\s<>(){}[\],;.|^"'?$]*$/)[0];
    const from = CodeMirror.Pos(cursor.line, cursor.ch - word.length);
    const before = editor.getRange(CodeMirror.Pos(0, 0), from);
    const known = await load();
    const wanted = word.replace(/^</, "").toLowerCase();
    let found;
    if (/^[?$]/.test(word)) {
      const others = before + editor.getRange(cursor, CodeMirror.Pos(editor.lastLine() + 1, 0));
      const names = new Set(others.match(/[?$]\w+/g));
      found = [...names].sort().map((text) => ({ text, label: "", kind: "variable" }));
    } else {
      const prefix = ([name, iri]) => ({ text: `${name}:`, label: iri, kind: "prefix" });
      const words = /[<:]/.test(word) ? [] : WORDS.map((text) => ({ text, label: "", kind: "word" }));
      found = [...known.terms, ...Object.entries(known.prefixes).map(prefix), ...words];
    }
    const isClass = /\b(a|rdf:type)\s+$/.test(before);
    const fits = isClass ? "class" : /\b(GRAPH|FROM|NAMED)\s+$/i.test(before) ? "graph" : "relation";
    const rank = ({ text, label, kind }) => {
      const names = [text.toLowerCase(), label.toLowerCase(), text.toLowerCase().replace(/^.*[/#:](?=.)/, "")];
      if (!names.some((name) => name.includes(wanted))) return -1;
      const begins = names.some((name) => name.replace(/^</, "").startsWith(wanted));
      return (begins ? 0 : 4) + (kind === fits ? 0 : kind === "word" && wanted ? 1 : kind === "prefix" ? 2 : 3);
    };
    const ranked = found.map((each, place) => ({ each, place, rank: rank(each) })).filter(({ rank }) => rank >= 0);
    ranked.sort((a, b) => a.rank - b.rank || a.place - b.place);
    const list = ranked.slice(0, MOST).map(({ each }) => ({ text: each.text, render: (item) => show(item, each) }));
    const answer = { list, from, to: cursor };
    CodeMirror.on(answer, "shown", () => {
      const shown = document.querySelector(".CodeMirror-hints");
      shown.removeAttribute("aria-expanded");  // a listbox has no such attribute
      shown.setAttribute("aria-label", messages.terms);
      shown.tabIndex = 0;  // it scrolls
    });
    return answer;
  }

  function show(item, { text, label, kind, count }) {
    const note = document.createElement("small");
    const iri = text.startsWith("<") && label;
    const uses = count && messages.uses.replace("{number}", count);
    note.textContent = [messages[kind], iri ? "" : label, uses, iri ? text : ""].filter(Boolean).join(" · ");
    item.append(iri ? label : text, " ", note);
  }

  field.required = false;  // it is hidden: the browser could not say what is missing
  const editor = CodeMirror.fromTextArea(field, {
    mode: "sparql12", lineNumbers: true, lineWrapping: true, viewportMargin: Infinity, indentUnit: 2,
    gutters: ["problems", "CodeMirror-linenumbers"],
    extraKeys: {
      Tab: false, "Shift-Tab": false,
      "Ctrl-Enter": () => field.form.requestSubmit(), "Cmd-Enter": () => field.form.requestSubmit(),
      "Ctrl-Space": () => complete(),
    },
    hintOptions: {
      hint: hints, completeSingle: false, closeCharacters: /[\s()[\]{};>,]/,
      container: document.querySelector(".editor"),
    },
  });
  const complete = () => editor.showHint();
  const input = editor.getInputField();
  input.id = "query-input";
  document.querySelector("label[for='query']").htmlFor = input.id;
  for (const name of ["aria-invalid", "aria-describedby"]) {
    if (field.hasAttribute(name)) input.setAttribute(name, field.getAttribute(name));
  }
  editor.on("focus", load);
  editor.on("inputRead", (_, change) => { if (change.text.at(-1).endsWith(":")) complete(); });

  const line = Number(field.dataset.line) - 1;
  const column = Number(field.dataset.column) - 1;
  if (line >= 0 && line < editor.lineCount()) {
    const mark = document.createElement("span");
    mark.textContent = "✗";
    mark.title = messages.problem;
    editor.setGutterMarker(line, "problems", mark);
    editor.addLineClass(line, "background", "problem");
    if (column >= 0) {
      const end = editor.getLine(line).length;
      const start = Math.min(column, Math.max(end - 1, 0));
      editor.markText({ line, ch: start }, { line, ch: Math.min(column + 1, end) }, { className: "problem-here" });
    }
    editor.setCursor({ line, ch: Math.max(column, 0) }, null, { scroll: false });
  }
})();
