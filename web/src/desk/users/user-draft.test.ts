import { describe, expect, it } from 'vitest';
import type { User } from '../../api/schema.ts';
import { cleaned, expiryOfGroup, newUser, problemOfDraft, withAddresses, withPersonal } from './user-draft.ts';

const complete = (): User => ({ ...withPersonal(newUser(), { lastName: 'Lovelace', email: 'ada@example.org' }), patronGroup: 'group' });

describe('a user being edited', () => {
  it('needs a name, a group and an address for the preferred contact', () => {
    expect(problemOfDraft(newUser())).toBe('userForm.needsLastName');
    expect(problemOfDraft(withPersonal(newUser(), { lastName: 'Lovelace' }))).toBe('userForm.needsGroup');
    expect(problemOfDraft(withPersonal(complete(), { email: ' ' }))).toBe('userForm.needsEmail');
    expect(problemOfDraft(withPersonal(complete(), { email: '', preferredContactTypeId: '004' }))).toBeUndefined();
    expect(problemOfDraft(complete())).toBeUndefined();
  });
  it('has at most one address of a type', () => {
    const home = { addressTypeId: 'home' };
    expect(problemOfDraft(withAddresses(complete(), [home, { addressTypeId: '' }]))).toBe('userForm.needsAddressType');
    expect(problemOfDraft(withAddresses(complete(), [home, home]))).toBe('userForm.oneAddressOfType');
  });
  it('is sent without what the form left empty, and with what it does not know', () => {
    const user = { ...complete(), barcode: '  ', externalSystemId: ' x1 ', unknown: { kept: 0, off: false } } as User;
    const sent = cleaned(withAddresses(user, [{ addressTypeId: 'home', city: '' }])) as unknown as Record<string, unknown>;
    expect(sent).not.toHaveProperty('barcode');
    expect(sent).toMatchObject({ externalSystemId: 'x1', unknown: { kept: 0, off: false }, personal: { addresses: [{ addressTypeId: 'home' }] } });
  });
  it('expires when its group says', () => {
    expect(expiryOfGroup(2, new Date('2026-05-01T10:00:00Z'))).toEqual(new Date('2026-05-03T10:00:00Z'));
    expect(expiryOfGroup(undefined)).toBeUndefined();
  });
});
