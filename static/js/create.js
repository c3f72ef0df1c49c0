// The create form: when numbers are asked for anew, what an answer may touch, and the session's end.
(() => {
  const form = document.getElementById("create-form");
  const choices = document.getElementById("choices");
  const REFRESH_MS = 5000;
  const LATE_MS = 15000;
  let composing = false;
  let answeredAt = Date.now();
  const refresh = () => choices.dispatchEvent(new Event("refresh"));
  const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`))?.split("=")[1];

  // While an input method composes (pinyin), nothing is asked; its end counts as typing.
  form.addEventListener("compositionstart", () => { composing = true; });
  form.addEventListener("compositionend", () => {
    composing = false;
    refresh();
  });
  choices.addEventListener("htmx:beforeRequest", (event) => {
    if (composing && event.target === choices) event.preventDefault();
  });
  setInterval(() => {
    if (!document.hidden && !composing) refresh();
    updated();
  }, REFRESH_MS);

  // Nothing moves under a pointer that is down, or the click would miss: what is answered then is asked for again.
  // Only what restores a draft is asked once.
  let pressed = false;
  let missed = false;
  const released = () => {
    pressed = false;
    if (missed) setTimeout(refresh);
    missed = false;
  };
  addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, released);
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!pressed || choices.dataset.restoring || event.detail.requestConfig?.elt !== choices) return;
    event.detail.shouldSwap = false;
    missed = event.detail.xhr.status === 200;
  });

  // Signing in again in another tab changes the token; the form goes on with the one of now.
  const token = () => {
    const field = form.elements.csrfmiddlewaretoken;
    field.value = cookie("csrftoken") || field.value;
    return field.value;
  };
  choices.addEventListener("htmx:configRequest", (event) => {
    if (event.target === choices) event.detail.parameters.set?.("csrfmiddlewaretoken", token());
  });
  form.addEventListener("submit", token);

  // How fresh the numbers are, and whether the console still knows who is asking.
  const updated = () => {
    const place = document.getElementById("updated");
    if (!place) return;
    const late = Date.now() - answeredAt > LATE_MS;
    place.textContent = late ? place.dataset.late : place.dataset.now;
    place.classList.toggle("ty-late", late);
  };
  choices.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== choices) return;
    const status = event.detail.xhr.status;
    if (status === 200 || status === 204) answeredAt = Date.now();
    document.getElementById("signed-out").hidden = status !== 401;
  });
  document.addEventListener("htmx:afterSettle", updated);

  // What would come of the request is read out where it changes; a place that is itself replaced says nothing.
  const outlook = () => document.querySelector("#summary .ty-outlook")?.textContent.trim() ?? "";
  let said = outlook();
  document.addEventListener("htmx:afterSettle", () => {
    if (outlook() === said) return;
    said = outlook();
    document.getElementById("outlook-said").textContent = said;
  });
  updated();

  // The switch is off limits unless the request allows RDMA; one that is on can always be put off.
  const rdma = () => {
    const box = document.getElementById("id_rdma");
    const summary = document.getElementById("summary");
    if (box && summary) box.disabled = summary.dataset.rdma !== "yes" && !box.checked;
  };
  rdma();
  document.addEventListener("htmx:afterSettle", rdma);
  form.addEventListener("change", rdma);

  // A control is marked while an error stands beside it. What is being changed is no longer wrong
  // until the console says so again.
  const mark = (control, wrong) => {
    control.classList.toggle("is-invalid", wrong);
    if (wrong) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  };
  form.addEventListener("input", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) {
      for (const message of row.querySelectorAll(".invalid-feedback")) message.remove();
      for (const control of row.querySelectorAll(".is-invalid")) mark(control, false);
      return;
    }
    const place = document.getElementById(`notes-${event.target.name}`);
    for (const message of place?.querySelectorAll(".ty-note-error") || []) message.remove();
    mark(event.target, false);
  });
  const markAll = () => {
    for (const place of form.querySelectorAll(".ty-field-notes")) {
      const control = document.getElementById(place.id.replace("notes-", "id_"));
      if (control) mark(control, place.querySelector(".ty-note-error") !== null);
    }
  };
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.requestConfig?.elt !== choices) return;
    for (const message of form.querySelectorAll("[data-row] .invalid-feedback")) message.remove();
    markAll();
  });

  // A note leads to its field: opens the section it lies in, and puts the cursor there.
  form.addEventListener("click", (event) => {
    const link = event.target.closest("#summary a[href^='#'], a.ty-locate[href^='#']");
    if (!link) return;
    const place = document.querySelector(link.getAttribute("href"));
    if (!place) return;
    event.preventDefault();
    sheet(false);
    const section = place.closest("details");
    if (section) section.open = true;
    const control = place.matches("input, select, textarea") ? place : place.querySelector("input, select, textarea");
    (control || place).scrollIntoView({ block: "center" });
    control?.focus({ preventScroll: true });
  });

  // On a phone the summary is a sheet above the button, and sections that are filled in begin closed.
  const toggle = document.getElementById("summary-toggle");
  const sheet = (open) => {
    toggle.setAttribute("aria-expanded", String(open));
    form.querySelector(".ty-aside").classList.toggle("ty-sheet-open", open);
  };
  toggle.addEventListener("click", () => sheet(toggle.getAttribute("aria-expanded") !== "true"));
  if (matchMedia("(max-width: 47.99rem)").matches) {
    for (const section of form.querySelectorAll(".ty-section")) {
      const filled = section.querySelector(".ty-said").textContent.trim();
      const wrong = section.querySelector(".invalid-feedback");
      if (filled && !wrong && (section.id === "checklist" || section.querySelector("#id_image, #mount-rows"))) section.open = false;
    }
  }

  // Occupancy and queue are shown beside the form.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-dialog]");
    if (!link) return;
    const dialog = document.getElementById(link.dataset.dialog);
    dialog.querySelector("h2").textContent = link.textContent;
    if (!dialog.open) dialog.showModal();
  });
  document.getElementById("pool-dialog").addEventListener("close", (event) => {
    event.target.querySelector("#pool-dialog-body").replaceChildren(); // what is not seen is not polled
  });
})();
