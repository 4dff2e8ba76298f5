// Runs in an isolated world, so the page's scripts cannot have changed the built-in functions. Properties of elements
// are not trusted either: <input name="setAttribute"> hides the function of its form.
(stamp, maxElements, maxCharacters) => {
  const get = (prototype, name, object) => Reflect.get(prototype, name, object);
  const call = (prototype, name, object, ...values) => Reflect.apply(prototype[name], object, values);

  // The position of fixed elements depends on the scroll position, which scripts may have changed.
  window.scrollTo({ left: 0, top: 0, behavior: "instant" });
  const root = get(Document.prototype, "documentElement", document);
  if (root === null) return { html: "", boxes: "[]", styles: [] };
  const elements = [root, ...call(Element.prototype, "getElementsByTagName", root, "*")];
  if (elements.length > maxElements) return { refused: `${elements.length} elements, more than ${maxElements}` };

  const styles = [];
  const placeOfStyle = new Map();
  const boxes = elements.map((element) => {
    const { fontSize, backgroundColor } = getComputedStyle(element);
    const style = `${parseFloat(fontSize)} ${backgroundColor}`;
    if (!placeOfStyle.has(style)) placeOfStyle.set(style, styles.push(style) - 1);
    const { left, top, width, height } = call(Element.prototype, "getBoundingClientRect", element);
    const [wide, high] = [Math.round(width), Math.round(height)];
    const shown = wide > 0 && high > 0 && call(Element.prototype, "checkVisibility", element, { visibilityProperty: true });
    return [Math.round(left), Math.round(top), wide, high, placeOfStyle.get(style), shown ? 1 : 0];
  });

  elements.forEach((element, place) => call(Element.prototype, "setAttribute", element, stamp, place));
  const type = get(Document.prototype, "doctype", document);
  const html = (type ? new XMLSerializer().serializeToString(type) : "") + get(Element.prototype, "outerHTML", root);
  if (html.length > maxCharacters) return { refused: `${html.length} characters, more than ${maxCharacters}` };
  return { html: html.toWellFormed(), boxes: JSON.stringify(boxes), styles };
}
