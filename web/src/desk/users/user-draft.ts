/* A user record while it is edited: initial values, validation, and the body that is sent. */
import type { User } from '../../api/schema.ts';
import type { MessageKey } from '../../text/messages.ts';

export type Personal = NonNullable<User['personal']>;
export type Address = NonNullable<Personal['addresses']>[number];

/** Ids of FOLIO's preferred contact types. */
export const CONTACT_TYPES = ['002', '001', '003', '004', '005'] as const;
export const USER_TYPES = ['patron', 'staff'] as const;

export function newUser(): User {
  return { id: crypto.randomUUID(), active: true, type: 'patron', personal: { lastName: '', preferredContactTypeId: '002' } };
}

export function withPersonal(user: User, change: Partial<Personal>): User {
  return { ...user, personal: { lastName: '', ...user.personal, ...change } };
}

export function withAddresses(user: User, addresses: Address[]): User {
  return withPersonal(user, { addresses });
}

/** Why the record cannot be saved; the button shows the first reason. */
export function problemOfDraft(user: User): MessageKey | undefined {
  const personal = user.personal;
  if (!personal?.lastName.trim()) return 'userForm.needsLastName';
  if (!user.patronGroup) return 'userForm.needsGroup';
  if (personal.preferredContactTypeId === '002' && !personal.email?.trim()) return 'userForm.needsEmail';
  const types = (personal.addresses ?? []).map((address) => address.addressTypeId);
  if (types.includes('')) return 'userForm.needsAddressType';
  if (new Set(types).size < types.length) return 'userForm.oneAddressOfType';
  return undefined;
}

/** The record without the form's empty texts and lists; fields outside the form are kept. */
export function cleaned(user: User): User {
  return withoutEmpty(user) as User;
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty).filter((one) => one !== undefined);
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).flatMap(([key, one]) => {
      const kept = withoutEmpty(one);
      return kept === undefined ? [] : [[key, kept] as const];
    });
    return Object.fromEntries(entries);
  }
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  return value ?? undefined;
}

/** The expiration date of new accounts of a group, counted from today; undefined if the group sets none. */
export function expiryOfGroup(offsetDays: number | undefined, now = new Date()): Date | undefined {
  return offsetDays === undefined ? undefined : new Date(now.getTime() + offsetDays * 86_400_000);
}
