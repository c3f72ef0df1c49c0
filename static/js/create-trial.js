// A trial run leaves the form as it is: its card comes beside it, and again after the form was reloaded.
(() => {
  const form = document.getElementById("create-form");
  const choices = document.getElementById("choices");
  const place = () => document.getElementById("trial");
  const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`))?.split("=")[1];

  const button = form.querySelector("button[name=trial]");
  if (!button) return;
  button.addEventListener("htmx:configRequest", (event) => {
    const now = cookie("csrftoken"); // signing in again in another tab changes it
    if (now) event.detail.parameters.set("csrfmiddlewaretoken", now);
  });
  // What is wrong is an answer too; the fields are marked by the next update.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target !== place() || event.detail.xhr.status !== 422) return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
    form.elements.tried.value = "1";
    choices.dispatchEvent(new Event("refresh"));
  });
  button.addEventListener("htmx:afterRequest", (event) => {
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
    if (!box || box.checked || place()?.dataset.state !== "succeeded" || place().dataset.told) return;
    place().dataset.told = "yes";
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  });
  document.addEventListener("DOMContentLoaded", () => {
    if (form.dataset.start === "typed") ask(); // the form came back with an answer
  });
})();
