import { describe, expect, it } from 'vitest';
import { code128, modulesOf } from './code128.ts';
import { fillText, slipValues } from './template.ts';

describe('a staff slip', () => {
  const values = slipValues(
    { item: { title: 'Culture & <b>Anarchy</b>', barcode: '390000002084', volume: null }, requester: { lastName: 'Sheikh' } },
    'Hold',
    'desk',
  );

  it('shows values as text, whatever they contain', () => {
    expect(fillText('Title: {{item.title}}!', values)).toEqual([
      { kind: 'text', text: 'Title: ' },
      { kind: 'text', text: 'Culture & <b>Anarchy</b>' },
      { kind: 'text', text: '!' },
    ]);
  });

  it('leaves out what has no value', () => {
    expect(fillText('{{ item.volume }}{{item.unknown}}', values).map((part) => part.kind === 'text' && part.text)).toEqual(['', '']);
  });

  it('draws a barcode from the value behind it', () => {
    expect(fillText('{{item.barcodeImage}}', values)).toEqual([{ kind: 'barcode', value: '390000002084' }]);
    expect(fillText('{{requester.barcodeImage}}', values)).toEqual([]);
  });
});

describe('code 128', () => {
  it('packs pairs of digits and ends with checksum and stop', () => {
    // Start C, 12, 34, checksum (105 + 12 + 2 * 34) mod 103 = 82, stop.
    expect(code128('1234')).toEqual([105, 12, 34, 82, 106]);
  });
  it('takes letters as they are', () => {
    expect(code128('AB')).toEqual([104, 33, 34, (104 + 33 + 2 * 34) % 103, 106]);
  });
  it('has eleven modules a symbol and thirteen for the stop', () => {
    expect(modulesOf(code128('AB')).reduce((sum, width) => sum + width, 0)).toBe(4 * 11 + 13);
  });
});
