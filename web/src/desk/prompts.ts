/*
 * Prompts that the desk shows during a scan, and their order. Logic requests a prompt by name; dialogs/index.tsx maps
 * each name to a dialog. An undefined answer means that staff cancelled.
 */
import type { CheckInAnswer, CirculationNote, ClaimedReturnedResolution, Item, Loan } from '../api/bodies.ts';
import type { Note, User } from '../api/schema.ts';
import type { Failure } from '../api/failure.ts';
import type { BriefItem } from './check-out/fast-add.ts';
import type { WayOut } from './check-out/ways-out.ts';

export type Task = 'checkOut' | 'checkIn';

/** Name → [properties, answer]. */
export interface Prompts {
  chooseItem: [{ items: Item[]; total: number }, Item];
  checkDigit: [{ barcode: string }, true];
  confirmStatus: [{ item: Item; task: Task }, true];
  claimedReturned: [{ item: Item }, ClaimedReturnedResolution];
  useAtLocation: [{ item: Item }, 'keep' | 'checkIn'];
  pieces: [{ item: Item; task: Task }, true];
  itemNotes: [{ item: Item; notes: CirculationNote[]; task: Task }, true];
  refused: [{ barcode: string; title: string | undefined; failure: Failure; ways: WayOut[]; openLoan: Loan | undefined }, RefusedAnswer];
  actingAs: [{ user: User; sponsors: { user: User; expired: boolean }[] }, { sponsor: User | undefined }];
  patronNotes: [{ notes: Note[] }, { deleted: string[] }];
  switchPatron: [{ user: User }, true];
  sendOn: [{ answer: CheckInAnswer; kind: SendOn; printByDefault: boolean; until: string | undefined }, { print: boolean; checkOut?: boolean }];
  fastAdd: [{ barcode: string }, BriefItem];
}
export type PromptName = keyof Prompts;
export type Ask = <N extends PromptName>(name: N, shown: Prompts[N][0]) => Promise<Prompts[N][1] | undefined>;

export type SendOn = 'inTransit' | 'awaitingPickup' | 'awaitingDelivery';

export type RefusedAnswer =
  | { way: 'override'; comment: string; dueDate?: string; forFollowing: boolean; token?: string }
  | { way: 'checkInFirst' }
  | { way: 'fastAdd' };

/** Statuses that staff must confirm. */
export const STATUSES_TO_CONFIRM: Record<Task, ReadonlySet<string>> = {
  checkOut: new Set([
    'Aged to lost', 'Claimed returned', 'Declared lost', 'In process (non-requestable)', 'Long missing', 'Lost and paid',
    'Missing', 'Restricted', 'Unavailable', 'Unknown', 'Withdrawn',
  ]),
  checkIn: new Set([
    'Aged to lost', 'Declared lost', 'In process (non-requestable)', 'Long missing', 'Lost and paid', 'Missing',
    'Restricted', 'Unavailable', 'Unknown', 'Withdrawn',
  ]),
};

export type ItemPrompt =
  | { name: 'confirmStatus' }
  | { name: 'claimedReturned' }
  | { name: 'pieces' }
  | { name: 'itemNotes'; notes: CirculationNote[] };

/** The prompts about an item before it is checked out or in, in their order. */
export function promptsBefore(task: Task, item: Item): ItemPrompt[] {
  const status: ItemPrompt[] = STATUSES_TO_CONFIRM[task].has(item.status.name) ? [{ name: 'confirmStatus' }] : [];
  const pieces: ItemPrompt[] = hasSeveralPieces(item) ? [{ name: 'pieces' }] : [];
  const noteType = task === 'checkOut' ? 'Check out' : 'Check in';
  const found = (item.circulationNotes ?? []).filter((note) => note.noteType === noteType);
  const notes: ItemPrompt[] = found.length > 0 ? [{ name: 'itemNotes', notes: found }] : [];
  if (task === 'checkOut') return [...status, ...notes, ...pieces];
  const claimed: ItemPrompt[] = item.status.name === 'Claimed returned' ? [{ name: 'claimedReturned' }] : [];
  return [...claimed, ...status, ...pieces, ...notes];
}

function hasSeveralPieces(item: Item): boolean {
  return Number(item.numberOfPieces ?? 0) > 1 || Boolean(item.numberOfMissingPieces) || Boolean(item.missingPieces);
}

/** Shows these prompts; undefined if staff cancelled one of them. */
export async function askBefore(
  task: Task,
  item: Item,
  ask: Ask,
): Promise<{ claimedReturnedResolution?: ClaimedReturnedResolution } | undefined> {
  let resolution: ClaimedReturnedResolution | undefined;
  for (const prompt of promptsBefore(task, item)) {
    switch (prompt.name) {
      case 'claimedReturned':
        resolution = await ask('claimedReturned', { item });
        if (resolution === undefined) return undefined;
        break;
      case 'itemNotes':
        if (!(await ask('itemNotes', { item, notes: prompt.notes, task }))) return undefined;
        break;
      case 'confirmStatus':
      case 'pieces':
        if (!(await ask(prompt.name, { item, task }))) return undefined;
        break;
    }
  }
  return resolution === undefined ? {} : { claimedReturnedResolution: resolution };
}
