// Runs in a world of its own, where the page's scripts cannot have changed the built-in functions. Elements' own
// properties are not trusted either: <input name="setAttribute"> hides the function of its form.
(stamp, mostElements, mostCharacters) => {
  const get = (prototype, name, object) => Reflect.get(prototype, name, object);
  const call = (prototype, name, object, ...values) => Reflect.apply(prototype[name], object, values);

  // Fixed elements move with the scroll position, which only scripts change.
  window.scrollTo({ left: 0, top: 0, behavior: "instant" });
  const root = get(Document.prototype, "documentElement", document);
  if (root === null) return { html: "", boxes: "[]", looks: [] };
  const elements = [root, ...call(Element.prototype, "getElementsByTagName", root, "*")];
  if (elements.length > mostElements) return { refused: `${elements.length} elements, more than ${mostElements}` };

  const looks = [];
  const placeOfLook = new Map();
  const boxes = elements.map((element) => {
    const style = getComputedStyle(element);
    const look = `${parseFloat(style.fontSize)} ${style.backgroundColor}`;
    if (!placeOfLook.has(look)) placeOfLook.set(look, looks.push(look) - 1);
    const { left, top, width, height } = call(Element.prototype, "getBoundingClientRect", element);
    const [wide, high] = [Math.round(width), Math.round(height)];
    const shown = wide > 0 && high > 0 && call(Element.prototype, "checkVisibility", element, { visibilityProperty: true });
    return [Math.round(left), Math.round(top), wide, high, placeOfLook.get(look), shown ? 1 : 0];
  });

  elements.forEach((element, place) => call(Element.prototype, "setAttribute", element, stamp, place));
  const type = get(Document.prototype, "doctype", document);
  const html = (type ? new XMLSerializer().serializeToString(type) : "") + get(Element.prototype, "outerHTML", root);
  if (html.length > mostCharacters) return { refused: `${html.length} characters, more than ${mostCharacters}` };
  return { html: html.toWellFormed(), boxes: JSON.stringify(boxes), looks };
}
