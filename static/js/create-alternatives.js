// Taking over what would start now, and taking that back: values of the resource fields, set as if typed.
(() => {
  const FIELDS = ["pool", "spec", "worker_count", "custom", "custom_gpus", "flavor", "rdma", "laid_aside"];
  const form = document.getElementById("create-form");
  const choices = document.getElementById("choices");
  const line = document.getElementById("taken-over");
  const undo = line.querySelector("button");
  const said = document.getElementById("taken-over-said");
  let waiting = null; // values whose place comes with the next answer: those of another pool
  let asked = null; // the request that carries them

  const controls = (name) => [...form.querySelectorAll(`[name="${name}"]`)];
  const now = () => {
    const data = new FormData(form);
    const values = Object.fromEntries(FIELDS.map((name) => [name, data.get(name)]));
    // What is off limits is not sent, but is not forgotten either.
    for (const box of controls("rdma")) values.rdma = box.checked ? "on" : null;
    return values;
  };
  const set = (name, value) => {
    for (const control of controls(name)) {
      if (control.type === "checkbox") {
        control.checked = value !== null;
        if (control.checked) control.disabled = false;
      } else if (control.type === "radio") control.checked = control.value === value;
      else control.value = value ?? "";
    }
  };
  const fill = (values) => {
    waiting = { ...values };
    asked = null;
    for (const [name, value] of Object.entries(values)) set(name, value);
    const place = document.getElementById("id_worker_count");
    for (const kind of ["input", "change"]) place.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const announce = (word) => {
    said.textContent = ""; // the same word again is read out again
    requestAnimationFrame(() => { said.textContent = word; });
  };

  // Until an answer has brought the controls of another pool, its values are sent without them.
  choices.addEventListener("htmx:configRequest", (event) => {
    if (event.target !== choices || !waiting) return;
    const sent = event.detail.parameters;
    for (const [name, value] of Object.entries(waiting)) {
      sent.delete(name);
      if (value !== null) sent.append(name, value);
    }
    asked = event.detail;
  });
  choices.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful && event.detail.requestConfig === asked) waiting = null;
  });

  form.addEventListener("click", (event) => {
    const button = event.target.closest("[name=adopt]");
    if (!button) return;
    event.preventDefault();
    const before = now();
    fill(JSON.parse(button.value));
    if (button === undo) {
      line.hidden = true;
      announce(line.dataset.undone);
      document.getElementById("id_pool").focus({ preventScroll: true });
      return;
    }
    undo.value = JSON.stringify(before);
    line.hidden = false;
    announce(line.dataset.done);
    undo.focus({ preventScroll: true }); // the button that was pressed goes with the next answer
  });
  // Who goes on by hand from there has no use for the way back.
  form.addEventListener("input", (event) => {
    if (!event.isTrusted || !FIELDS.includes(event.target.name)) return;
    line.hidden = true;
    if (waiting) delete waiting[event.target.name];
  });
})();
