// Light or dark: as the person chose (the page says so already), else as the system does. Runs before anything is drawn.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = root.getAttribute("data-bs-theme") || "";
  const apply = () => root.setAttribute("data-bs-theme", chosen || (dark.matches ? "dark" : "light"));
  apply();
  root.classList.add("ty-js"); // for what makes no sense without scripts
  dark.addEventListener("change", apply);

  // A choice shows at once; the console is told without leaving the page.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-switch] button");
    if (!button) return;
    event.preventDefault();
    chosen = button.value === "auto" ? "" : button.value;
    apply();
    for (const other of document.querySelectorAll("[data-theme-switch] button")) {
      other.setAttribute("aria-pressed", String(other.value === button.value));
    }
    const told = new FormData(button.form);
    told.set("theme", button.value);
    fetch(button.form.action, { method: "POST", body: told, redirect: "manual" }).catch(() => {});
  });
})();
