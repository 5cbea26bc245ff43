import { describe, expect, it } from 'vitest';
import { marksFor } from './item-marks.ts';

const statuses = (present: string, may: (permission: string) => boolean = () => true) => marksFor(present, may).map((mark) => mark.status);

describe('an item', () => {
  it('that is on loan or lost can not be marked as missing or withdrawn', () => {
    for (const present of ['Checked out', 'Declared lost', 'Claimed returned', 'Aged to lost']) {
      expect(statuses(present)).not.toContain('Missing');
      expect(statuses(present)).not.toContain('Withdrawn');
    }
  });
  it('that is missing can be withdrawn, and is not marked as missing again', () => {
    expect(statuses('Missing')).toContain('Withdrawn');
    expect(statuses('Missing')).not.toContain('Missing');
  });
  it('that is in process can only be marked as missing or withdrawn', () => {
    expect(statuses('In process')).toEqual(['Missing', 'Withdrawn']);
  });
  it('is marked only by who has the permission of the mark', () => {
    expect(statuses('Available', (permission) => permission === 'inventory.items.item.mark-missing.post')).toEqual(['Missing']);
  });
});
