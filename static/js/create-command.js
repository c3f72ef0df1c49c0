// A template goes into the start command as if it had been typed, so that the browser's own undo takes it back
// too; beside that there is a button.
(() => {
  const form = document.getElementById("create-form");
  const field = document.getElementById("id_command");
  const done = document.getElementById("template-done");
  let before = null;
  let writing = false;

  // Replaces what is selected.
  const write = (text) => {
    writing = true;
    field.focus();
    const typed = document.execCommand(text ? "insertText" : "delete", false, text);
    if (!typed) {
      field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    writing = false;
  };
  const put = ({ text, whole }) => {
    before = field.value;
    const empty = !before.trim();
    if (whole) {
      field.select();
      write(text);
    } else {
      const at = field.selectionStart;
      const broken = at > 0 && before[at - 1] !== "\n";
      field.setSelectionRange(at, at);
      write(`${broken ? "\n" : ""}${text}${at < before.length && before[at] !== "\n" ? "\n" : ""}`);
    }
    const said = done.querySelector("span");
    said.textContent = said.dataset[empty ? "empty" : whole ? "whole" : "beside"];
    done.hidden = false;
  };
  done.querySelector("button").addEventListener("click", () => {
    field.select();
    write(before);
    done.hidden = true;
  });
  field.addEventListener("input", () => {
    if (!writing) done.hidden = true; // what was typed since would be undone with it
  });

  form.addEventListener("click", async (event) => {
    const button = event.target.closest("button[name=template]");
    if (!button || button.dataset.plain) return;
    event.preventDefault();
    button.closest("details").open = false;
    const body = new FormData(form);
    body.set("template", button.value);
    const answer = await fetch(button.dataset.address, { method: "POST", body }).catch(() => null);
    if (answer?.ok) put(await answer.json());
    else { // sent like any other button of the form: the console says what is wrong
      button.dataset.plain = "yes";
      button.click();
    }
  });
})();
