// Fixes of check results: applied on demand, and taken back on demand; where a note's line is; and which sections
// somebody has been in.
(() => {
  const form = document.querySelector("form.ty-create"); // of a new job, or of one to be modified and rerun
  const choices = document.getElementById("choices");
  const said = document.getElementById("fix-said");
  const done = []; // what was applied: { name, before, after, at, line }

  const isText = (control) => control instanceof HTMLTextAreaElement || (control instanceof HTMLInputElement && control.type === "text");
  const isSwitch = (control) => control instanceof HTMLInputElement && control.type === "checkbox";
  const valueOf = (name) => {
    const control = form.elements[name];
    return isSwitch(control) ? String(control.checked) : control.value; // of radios, that of the one chosen
  };
  const announce = (word) => {
    said.textContent = ""; // the same word again is read out again
    requestAnimationFrame(() => { said.textContent = said.dataset[word]; });
  };
  const shown = (control) => {
    for (let part = control.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  };

  // Writes into a text as a keyboard would, so that the browser's own undo knows of it.
  const write = (control, from, to, text) => {
    shown(control);
    control.focus({ preventScroll: true });
    control.setSelectionRange(from, to);
    const typed = text ? document.execCommand("insertText", false, text) : from === to || document.execCommand("delete");
    if (typed) return;
    control.setRangeText(text, from, to, "end");
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const choose = (name, value) => {
    const control = form.elements[name];
    const one = control instanceof RadioNodeList ? [...control].find((radio) => radio.value === (value || valueOf(name))) : control;
    if (control instanceof RadioNodeList) one.checked = value !== "";
    else if (isSwitch(control)) control.checked = value === "true";
    else control.value = value;
    for (const kind of ["input", "change"]) one.dispatchEvent(new Event(kind, { bubbles: true }));
  };

  // The place of some lines in a text, and what has to stand there: null if the lines are others by now.
  // An empty `old` is put in before its line, an empty `fresh` takes the lines away.
  const change = (text, line, old, fresh) => {
    const lines = text.split("\n");
    const wanted = old === "" ? [] : old.split("\n");
    const at = line - 1;
    if (at > lines.length || wanted.some((one, n) => lines[at + n] !== one)) return null;
    const from = lines.slice(0, at).reduce((sum, one) => sum + one.length + 1, 0);
    if (at === lines.length) return { from: text.length, old: "", fresh: `\n${fresh}` };
    if (!wanted.length) return { from, old: "", fresh: text ? `${fresh}\n` : fresh };
    if (fresh !== "") return { from, old, fresh };
    if (at + wanted.length < lines.length) return { from, old: `${old}\n`, fresh };
    return at ? { from: from - 1, old: `\n${old}`, fresh } : { from, old, fresh };
  };
  // What was done to a control, to take it back; null if it is not as the fix expects.
  const apply = ({ fix: name, line, old, new: fresh }) => {
    const before = valueOf(name);
    if (!line) {
      if (before !== old) return null;
      choose(name, fresh);
      return { name, before, after: fresh };
    }
    const edit = change(before, Number(line), old, fresh);
    if (!edit) return null;
    write(form.elements[name], edit.from, edit.from + edit.old.length, edit.fresh);
    return { name, before, after: valueOf(name), edit };
  };
  const takeBack = ({ name, before, edit }) => {
    if (edit) write(form.elements[name], edit.from, edit.from + edit.fresh.length, edit.old);
    else choose(name, before);
  };

  // The line with the way back stands where the button stood; it is hidden while its field holds something else.
  const lineFor = (entry, label, notes) => {
    const line = document.getElementById("fix-done").content.firstElementChild.cloneNode(true);
    line.querySelector("b").textContent = label;
    if (notes) notes.before(line); // where it stays when the notes below become fewer
    else form.querySelector(".ty-confirm").prepend(line);
    line.querySelector("button").addEventListener("click", () => undo(entry));
    return line;
  };
  const undo = (entry) => {
    if (valueOf(entry.name) !== entry.after) return;
    takeBack(entry);
    done.splice(done.indexOf(entry), 1);
    entry.line.remove();
    const control = form.elements[entry.name];
    const place = control instanceof RadioNodeList ? [...control].find((radio) => radio.checked) || control[0] : control;
    place.focus();
    announce("undone");
  };
  const lookAround = () => {
    for (const entry of done) entry.line.hidden = valueOf(entry.name) !== entry.after;
  };
  form.addEventListener("input", lookAround);
  form.addEventListener("change", lookAround);

  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-fix]");
    if (!button) return;
    const notes = button.closest(".ty-field-notes"); // the note itself may be gone once its field changed
    const entry = apply(button.dataset);
    if (!entry) {
      const refused = button.parentElement.querySelector(".ty-fix-refused");
      refused.textContent = said.dataset.refused;
      refused.hidden = false;
      announce("refused");
      choices.dispatchEvent(new Event("refresh"));
      return;
    }
    entry.line = lineFor(entry, button.dataset.label, notes);
    done.push(entry);
    button.closest("details").open = false;
    entry.line.querySelector("button").focus();
    announce("changed");
  });

  // A note that names a line selects it, once the link has led to the text.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-line]");
    const text = link && document.querySelector(link.getAttribute("href"));
    if (!isText(text)) return;
    const lines = text.value.split("\n");
    const at = Math.min(Number(link.dataset.line), lines.length) - 1;
    const from = lines.slice(0, at).reduce((sum, one) => sum + one.length + 1, 0);
    text.setSelectionRange(from, from + lines[at].length);
    text.scrollTop = text.scrollHeight * (at / lines.length) - text.clientHeight / 2;
  });

  if (!form.elements.touched) return; // there, nothing waits for a later section
  // A section in which somebody typed or looked at a control decides on what was uncertain until then.
  const touch = (event) => {
    if (event.type === "focusout" && !event.target.matches("input, select, textarea, button")) return;
    const name = event.target.closest(".ty-section")?.querySelector(".ty-said")?.id.replace("said-", "");
    const names = form.elements.touched.value.split(" ").filter(Boolean);
    if (!name || names.includes(name) || names.includes("all")) return;
    form.elements.touched.value = [...names, name].join(" ");
    if (event.type === "focusout" && form.querySelector(".ty-note-waits")) choices.dispatchEvent(new Event("refresh"));
  };
  form.addEventListener("input", touch);
  form.addEventListener("focusout", touch);

  // What somebody has confirmed by hand counts at once.
  form.addEventListener("change", (event) => {
    if (event.target.name === "confirmed") choices.dispatchEvent(new Event("refresh"));
  });
})();
