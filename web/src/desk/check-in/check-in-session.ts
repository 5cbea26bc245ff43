/* Check-ins of one person at one desk. */
import type { CheckInAnswer, CheckInRequest, Item } from '../../api/bodies.ts';
import { Failure, linesOf } from '../../api/failure.ts';
import type { Kind } from '../../parts/controls.tsx';
import { Store } from '../../parts/store.ts';
import { formatMoney, fromWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';
import type { DeskTools, Result } from '../desk-tools.ts';
import { nameOfBorrower } from '../people.ts';
import { askBefore, promptsBefore, type SendOn } from '../prompts.ts';
import { newRow, type ScanRow, withRow } from '../scanning/scan-row.ts';
import { type Offered, type Scan, ScanQueue } from '../scanning/scan-queue.ts';

export interface CheckInRow extends ScanRow {
  answer?: CheckInAnswer;
  /** Fees and fines of the loan that are open now. */
  owed?: number;
}

export interface CheckInState {
  /** Newest first. */
  rows: CheckInRow[];
  result: Result | undefined;
  /** Wall time as which returns are processed; undefined: now. */
  processedAs: string | undefined;
  /** Whether `processedAs` stays for the scans that follow. */
  sticky: boolean;
  /** Slips are printed without asking. */
  autoPrint: boolean;
  /** Nothing is asked and no slip is offered; what needs a person is marked in the list. */
  batch: boolean;
}

export type PrintSlip = (kind: SendOn, answers: CheckInAnswer[]) => void;

export interface CheckInTools extends DeskTools {
  printSlip: PrintSlip;
  /** Whether the slip of this kind is printed unless staff say no. */
  printByDefault: (kind: SendOn) => boolean;
}

class Cancelled extends Error {}

/** What becomes of an item, by the status in which the check-in left it. */
const SEND_ON: Record<string, SendOn> = {
  'In transit': 'inTransit',
  'Awaiting pickup': 'awaitingPickup',
  'Awaiting delivery': 'awaitingDelivery',
};

export function sendOnOf(answer: CheckInAnswer): SendOn | undefined {
  return SEND_ON[answer.item.status?.name ?? ''];
}

export class CheckInSession {
  readonly store = new Store<CheckInState>({ rows: [], result: undefined, processedAs: undefined, sticky: false, autoPrint: false, batch: false });
  readonly #tools: CheckInTools;
  readonly #queue: ScanQueue;
  #sessionId = crypto.randomUUID();
  #results = 0;

  constructor(tools: CheckInTools) {
    this.#tools = tools;
    this.#queue = new ScanQueue((scan) => this.#checkIn(scan));
  }

  get isIdle(): boolean {
    return this.#queue.isIdle;
  }

  scan(text: string): Offered {
    const offered = this.#queue.offer(text);
    if (offered.admitted) {
      this.store.update((state) => ({ rows: [newRow(offered.scan), ...state.rows] }));
      void this.#queue.work();
    } else if (offered.reason === 'repeated') {
      this.say('information', t('scan.repeated', { barcode: text.trim() }));
    }
    return offered;
  }

  set(change: Partial<Pick<CheckInState, 'processedAs' | 'sticky' | 'autoPrint' | 'batch'>>): void {
    this.store.update(change);
  }

  /** Ends the session: notices to patrons are sent and the list is cleared. */
  async end(): Promise<void> {
    const patrons = new Set(this.store.state.rows.map((row) => row.answer?.loan?.userId).filter((id) => id !== undefined));
    this.#sessionId = crypto.randomUUID();
    this.store.update({ rows: [], processedAs: undefined, sticky: false });
    this.say('success', t('checkIn.ended'));
    for (const patron of patrons) {
      await api.endPatronSession(patron, 'Check-in').catch((error: unknown) => this.say('warning', linesOf(error).join(' ')));
    }
  }

  say(kind: Kind, text: string): void {
    this.#results += 1;
    this.#tools.sound(kind);
    this.store.update({ result: { kind, text, number: this.#results } });
  }

  async #checkIn(scan: Scan): Promise<void> {
    this.#row(scan.id, { state: 'working' });
    try {
      const item = await this.#findItem(scan.barcode);
      if (item) this.#row(scan.id, { title: item.title });
      const before = item ? await this.#askBefore(item) : {};
      const answer = await api.checkIn({
        itemBarcode: item?.barcode ?? scan.barcode,
        servicePointId: this.#tools.servicePointId(),
        checkInDate: this.#checkInDate(),
        sessionId: this.#sessionId,
        ...before,
      });
      if (!this.store.state.sticky) this.store.update({ processedAs: undefined });
      this.#row(scan.id, { state: 'done', answer, title: answer.item.title, messages: [] });
      void this.#lookForFees(scan, answer);
      await this.#sendOn(scan, answer);
    } catch (error) {
      if (error instanceof Cancelled) {
        this.#row(scan.id, { state: 'cancelled', messages: [t('scan.cancelled')] });
        this.say('information', t('scan.cancelledItem', { barcode: scan.barcode }));
        return;
      }
      const messages = linesOf(error);
      this.#row(scan.id, { state: 'failed', messages, requestId: error instanceof Failure ? error.requestId : undefined });
      this.say('error', `${scan.barcode}: ${messages.join(' ')}`);
    }
  }

  async #findItem(barcode: string): Promise<Item | undefined> {
    const wildcard = this.#tools.settings().wildcardLookup && barcode.length > 1 && barcode.endsWith('*');
    const found = await api.findItems(barcode, wildcard);
    if (!wildcard || found.items.length < 2) return found.items[0];
    const chosen = await this.#tools.ask('chooseItem', found);
    if (!chosen) throw new Cancelled();
    return chosen;
  }

  async #askBefore(item: Item): Promise<Pick<CheckInRequest, 'claimedReturnedResolution'>> {
    if (this.store.state.batch) {
      // Only a person can say how a claimed returned item came back; the rest is in the list afterwards.
      const claimed = promptsBefore('checkIn', item).some((prompt) => prompt.name === 'claimedReturned');
      if (claimed) throw new Error(t('checkIn.batchClaimed'));
      return {};
    }
    const answers = await askBefore('checkIn', item, this.#tools.ask);
    if (answers === undefined) throw new Cancelled();
    return answers;
  }

  #checkInDate(): string {
    const wall = this.store.state.processedAs;
    return (wall === undefined ? new Date() : fromWallTime(wall)).toISOString();
  }

  /** Says where the item goes, and prints its slip. */
  async #sendOn(scan: Scan, answer: CheckInAnswer): Promise<void> {
    const kind = sendOnOf(answer);
    const title = answer.item.title ?? scan.barcode;
    const { batch, autoPrint } = this.store.state;
    if (!kind) {
      const location = answer.item.location?.name ?? '';
      this.say('success', t(answer.inHouseUse ? 'checkIn.inHouse' : 'checkIn.toShelf', { title, location }));
      return;
    }
    const where = placeOf(answer);
    this.#row(scan.id, { messages: [t(`checkIn.${kind}`, { where, requester: requesterOf(answer) })] });
    this.say('information', t(`checkIn.${kind}Item`, { title, where, requester: requesterOf(answer) }));
    if (autoPrint) this.#tools.printSlip(kind, [answer]);
    if (autoPrint || batch) return;
    const until = answer.staffSlipContext?.request?.['holdShelfExpirationDate'] ?? undefined;
    const decided = await this.#tools.ask('sendOn', { answer, kind, printByDefault: this.#tools.printByDefault(kind), until });
    if (decided?.print) this.#tools.printSlip(kind, [answer]);
    const requester = answer.staffSlipContext?.requester?.['barcode'];
    if (decided?.checkOut && requester) {
      const loan = await api.checkOut({ itemBarcode: answer.item.barcode ?? scan.barcode, userBarcode: requester, servicePointId: this.#tools.servicePointId() });
      this.#row(scan.id, { messages: [t('checkIn.delivered', { requester: nameOfBorrower(loan.borrower) })] });
    }
  }

  async #lookForFees(scan: Scan, answer: CheckInAnswer): Promise<void> {
    if (!answer.loan) return;
    const accounts = await api.openAccounts(`loanId==${answer.loan.id}`).catch(() => []);
    const owed = accounts.reduce((total, account) => total + Number(account.remaining ?? 0), 0);
    if (owed > 0) this.#row(scan.id, { owed, messages: [...this.#messages(scan.id), t('checkIn.owed', { amount: formatMoney(owed) })] });
  }

  #messages(id: number): string[] {
    return this.store.state.rows.find((row) => row.id === id)?.messages ?? [];
  }

  #row(id: number, change: Partial<CheckInRow>): void {
    this.store.update((state) => ({ rows: withRow(state.rows, id, change) }));
  }
}

/** Where the item goes: a service point by name. */
export function placeOf(answer: CheckInAnswer): string {
  const slip = answer.staffSlipContext;
  return answer.item.inTransitDestinationServicePoint?.name ?? slip?.request?.['servicePointPickup'] ?? slip?.item?.['toServicePoint'] ?? '';
}

export function requesterOf(answer: CheckInAnswer): string {
  const requester = answer.staffSlipContext?.requester;
  if (!requester) return '';
  return nameOfBorrower({
    lastName: requester['lastName'] ?? null,
    preferredFirstName: requester['preferredFirstName'] ?? null,
    firstName: requester['firstName'] ?? null,
  });
}
