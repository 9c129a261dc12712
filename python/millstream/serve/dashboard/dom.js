// Elements from data. All text goes through text nodes and attributes, so that no name, label or reason can become
// markup. Styles are set as properties, because the page's security policy forbids style attributes in markup.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "line", "polygon", "circle", "rect"]);

export function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") {
      for (const [property, set] of Object.entries(value)) element.style.setProperty(property, set);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// Make the children of `parent` equal to `children`. Elements that stay keep the keyboard focus, the selected text
// and the position of their scroll bars.
export function render(parent, ...children) {
  const next = document.createDocumentFragment();
  append(next, children);
  morphChildren(parent, next);
}

function morphChildren(old, next) {
  const wanted = [...next.childNodes];
  const present = [...old.childNodes];
  wanted.forEach((node, index) => {
    const known = present[index];
    if (known === undefined) old.append(node);
    else if (!isSame(known, node)) known.replaceWith(node);
    else morph(known, node);
  });
  for (const extra of present.slice(wanted.length)) extra.remove();
}

function isSame(one, other) {
  return (
    one.nodeType === other.nodeType &&
    one.nodeName === other.nodeName &&
    (one.nodeType !== Node.ELEMENT_NODE || one.getAttribute("data-key") === other.getAttribute("data-key"))
  );
}

function morph(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // The user opens and closes details.
    if (!next.hasAttribute(name) && name !== "style" && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  // Keep the text that the user types.
  if (old.nodeName !== "INPUT") morphChildren(old, next);
  else if (old.type === "radio") old.checked = next.hasAttribute("checked");
}
