// The create form: when numbers are asked for anew, rows, and the RDMA switch.
(() => {
  const form = document.getElementById("create-form");
  const choices = document.getElementById("choices");
  const REFRESH_MS = 5000;
  let composing = false;

  // While an input method composes (pinyin), nothing is asked; its end counts as typing.
  form.addEventListener("compositionstart", () => { composing = true; });
  form.addEventListener("compositionend", () => {
    composing = false;
    choices.dispatchEvent(new Event("refresh"));
  });
  choices.addEventListener("htmx:beforeRequest", (event) => {
    if (composing) event.preventDefault();
  });
  setInterval(() => {
    if (!document.hidden && !composing) choices.dispatchEvent(new Event("refresh"));
  }, REFRESH_MS);

  // The switch is off limits unless the request allows RDMA; one that is on can always be put off.
  const rdma = () => {
    const box = document.getElementById("id_rdma");
    const summary = document.getElementById("summary");
    if (box && summary) box.disabled = summary.dataset.rdma !== "yes" && !box.checked;
  };
  rdma();
  document.addEventListener("htmx:afterSettle", rdma);
  form.addEventListener("change", rdma);

  // A field that is being changed is no longer wrong until the console says so again.
  form.addEventListener("input", (event) => {
    const control = event.target;
    const place = control.closest("[data-row]") || (control.closest("[role=radiogroup]") || control).parentElement;
    const marked = control.closest("[data-row]") ? place.querySelectorAll(".is-invalid") : [control];
    for (const one of marked) {
      one.classList.remove("is-invalid");
      one.removeAttribute("aria-invalid");
    }
    for (const message of place.querySelectorAll(".invalid-feedback")) message.remove();
  });

  // Rows are added and taken away without asking the console.
  form.addEventListener("click", (event) => {
    const add = event.target.closest("[data-add-row]");
    const remove = event.target.closest("[data-remove-row]");
    if (add) {
      event.preventDefault();
      const rows = document.getElementById(add.dataset.addRow);
      const row = rows.querySelector("[data-row]:last-of-type").cloneNode(true);
      for (const control of row.querySelectorAll("input, select, textarea")) {
        control.value = "";
        control.classList.remove("is-invalid");
        control.removeAttribute("autofocus");
      }
      for (const message of row.querySelectorAll(".invalid-feedback")) message.remove();
      rows.append(row);
      row.querySelector("input, select, textarea").focus();
    }
    if (remove) {
      event.preventDefault();
      const row = remove.closest("[data-row]");
      if (row.parentElement.querySelectorAll("[data-row]").length > 1) row.remove();
      else for (const control of row.querySelectorAll("input, select, textarea")) control.value = "";
      choices.dispatchEvent(new Event("refresh"));
    }
  });

  // A volume brings the path where it is usually mounted.
  form.addEventListener("change", (event) => {
    if (event.target.name !== "mount_volume") return;
    const path = event.target.closest("[data-row]").querySelector("[name=mount_path]");
    const usual = event.target.selectedOptions[0].dataset.path;
    if (path && !path.value && usual) path.value = usual;
  }, true);
})();
