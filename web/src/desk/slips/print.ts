/* Prints slips: fills the print area of the page, prints it once, and empties it. */
import { barcodeSvg } from './code128.ts';
import { fillText, type SlipValues } from './template.ts';

/** Elements and attributes that a template may contain. Others are removed; their text stays. */
const ELEMENTS = new Set(
  'A B BLOCKQUOTE BR CENTER CODE DIV EM FONT H1 H2 H3 H4 H5 H6 HR I IMG LI OL P PRE S SMALL SPAN STRONG SUB SUP TABLE TBODY TD TFOOT TH THEAD TR U UL'.split(' '),
);
const ATTRIBUTES = new Set(['class', 'colspan', 'rowspan', 'align', 'alt', 'width', 'height']);
const DROPPED = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'IFRAME', 'OBJECT', 'HEAD', 'TITLE']);

export interface Slip {
  template: string;
  values: SlipValues;
}

/** A slip as elements; only allowed elements and attributes of the template's markup are copied. */
export function slipElement(slip: Slip): HTMLElement {
  const section = document.createElement('section');
  section.className = 'slip';
  const parsed = new DOMParser().parseFromString(slip.template, 'text/html');
  copy(parsed.body, section, slip.values);
  return section;
}

function copy(from: Node, into: Element, values: SlipValues): void {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      for (const part of fillText(node.textContent ?? '', values)) into.append(part.kind === 'text' ? part.text : barcodeSvg(part.value));
    } else if (node instanceof HTMLElement && !DROPPED.has(node.tagName)) {
      if (!ELEMENTS.has(node.tagName)) {
        copy(node, into, values);
        continue;
      }
      const element = document.createElement(node.tagName);
      for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) element.setAttribute(name, value);
      const source = node.getAttribute('src');
      if (source?.startsWith('data:image/')) element.setAttribute('src', source);
      // Set as properties: the page's content security policy refuses style attributes in markup.
      element.style.cssText = node.style.cssText;
      into.append(element);
      copy(node, element, values);
    }
  }
}

/** Prints all slips at once, one per sheet. */
export function printSlips(slips: Slip[]): void {
  const area = document.getElementById('print');
  if (!area || slips.length === 0) return;
  area.replaceChildren(...slips.map(slipElement));
  window.addEventListener('afterprint', () => area.replaceChildren(), { once: true });
  window.print();
}
