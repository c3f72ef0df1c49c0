// The form as programs to copy: asked for when somebody opens them, and again as long as they are open.
(() => {
  const form = document.getElementById("create-form");
  const DELAY_MS = 500;
  let timer;
  const ask = () => {
    const fold = document.getElementById("snippets");
    if (fold?.open) document.getElementById("snippets-body").dispatchEvent(new Event("show"));
  };
  form.addEventListener("toggle", (event) => {
    if (event.target.id === "snippets") ask();
  }, true);
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, DELAY_MS);
  });
})();
