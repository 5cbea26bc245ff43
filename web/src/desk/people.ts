import type { Borrower } from '../api/bodies.ts';
import type { User } from '../api/schema.ts';

interface PersonalName {
  firstName?: string | null | undefined;
  preferredFirstName?: string | null | undefined;
  middleName?: string | null | undefined;
  lastName?: string | null | undefined;
}

/** `Last, First Middle`, with the preferred first name where there is one. */
export function fullName(person: PersonalName | undefined): string {
  if (!person) return '';
  const first = [person.preferredFirstName || person.firstName, person.middleName].filter(Boolean).join(' ');
  return [person.lastName, first].filter(Boolean).join(', ');
}

export function nameOfUser(user: User): string {
  return fullName(user.personal) || user.username || user.barcode || user.id || '';
}

export function nameOfBorrower(borrower: Borrower | undefined): string {
  return fullName(borrower) || borrower?.barcode || '';
}
