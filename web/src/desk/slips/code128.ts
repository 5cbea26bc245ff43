/* Code 128 barcodes, which most readers support. */

const PATTERNS =
  '212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232 122132 122231 113222 123122 123221 223211 221132 221231 213212 223112 312131 311222 321122 321221 312212 322112 322211 212123 212321 232121 111323 131123 131321 112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121 313121 211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111 314111 221411 431111 111224 111422 121124 121421 141122 141221 112214 112412 122114 122411 142112 142211 241211 221114 413111 241112 134111 111242 121142 121241 114212 124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113 114311 411113 411311 113141 114131 311141 411131 211412 211214 211232 2331112'.split(
    ' ',
  );

const START_B = 104;
const START_C = 105;
const STOP = 106;

/** The symbols of a text, with start, checksum and stop: pairs of digits packed where all are digits. */
export function code128(text: string): number[] {
  const packed = /^(\d\d)+$/.test(text);
  const symbols = packed
    ? [START_C, ...(text.match(/\d\d/g) ?? []).map(Number)]
    : [START_B, ...[...text].map((letter) => letter.charCodeAt(0) - 32).filter((symbol) => symbol >= 0 && symbol < 95)];
  const sum = symbols.reduce((total, symbol, index) => total + symbol * Math.max(index, 1), 0);
  return [...symbols, sum % 103, STOP];
}

/** Widths of bars and gaps in turn, in modules. */
export function modulesOf(symbols: number[]): number[] {
  return symbols.flatMap((symbol) => [...(PATTERNS[symbol] ?? '')].map(Number));
}

export function barcodeSvg(text: string): SVGSVGElement {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  const widths = modulesOf(code128(text));
  const quiet = 10;
  let at = quiet;
  widths.forEach((width, index) => {
    if (index % 2 === 0) {
      const bar = document.createElementNS(namespace, 'rect');
      for (const [name, value] of Object.entries({ x: at, y: 0, width, height: 40 })) bar.setAttribute(name, String(value));
      svg.append(bar);
    }
    at += width;
  });
  svg.setAttribute('viewBox', `0 0 ${at + quiet} 40`);
  svg.setAttribute('class', 'barcode');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', text);
  return svg;
}
