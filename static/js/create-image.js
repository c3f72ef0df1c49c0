// The image is chosen in a field that searches: a combobox with a list, over the select that the form sends.
(() => {
  const MOST_SHOWN = 100;
  const choices = document.getElementById("choices");

  const element = (tag, attributes, ...content) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    one.append(...content);
    return one;
  };

  const enhance = (part) => {
    const select = part.querySelector("select");
    const place = part.querySelector("#image-search");
    if (!select || !place || !place.hidden) return;
    const kinds = [...part.querySelectorAll("#image-kinds button")];
    const labels = place.dataset;
    const focused = document.activeElement === select || select.autofocus;
    const input = element("input", {
      type: "text", id: select.id, class: select.className.replace("form-select", "form-control"), role: "combobox",
      placeholder: labels.placeholder, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "image-list",
      "aria-describedby": `${select.getAttribute("aria-describedby")} image-chosen`,
    });
    const list = element("ul", { id: "image-list", role: "listbox", "aria-labelledby": "image-label", hidden: "" });
    const told = element("p", { class: "visually-hidden", role: "status" });
    const chosen = element("p", { id: "image-chosen", class: "form-hint" });
    let active = -1;
    let typed = false; // what stands in the field is a search, not the choice

    const placeOf = (option) => Number(option.dataset.place);
    const options = () => [...select.options].filter((option) => option.value).sort((a, b) => placeOf(a) - placeOf(b));
    const current = () => options().find((option) => option.selected);
    const shown = () => [...list.querySelectorAll("[role=option]")];
    const kind = () => kinds.find((button) => button.getAttribute("aria-pressed") === "true")?.dataset.kind ?? "";
    const matches = () => {
      const words = typed ? input.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
      return options().filter((option) => {
        const text = `${option.text} ${option.dataset.wholeDigest ?? ""}`.toLowerCase();
        return (!kind() || option.dataset.kind === kind()) && words.every((word) => text.includes(word));
      });
    };

    // The row at the cursor; beyond either end it is the one at the other, and null is none.
    const activate = (at) => {
      const rows = shown();
      active = at === null || !rows.length ? -1 : (at + rows.length) % rows.length;
      rows.forEach((row, n) => row.classList.toggle("ty-active", n === active));
      if (active < 0) input.removeAttribute("aria-activedescendant");
      else {
        input.setAttribute("aria-activedescendant", rows[active].id);
        rows[active].scrollIntoView({ block: "nearest" });
      }
    };
    const row = (option, at) => element(
      "li",
      { id: `image-option-${at}`, role: "option", "aria-selected": String(option.selected), "data-value": option.value },
      element("span", { class: "ty-mono" }, option.text),
      element("span", { class: "badge bg-secondary-lt" }, labels[option.dataset.kind] ?? ""),
      ...(option.dataset.digest ? [element("small", { class: "ty-mono" }, option.dataset.digest)] : []),
      ...(option.dataset.said ? [element("small", {}, option.dataset.said)] : []),
    );
    const draw = () => {
      const found = matches();
      const rest = found.length - MOST_SHOWN;
      list.replaceChildren(...found.slice(0, MOST_SHOWN).map(row));
      if (!found.length) list.append(element("li", { role: "presentation" }, labels.none));
      if (rest > 0) list.append(element("li", { role: "presentation" }, `+ ${rest} ${labels.more}`));
      told.textContent = found.length ? `${labels.found} ${found.length}` : labels.none;
      const at = shown().findIndex((one) => one.dataset.value === select.value);
      activate(at >= 0 ? at : typed ? 0 : null);
    };
    const open = () => {
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      draw();
    };
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      told.textContent = "";
      activate(null);
    };
    // What is chosen stands in the field, and below it the job that shows that it works.
    const sync = () => {
      const option = current();
      typed = false;
      input.value = option?.text ?? "";
      chosen.replaceChildren();
      const { said, job, address } = option?.dataset ?? {};
      if (!said) return;
      const [before, after] = job ? said.split(job) : [said];
      chosen.append(before);
      if (job) chosen.append(element("a", { href: address, target: "_blank", rel: "noopener" }, job), after ?? "");
    };
    const choose = (value) => {
      const changed = select.value !== value;
      select.value = value;
      close();
      sync();
      if (!changed) return;
      input.classList.remove("is-invalid");
      input.removeAttribute("aria-invalid");
      for (const name of ["input", "change"]) select.dispatchEvent(new Event(name, { bubbles: true }));
    };
    const leave = () => {
      close();
      if (typed && !input.value.trim()) choose("");
      else sync();
    };

    const step = (first, next) => {
      const closed = list.hidden;
      if (closed) open();
      if (active < 0) activate(first);
      else if (!closed) activate(next());
    };
    const keys = {
      ArrowDown: () => step(0, () => active + 1),
      ArrowUp: () => step(-1, () => active - 1),
      Enter: () => {
        if (list.hidden) open();
        else if (active >= 0) choose(shown()[active].dataset.value);
      },
      Escape: () => {
        close();
        sync();
      },
    };
    input.addEventListener("keydown", (event) => {
      if (event.isComposing || !keys[event.key] || (event.key === "Escape" && list.hidden && !typed)) return;
      event.preventDefault(); // Enter chooses here, and does not send the form
      keys[event.key]();
    });
    // A search is no change of the form.
    for (const name of ["input", "change"]) input.addEventListener(name, (event) => event.stopPropagation());
    input.addEventListener("input", () => {
      typed = true;
      open();
    });
    input.addEventListener("click", () => {
      if (list.hidden) open();
    });
    input.addEventListener("focus", () => input.select());
    input.addEventListener("blur", leave);
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) choose(option.dataset.value);
    });
    for (const button of kinds) {
      button.addEventListener("pointerdown", (event) => event.preventDefault());
      button.addEventListener("click", () => {
        for (const one of kinds) one.setAttribute("aria-pressed", String(one === button));
        if (!list.hidden) draw();
        else {
          input.focus();
          open();
        }
      });
    }

    select.removeAttribute("id");
    select.hidden = true;
    place.append(input, list, told);
    place.after(chosen);
    place.hidden = false;
    place.syncImage = sync;
    sync();
    if (focused) input.focus();
  };

  const find = () => {
    const part = document.getElementById("image-part");
    if (part) enhance(part);
  };
  find();
  document.addEventListener("htmx:load", find);
  // Values that were put into the form by a script, such as a draft that comes back.
  choices.addEventListener("refresh", () => {
    const input = document.getElementById("id_image");
    if (document.activeElement !== input) document.getElementById("image-search")?.syncImage?.();
  });
})();
