// The path check of the create form: it holds for the form as it was when it began, and says so once that changes.
(() => {
  const form = document.getElementById("create-form");
  const place = document.getElementById("path-check-place");
  const said = document.getElementById("path-check-said");
  const COUNT = ["team", "pool", "image", "command", "env_text", "env_name", "env_value", "public_data", "mount_volume", "mount_path"];
  let looked = "";
  const now = () => JSON.stringify([...new FormData(form)].filter(([name]) => COUNT.includes(name)));
  const note = () => {
    const changed = place.querySelector("[data-changed]");
    if (changed) changed.hidden = now() === looked;
  };
  form.addEventListener("input", note);
  form.addEventListener("change", note);
  document.addEventListener("htmx:afterSettle", note);

  const begins = (event) => event.detail.verb === "post";
  place.addEventListener("htmx:configRequest", (event) => {
    if (!begins(event)) return;
    const token = document.cookie.split("; ").find((pair) => pair.startsWith("csrftoken="))?.split("=")[1];
    if (token) event.detail.parameters.set("csrfmiddlewaretoken", token); // of somebody who signed in again elsewhere
    looked = now();
  });

  // What came of it is read out; a place that is itself replaced says nothing. The button that was pressed in it
  // is gone with it.
  place.addEventListener("htmx:afterSwap", () => {
    said.textContent = place.querySelector("[data-said]")?.textContent.trim() ?? "";
    if (document.activeElement === document.body) document.getElementById("path-check-button").focus({ preventScroll: true });
  });

  // A check that is gone is asked for no more.
  place.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 404) document.getElementById("path-check").replaceWith(Object.assign(document.createElement("div"), { id: "path-check" }));
  });
})();
