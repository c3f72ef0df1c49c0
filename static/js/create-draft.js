// What was typed survives a reload, another language, and a look elsewhere: it is kept in this tab until the job
// is created. Private values are not kept.
(() => {
  const KEY = "create-draft";
  const SAVE_MS = 250;
  const OF_THE_PAGE = ["csrfmiddlewaretoken", "seen", "tried", "promise", "shown_team", "shown_pool"];
  const OF_THE_POOL = ["spec", "flavor", "image", "public_data", "mount_volume", "mount_path", "alert_channel", "alert_timed", "alert_minutes", "alert_event"];
  const form = document.getElementById("create-form");
  const choices = document.getElementById("choices");
  const owner = form.elements.typed_by.value;

  const read = () => {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEY));
      return kept && kept.owner === owner ? kept : null;
    } catch {
      return null;
    }
  };
  const forget = () => sessionStorage.removeItem(KEY);
  const save = (done = false) => {
    const sent = new FormData(form);
    const covered = sent.getAll("env_private");
    let row = -1;
    const values = [...sent].filter(([name]) => !OF_THE_PAGE.includes(name)).map(([name, value]) => {
      if (name === "env_name") row += 1;
      return [name, name === "env_value" && covered.includes(String(row)) ? "" : value];
    });
    sessionStorage.setItem(KEY, JSON.stringify({ owner, values, sent: done }));
  };
  let timer;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(save, SAVE_MS, false);
  });
  addEventListener("pagehide", () => {
    if (timer) save();
  });
  form.addEventListener("submit", () => {
    clearTimeout(timer);
    timer = undefined;
    save(true); // the page of its job forgets it
  });

  // Puts values into the form as it is; answers the names of those that found no place.
  const put = (values) => {
    const of = (name) => values.filter(([other]) => other === name).map(([, value]) => value);
    for (const box of form.querySelectorAll("input[type=checkbox]")) {
      box.checked = of(box.name).includes(box.value);
      if (box.checked) box.disabled = false; // what is on is sent: whether it may be is found out by that
    }
    for (const radio of form.querySelectorAll("input[type=radio]")) radio.checked = of(radio.name).includes(radio.value);
    form.dispatchEvent(new CustomEvent("env-as", { detail: of("env_text").length ? "text" : "rows" }));
    for (const [rows, names] of [["env-rows", ["env_name", "env_value", "env_from"]], ["mount-rows", ["mount_volume", "mount_path"]], ["alert-rows", ["alert_channel", "alert_timed", "alert_minutes"]]]) {
      const place = document.getElementById(rows);
      const wanted = of(names[0]).length;
      for (let n = place.querySelectorAll("[data-row]").length; n < wanted; n += 1) {
        place.append(place.querySelector("[data-row]:last-of-type").cloneNode(true));
      }
      [...place.querySelectorAll("[data-row]")].forEach((row, at) => {
        for (const name of names) row.querySelector(`[name=${name}]`).value = of(name)[at] ?? "";
        for (const box of row.querySelectorAll("input[type=checkbox]")) {
          box.value = box.value.replace(/^\d+/, String(at));
          box.checked = of(box.name).includes(box.value);
        }
      });
    }
    for (const [name, value] of values) {
      const control = form.elements[name];
      if (control instanceof HTMLElement && control.matches("select, textarea, input:not([type=checkbox], [type=radio], [type=hidden])") && !control.closest("[data-row]")) control.value = value;
    }
  };
  const restore = ({ values }) => {
    put(values);
    form.elements.laid_aside.value = values.find(([name]) => name === "laid_aside")?.[1] ?? "";
    form.elements.origin.value = values.find(([name]) => name === "origin")?.[1] ?? "";
    form.elements.token.value = values.find(([name]) => name === "token")?.[1] || form.elements.token.value;
    form.elements.touched.value = "all"; // who typed it has been everywhere
    // Where the pool is another one, what it offers comes with the next answer: already with these choices.
    choices.addEventListener("htmx:configRequest", (event) => {
      const sent = event.detail.parameters;
      for (const name of OF_THE_POOL) {
        sent.delete(name);
        for (const [other, value] of values) if (other === name) sent.append(name, value);
      }
    }, { once: true });
    choices.dataset.restoring = "1";
    choices.addEventListener("htmx:afterSwap", () => delete choices.dataset.restoring, { once: true });
    choices.dispatchEvent(new Event("refresh"));
    form.dispatchEvent(new Event("restored"));
  };

  // What another pool took out or brought is kept as well, once all of it has its place.
  let moved = false;
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    if (event.detail.target.id === "changed-part") moved = true;
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (moved && timer !== undefined) save();
    moved = false;
  });

  const note = (id, act) => {
    const place = document.getElementById(id);
    place.hidden = false;
    place.querySelector("button").addEventListener("click", act);
  };
  const begin = (draft) => {
    if (form.dataset.start === "new") {
      restore(draft);
      note("draft-back", () => {
        forget();
        timer = undefined;
        location.assign(form.action);
      });
    } else if (form.dataset.start === "filled") {
      note("draft-replaced", () => {
        sessionStorage.setItem(KEY, JSON.stringify(draft));
        clearTimeout(timer);
        timer = undefined;
        location.assign(form.action);
      });
    }
  };
  // Once htmx listens, which it does by then.
  document.addEventListener("DOMContentLoaded", () => {
    const draft = read();
    if (draft) begin(draft);
  });
})();
