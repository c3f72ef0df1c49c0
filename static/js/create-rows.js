// Rows of forms, and numbers with steppers: added, taken away and counted without asking the console.
(() => {
  const form = document.querySelector("form[data-rows]");
  const controls = "input, select, textarea";
  const changed = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));

  // A box that is not ticked sends nothing, so that each sends the number of its row, before what it stands for.
  const number = (rows) => {
    [...rows.querySelectorAll("[data-row]")].forEach((row, at) => {
      for (const box of row.querySelectorAll("input[type=checkbox]")) box.value = box.value.replace(/^\d+/, String(at));
    });
  };
  const empty = (row) => {
    for (const control of row.querySelectorAll(controls)) {
      if (control.type === "checkbox") control.checked = control.defaultChecked && !("off" in control.dataset);
      else control.value = "";
      control.placeholder = control.dataset.placeholder || control.placeholder;
      control.classList.remove("is-invalid");
      control.removeAttribute("autofocus");
    }
  };
  const add = (rows) => {
    const row = rows.querySelector("[data-row]:last-of-type").cloneNode(true);
    empty(row);
    for (const message of row.querySelectorAll(".invalid-feedback")) message.remove();
    rows.append(row);
    number(rows);
    row.querySelector(controls).focus();
  };
  const remove = (row) => {
    const rows = row.parentElement;
    if (rows.querySelectorAll("[data-row]").length > 1) row.remove();
    else empty(row);
    number(rows);
    changed(rows);
  };
  const step = (button) => {
    const number = document.getElementById(button.dataset.of);
    const by = Number(button.dataset.step);
    const value = Number.parseInt(number.value, 10);
    const least = Number(number.min || 1);
    number.value = Math.max(least, Number.isNaN(value) ? least : value + by);
    changed(number);
  };
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-add-row], [data-remove-row], [data-step]");
    if (!button) return;
    event.preventDefault();
    if (button.dataset.addRow) add(document.getElementById(button.dataset.addRow));
    else if (button.dataset.step) step(button);
    else remove(button.closest("[data-row]"));
  });

  // A volume brings the path where it is usually mounted.
  form.addEventListener("change", (event) => {
    if (event.target.name !== "mount_volume") return;
    const path = event.target.closest("[data-row]").querySelector("[name=mount_path]");
    const usual = event.target.selectedOptions[0].dataset.path;
    if (path && !path.value && usual) path.value = usual;
  }, true);
})();
