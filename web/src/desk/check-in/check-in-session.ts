/* Check-ins of one person at one desk. */
import type { CheckInAnswer, CheckInRequest, Item } from '../../api/bodies.ts';
import { Failure, linesOf, type Refusal } from '../../api/failure.ts';
import type { Account } from '../../api/schema.ts';
import type { Kind } from '../../parts/controls.tsx';
import { Store } from '../../parts/store.ts';
import { formatDateTime, formatMoney, fromWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';
import type { DeskTools, Result } from '../desk-tools.ts';
import { nameOfBorrower } from '../people.ts';
import { askBefore, type SendOn } from '../prompts.ts';
import { askAboutCheckDigit, Cancelled, findItem, isWildcard } from '../scanning/find-item.ts';
import { newRow, type ScanRow, withRow } from '../scanning/scan-row.ts';
import { type Offered, type Scan, ScanQueue } from '../scanning/scan-queue.ts';

export interface CheckInRow extends ScanRow {
  answer?: CheckInAnswer;
  /** Fees and fines of the loan that are open now. */
  owed?: number;
}

export interface CheckInState {
  /** Newest first; the newest `KEPT_ROWS` of a session that may last all day. */
  rows: CheckInRow[];
  /** Scans of the session. */
  scans: number;
  result: Result | undefined;
  /** Local time as which returns are processed; undefined: now. */
  processedAs: string | undefined;
  /** Whether `processedAs` stays for the scans that follow. */
  sticky: boolean;
  /** Slips are printed without asking. */
  autoPrint: boolean;
  /** Fees and fines of loans that end now are waived. */
  amnesty: boolean;
  /** Items of other places become available here instead of being sent there; requested ones are sent. */
  suppressTransits: boolean;
  /** Nothing is asked and no slip is offered; what needs a person is marked in the list. */
  batch: boolean;
}

export type PrintSlip = (kind: SendOn, answers: CheckInAnswer[]) => void;

export interface CheckInTools extends DeskTools {
  printSlip: PrintSlip;
  /** Whether the slip of this kind is printed unless staff say no. */
  printByDefault: (kind: SendOn) => boolean;
}

/** Older rows than these are removed from memory; failed ones stay. */
export const KEPT_ROWS = 500;

/** The rows with a new first row. */
export function withNewest(rows: CheckInRow[], row: CheckInRow): CheckInRow[] {
  if (rows.length < KEPT_ROWS) return [row, ...rows];
  return [row, ...rows.filter((one, index) => index < KEPT_ROWS - 1 || one.state === 'failed')];
}

/** The destination of an item by its status after the check-in. */
const SEND_ON: Record<string, SendOn> = {
  'In transit': 'inTransit',
  'Awaiting pickup': 'awaitingPickup',
  'Awaiting delivery': 'awaitingDelivery',
};

export function sendOnOf(answer: CheckInAnswer): SendOn | undefined {
  return SEND_ON[answer.item.status?.name ?? ''];
}

export class CheckInSession {
  readonly store = new Store<CheckInState>({ rows: [], scans: 0, result: undefined, processedAs: undefined, sticky: false, autoPrint: false, amnesty: false, suppressTransits: false, batch: false });
  readonly #tools: CheckInTools;
  readonly #queue: ScanQueue;
  #sessionId = crypto.randomUUID();
  #results = 0;
  /** Patrons whose loans ended in this session; they get a notice when it ends. */
  readonly #patrons = new Set<string>();

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
      this.store.update((state) => ({ rows: withNewest(state.rows, newRow(offered.scan)), scans: state.scans + 1 }));
      void this.#queue.work();
    } else if (offered.reason === 'repeated') {
      this.say('information', t('scan.repeated', { barcode: text.trim() }));
    }
    return offered;
  }

  set(change: Partial<Pick<CheckInState, 'processedAs' | 'sticky' | 'autoPrint' | 'amnesty' | 'suppressTransits' | 'batch'>>): void {
    this.store.update(change);
  }

  /** Ends the session: notices to patrons are sent and the list is cleared. */
  async end(): Promise<void> {
    const patrons = [...this.#patrons];
    this.#sessionId = crypto.randomUUID();
    this.#patrons.clear();
    this.store.update({ rows: [], scans: 0, processedAs: undefined, sticky: false });
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
      const misread = askAboutCheckDigit(scan.barcode, this.#tools);
      if (misread) await misread;
      const answer = await this.#send(scan);
      if (!this.store.state.sticky && this.store.state.processedAs !== undefined) this.store.update({ processedAs: undefined });
      this.#row(scan.id, { state: 'done', answer, title: answer.item.title, messages: [] });
      if (answer.loan?.userId) this.#patrons.add(answer.loan.userId);
      this.#tools.whenIdle(() => void this.#lookForFees(scan, answer));
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

  /** Sends the check-in; where the server says that staff must confirm it, asks and sends it again. */
  async #send(scan: Scan): Promise<CheckInAnswer> {
    const request: CheckInRequest = {
      itemBarcode: scan.barcode,
      servicePointId: this.#tools.servicePointId(),
      checkInDate: this.#checkInDate(),
      sessionId: this.#sessionId,
    };
    const { batch } = this.store.state;
    let usedHere = false;
    if (!isWildcard(scan.barcode, this.#tools)) {
      try {
        return await api.checkIn(request, { refuseUnconfirmed: !batch });
      } catch (failure) {
        if (!(failure instanceof Failure)) throw failure;
        // Only a person can say how a claimed returned item came back.
        if (batch && failure.refusals.some(isOpenClaim)) throw new Error(t('checkIn.batchClaimed'));
        if (!failure.hasCode(api.CONFIRMATION_REQUIRED)) throw failure;
        usedHere = failure.refusals.some((refusal) => refusal.parameters.some((one) => one.value === 'useAtLocation'));
      }
    }
    const item = await findItem(scan.barcode, this.#tools);
    if (item) this.#row(scan.id, { title: item.title });
    if (item && usedHere && (await this.#isKept(item))) {
      const loan = await api.holdForUse(item.barcode ?? scan.barcode, request.servicePointId);
      return { loan, item: loan.item, inHouseUse: false };
    }
    const before = item ? await this.#askBefore(item) : {};
    return api.checkIn({ ...request, itemBarcode: item?.barcode ?? scan.barcode, ...before });
  }

  /** Whether an item that was used at the location is kept for its patron. */
  async #isKept(item: Item): Promise<boolean> {
    const action = this.#tools.useAtLocationReturn();
    if (action !== 'Ask_for_action') return action === 'Keep_on_hold_shelf';
    const answer = await this.#tools.ask('useAtLocation', { item });
    if (!answer) throw new Cancelled();
    return answer === 'keep';
  }

  async #askBefore(item: Item): Promise<Pick<CheckInRequest, 'claimedReturnedResolution'>> {
    // In batch mode only a wildcard leads here; the rest is in the list afterwards.
    if (this.store.state.batch) return {};
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
    if (answer.loan?.forUseAtLocation?.status === 'Held') {
      const until = formatDateTime(answer.loan.forUseAtLocation.holdShelfExpirationDate);
      this.#row(scan.id, { messages: [t('useAtLocation.kept', { until })] });
      return this.say('information', `${title}: ${t('useAtLocation.kept', { until })}`);
    }
    if (!kind) {
      const location = answer.item.location?.name ?? '';
      this.say('success', t(answer.inHouseUse ? 'checkIn.inHouse' : 'checkIn.toShelf', { title, location }));
      return;
    }
    if (kind === 'inTransit' && this.store.state.suppressTransits && !answer.staffSlipContext?.request) return this.cancelTransit(answer);
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
    const { id } = answer.loan;
    const accounts = await api.openAccounts(`loanId==${id}`).catch(() => []);
    if (this.store.state.amnesty && accounts.length > 0) return this.#waive(scan, accounts);
    const owed = accounts.reduce((total, account) => total + Number(account.remaining ?? 0), 0);
    if (owed > 0) this.#row(scan.id, { owed, messages: [...this.#messages(scan.id), t('checkIn.owed', { amount: formatMoney(owed) })] });
  }

  /** Waives what is owed for the loan, by the tenant's first reason for waiving. */
  async #waive(scan: Scan, accounts: Account[]): Promise<void> {
    const total = accounts.reduce((sum, account) => sum + Number(account.remaining ?? 0), 0);
    try {
      for (const account of accounts) await api.waive(account, this.#tools.servicePointId(), this.#tools.username());
      this.#row(scan.id, { messages: [...this.#messages(scan.id), t('checkIn.waived', { amount: formatMoney(total) })] });
    } catch (error) {
      this.#row(scan.id, { state: 'attention', owed: total, messages: [...this.#messages(scan.id), t('checkIn.notWaived'), ...linesOf(error)] });
      this.say('warning', t('checkIn.notWaived'));
    }
  }

  /** Cancels the transit of an item: it stays here and becomes available. */
  async cancelTransit(answer: CheckInAnswer): Promise<void> {
    const row = this.store.state.rows.find((one) => one.answer === answer);
    try {
      await api.makeAvailable(answer.item.id);
      if (row) this.#row(row.id, { messages: [t('checkIn.transitCancelled')], answer: { ...answer, item: { ...answer.item, status: { name: 'Available' } } } });
      this.say('success', t('checkIn.transitCancelled'));
    } catch (error) {
      this.say('error', linesOf(error).join(' '));
    }
  }

  #messages(id: number): string[] {
    return this.store.state.rows.find((row) => row.id === id)?.messages ?? [];
  }

  #row(id: number, change: Partial<CheckInRow>): void {
    this.store.update((state) => ({ rows: withRow(state.rows, id, change) }));
  }
}

const isOpenClaim = (refusal: Refusal) => refusal.parameters.some((one) => one.key === 'claimedReturnedResolution');

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
