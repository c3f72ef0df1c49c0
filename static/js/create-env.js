// The variables of the create form: after the console has shown them in the other way, and for a draft that had
// them so.
(() => {
  const form = document.getElementById("create-form");

  // What was drawn anew is worked out anew, even where the answer would be the same as the last.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id !== "variables") return;
    document.getElementById("seen").value = "";
    document.getElementById("variables").dispatchEvent(new Event("input", { bubbles: true }));
  });

  form.addEventListener("env-as", ({ detail: as }) => {
    const text = form.elements.env_text;
    text.disabled = as !== "text";
    document.getElementById("env-text").hidden = text.disabled;
    for (const one of ["rows", "text"]) {
      const button = document.getElementById(`env-as-${one}`);
      button.classList.toggle("active", one === as);
      button.setAttribute("aria-pressed", String(one === as));
    }
  });
})();
