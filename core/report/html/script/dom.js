// Elements of the page. A child that is a string is text.
export const root = document.documentElement;
export const byId = (id) => document.getElementById(id);
export const NEAR = matchMedia("(min-width: 1000px)"); // list and finding side by side

export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  fill(element, children.flat());
  return element;
}
export function fill(element, children) {
  element.replaceChildren(...children.filter((child) => child != null && child !== false));
}

export function choice(label, options, value, change) {
  const select = make("select", {}, Object.entries(options).map(([key, name]) => make("option", { value: key }, name)));
  select.value = value;
  select.addEventListener("change", () => change(select.value));
  return make("label", {}, make("span", {}, label), select);
}
