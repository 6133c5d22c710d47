// What the page does beyond its forms and links: it stays where it is, and shows what is new.
const wide = matchMedia("(min-width: 821px)");
let busy = 0;

/** Put a fetched page in the place of this one, without a jump; what is asked later goes first. */
async function go(url, options = {}, { push = true, only = null, quiet = false } = {}) {
  const mine = quiet ? busy : ++busy;
  let answer;
  try {
    answer = await fetch(url, { ...options, headers: { ...options.headers, "X-Page": "1" } });
  } catch {
    if (quiet) return;
    location.assign(options.method === "POST" ? location.href : url);
    return;
  }
  const text = await answer.text();
  if (mine !== busy) return;
  const next = new DOMParser().parseFromString(text, "text/html");
  // a form that failed leaves its page where it was: its own address is no page
  const at = options.method === "POST" && !answer.redirected ? location.href : answer.url;
  if (!next.getElementById("main")) { location.assign(at); return; }
  const focus = document.activeElement?.id;
  for (const place of only ?? ["#main", "#toasts"]) swap(next, place);
  document.title = next.title;
  for (const place of [".nav", ".well", ".tabs"]) {
    if (!document.querySelector(place)?.contains(document.activeElement)) swap(next, place);
  }
  if (push && at !== location.href) history.pushState(null, "", at);
  if (focus && !only) document.getElementById(focus)?.focus({ preventScroll: true });
  ready();
}

/** Replace an element by that of another page, if they differ: nobody's click is lost for nothing. */
function swap(next, place) {
  const here = document.querySelector(place), there = next.querySelector(place);
  if (here && there && !here.isEqualNode(there)) here.replaceWith(document.adoptNode(there));
}

/** What has to be done after each swap: sliders, the button to copy, the end of a toast. */
function ready() {
  for (const slider of document.querySelectorAll(".slider")) {
    const input = document.getElementById(slider.dataset.for), most = Number(slider.max);
    if (!most) continue;
    const last = new Date(`${slider.dataset.last}T00:00Z`);
    const chosen = input.value ? new Date(`${input.value}T00:00Z`) : last;
    slider.value = Math.max(0, most - Math.round((last - chosen) / 864e5));
    slider.hidden = false;
    slider.oninput = () => { input.value = new Date(last - (most - slider.value) * 864e5).toISOString().slice(0, 10); };
  }
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  const toast = document.querySelector(".toast:not([data-stays])");
  if (toast) setTimeout(function leave() {
    if (toast.matches(":hover, :focus-within")) setTimeout(leave, 3000);
    else toast.remove();
  }, 15000);
}

/** Show what is new while it happens. */
function listen() {
  const where = new URL("/live", location.href);
  const ns = new URLSearchParams(location.search).get("ns");
  if (ns) where.searchParams.set("ns", ns);
  const source = new EventSource(where);
  let waiting = null;
  const classes = document.documentElement.classList;
  source.addEventListener("ready", () => classes.add("listening"));
  source.addEventListener("change", () => {
    if (waiting) return;
    waiting = setTimeout(async () => { waiting = null; await refresh(); }, 150);
  });
  source.onerror = () => classes.remove("listening");
  addEventListener("pagehide", () => source.close());
}

async function refresh() {
  const live = document.querySelector("[data-live]");
  const typing = live?.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
  const before = new Set([...(live?.querySelectorAll("a[href]") ?? [])].map((one) => one.getAttribute("href")));
  await go(location.href, {}, { push: false, only: live && !typing ? ["#live"] : [], quiet: true });
  if (!before.size) return;
  for (const link of document.querySelectorAll("#live .text a")) {
    if (!before.has(link.getAttribute("href"))) link.closest("li")?.classList.add("new");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  if (form.id === "enter" || event.defaultPrevented) return;
  event.preventDefault();
  const said = new URLSearchParams(new FormData(form, button));
  if (form.classList.contains("theme")) {
    const root = document.documentElement, dark = said.get("theme") === "dark";
    root.dataset.theme = dark ? "dark" : "light";
    button.value = dark ? "light" : "dark";
    button.setAttribute("aria-label", dark ? "Light theme" : "Dark theme");
    fetch(form.action, { method: "POST", body: said });
  } else if (form.method === "post") go(form.action, { method: "POST", body: said });
  else {
    for (const [name, value] of [...said]) if (!value) said.delete(name);
    go(`${form.action.split("?")[0]}?${said}`);
  }
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (!form || !event.target.matches("select, input[type=date], input[type=checkbox], input[type=range]")) return;
  if (form.matches(".ask, [data-auto]")) form.requestSubmit();
});

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent).then(() => { copy.textContent = "Copied"; });
  const link = event.target.closest("a[data-one]");
  const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
  if (link && plain && wide.matches) {
    event.preventDefault();
    choose(link);
  }
});

/** Show a hit in the panel beside the list. */
async function choose(link) {
  for (const hit of document.querySelectorAll(".hit[aria-current]")) hit.removeAttribute("aria-current");
  link.closest(".hit").setAttribute("aria-current", "true");
  await go(link.dataset.one, {}, { only: ["#one"] });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") for (const open of document.querySelectorAll("details[open]:is(.pick, .fold, .tabs details)")) open.open = false;
  if (event.target.matches("input, textarea, select, summary")) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("q")?.select();
  }
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const links = [...document.querySelectorAll("#hits .text a")];
  if (!step || !links.length) return;
  const at = links.findIndex((one) => one === document.activeElement || one.closest(".hit").hasAttribute("aria-current"));
  const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
  event.preventDefault();
  next.focus();
  if (wide.matches) choose(next);
});

addEventListener("popstate", () => go(location.href, {}, { push: false }));

/** Use the code behind the address, and leave no trace of it there. */
function enter() {
  const code = new URLSearchParams(location.hash.slice(1)).get("t"), field = document.getElementById("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  if (field) { field.value = code; field.form.submit(); }
}

addEventListener("hashchange", enter);
enter();
ready();
if (document.getElementById("toasts")) listen();
