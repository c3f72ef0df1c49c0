// A trial run leaves the form as it is: its card comes beside it, and again after the form was reloaded.
(() => {
  const form = document.getElementById("create-form");
  const choices = document.getElementById("choices");
  const place = () => document.getElementById("trial");
  const KEY = "create-trial";
  const COUNT = ["team", "pool", "spec", "flavor", "framework", "image", "command", "env_text", "env_name", "env_value", "env_private", "public_data", "mount_volume", "mount_path"];
  const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`))?.split("=")[1];

  const button = form.querySelector("button[name=trial]");
  if (!button) return;
  button.addEventListener("htmx:configRequest", (event) => {
    const token = cookie("csrftoken"); // signing in again in another tab changes it
    if (token) event.detail.parameters.set("csrfmiddlewaretoken", token);
    sent = now();
  });

  // A trial holds for the form as it was when it began, also after a reload; private values are left out. One that
  // began elsewhere is not judged.
  const now = () => {
    const sent = new FormData(form);
    const covered = sent.getAll("env_private");
    let row = -1;
    return JSON.stringify([...sent].filter(([name]) => COUNT.includes(name)).map(([name, value]) => {
      if (name === "env_name") row += 1;
      return [name, name === "env_value" && covered.includes(String(row)) ? "" : value];
    }));
  };
  const kept = () => {
    try {
      return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
    } catch {
      return {};
    }
  };
  let sent = "";
  const changed = () => {
    const { job, asked } = kept();
    return Boolean(job) && job === place()?.dataset.job && asked !== now();
  };
  const note = () => {
    const told = place()?.querySelector("[data-changed]");
    if (told) told.hidden = !changed();
  };
  form.addEventListener("input", note);
  form.addEventListener("change", note);
  document.addEventListener("htmx:afterSettle", note);

  // What is wrong is an answer too; the fields are marked by the next update.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target !== place() || event.detail.xhr.status !== 422) return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
    form.elements.tried.value = "1";
    choices.dispatchEvent(new Event("refresh"));
  });
  button.addEventListener("htmx:afterRequest", (event) => {
    const job = place().dataset.job; // of another form than that one only if the trial before is under way
    if (event.detail.successful && job && !place().dataset.earlier) sessionStorage.setItem(KEY, JSON.stringify({ job, asked: sent }));
    note();
    if (event.detail.xhr.status === 401) document.getElementById("signed-out").hidden = false;
    else place().scrollIntoView({ block: "nearest" }); // on a phone it is at the end of the form
  });
  const ask = () => {
    const address = `${button.getAttribute("hx-post")}?draft=${encodeURIComponent(form.elements.token.value)}`;
    htmx.ajax("GET", address, { target: place(), swap: "outerHTML", source: place() });
  };
  form.addEventListener("restored", ask);
  // A trial that succeeded answers the question in the list before the button.
  document.addEventListener("htmx:afterSettle", () => {
    const box = form.querySelector("input[name=confirmed][value=trial]");
    if (!box || box.checked || place()?.dataset.state !== "succeeded" || place().dataset.told || changed()) return;
    place().dataset.told = "yes";
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  });
  document.addEventListener("DOMContentLoaded", () => {
    if (form.dataset.start === "typed") ask(); // the form came back with an answer
  });
})();
