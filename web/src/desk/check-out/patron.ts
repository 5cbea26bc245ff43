/* Loads the patron of a session: the account first, then related records as they arrive. */
import type { Note, User } from '../../api/schema.ts';
import { automatedBlocks, countLoans, countRequests, isPast, manualBlocks, notesOf, openAccounts } from '../circulation-api.ts';

export interface PatronBlock {
  text: string;
  automated: boolean;
}

export interface Patron {
  user: User;
  /** The proxy who checks out for the patron. */
  proxy: User | undefined;
  openLoans: number | undefined;
  overdueLoans: number | undefined;
  openRequests: number | undefined;
  awaitingPickupHere: number | undefined;
  owed: number | undefined;
  suspended: number | undefined;
  /** Blocks that prevent this patron from borrowing. */
  blocks: PatronBlock[];
  notes: Note[];
}

export function patronOf(user: User, proxy?: User): Patron {
  return {
    user,
    proxy,
    openLoans: undefined,
    overdueLoans: undefined,
    openRequests: undefined,
    awaitingPickupHere: undefined,
    owed: undefined,
    suspended: undefined,
    blocks: [],
    notes: [],
  };
}

/** Loads the data related to the patron. Each part is reported when it is loaded; a part that fails stays undefined. */
export async function loadPatron(id: string, servicePointId: string, report: (part: Partial<Patron>) => void): Promise<void> {
  const now = new Date().toISOString();
  const parts: Promise<Partial<Patron>>[] = [
    loadBlocks(id),
    countLoans(`userId==${id} and status.name==Open`).then((openLoans) => ({ openLoans })),
    countLoans(`userId==${id} and status.name==Open and dueDate < "${now}"`).then((overdueLoans) => ({ overdueLoans })),
    countRequests(`requesterId==${id} and status=="Open*"`).then((openRequests) => ({ openRequests })),
    countRequests(`requesterId==${id} and status=="Open - Awaiting pickup" and pickupServicePointId==${servicePointId}`).then(
      (awaitingPickupHere) => ({ awaitingPickupHere }),
    ),
    loadFees(id),
    notesOf(id).then((notes) => ({ notes })),
  ];
  await Promise.all(parts.map((part) => part.then(report, () => {})));
}

export async function loadBlocks(id: string): Promise<Partial<Patron>> {
  const [manual, automated] = await Promise.all([
    manualBlocks(id).catch(() => []),
    automatedBlocks(id).catch(() => []),
  ]);
  return {
    blocks: [
      ...manual
        .filter((block) => block.borrowing && !isPast(block.expirationDate))
        .map((block) => ({ text: block.patronMessage || block.desc || '', automated: false })),
      ...automated.filter((block) => block.blockBorrowing).map((block) => ({ text: block.message, automated: true })),
    ],
  };
}

export async function loadFees(id: string): Promise<Partial<Patron>> {
  const accounts = await openAccounts(`userId==${id}`);
  const sum = (list: typeof accounts) => list.reduce((total, account) => total + Number(account.remaining ?? 0), 0);
  return {
    owed: sum(accounts),
    suspended: sum(accounts.filter((account) => account.paymentStatus?.name === 'Suspended claim returned')),
  };
}

/** Days until the account expires; undefined if it does not. */
export function daysUntilExpiry(user: User, now = Date.now()): number | undefined {
  if (!user.expirationDate) return undefined;
  return Math.floor((new Date(user.expirationDate).getTime() - now) / 86_400_000);
}
