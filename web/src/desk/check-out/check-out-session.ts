/* A patron's check-outs from the first scan of the card to the end of the session. */
import type { CheckOutRequest, Item, Loan } from '../../api/bodies.ts';
import { Failure, linesOf } from '../../api/failure.ts';
import type { User } from '../../api/schema.ts';
import type { Kind } from '../../parts/controls.tsx';
import { Store } from '../../parts/store.ts';
import { formatDateTime, fromWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';
import type { DeskTools, Result } from '../desk-tools.ts';
import { nameOfUser } from '../people.ts';
import { askBefore } from '../prompts.ts';
import { askAboutCheckDigit, Cancelled, findItem, isWildcard } from '../scanning/find-item.ts';
import { newRow, type ScanRow, withRow } from '../scanning/scan-row.ts';
import { type Offered, type Scan, ScanQueue } from '../scanning/scan-queue.ts';
import { addBriefItem } from './fast-add.ts';
import { loadBlocks, loadFees, loadPatron, type Patron, patronOf } from './patron.ts';
import { type BlockName, isUnknownItem, overrideBlocks, waysOut } from './ways-out.ts';

export interface CheckOutRow extends ScanRow {
  loan?: Loan;
}

/** An override that goes on for the items that follow, until the session ends. */
export interface StandingOverride {
  blocks: BlockName[];
  comment: string;
  dueDate?: string | undefined;
  token?: string | undefined;
}

export interface CheckOutState {
  patron: Patron | undefined;
  /** The card that is being looked up. */
  lookingUp: string | undefined;
  /** Newest first. */
  rows: CheckOutRow[];
  result: Result | undefined;
  /** Local time that replaces the calculated due date while set. */
  specialDueDate: string | undefined;
  standingOverride: StandingOverride | undefined;
  /** Time of the last scan or other activity, in milliseconds since 1970. */
  lastActivity: number;
  /** Patrons of earlier sessions of today, newest first; their barcodes only. */
  lastPatrons: string[];
}

const EMPTY: Omit<CheckOutState, 'lastPatrons' | 'lastActivity'> = {
  patron: undefined,
  lookingUp: undefined,
  rows: [],
  result: undefined,
  specialDueDate: undefined,
  standingOverride: undefined,
};

const REMEMBERED_PATRONS = 5;

export class CheckOutSession {
  readonly store = new Store<CheckOutState>({ ...EMPTY, lastPatrons: [], lastActivity: Date.now() });
  readonly #tools: DeskTools;
  readonly #queue: ScanQueue;
  #results = 0;

  constructor(tools: DeskTools) {
    this.#tools = tools;
    this.#queue = new ScanQueue((scan) => this.#checkOut(scan));
  }

  get isIdle(): boolean {
    return this.#queue.isIdle && this.store.state.lookingUp === undefined;
  }

  /** The first scan is the patron's card, those that follow are items; they wait until the patron is found. */
  async scanPatron(text: string): Promise<void> {
    const card = text.trim();
    if (card === '' || card === this.store.state.lookingUp) return;
    if (this.store.state.lookingUp !== undefined) {
      this.scanItem(card);
      return;
    }
    this.store.update({ lookingUp: card, lastActivity: Date.now() });
    try {
      await askAboutCheckDigit(card, this.#tools);
      const user = await api.findUser(card, this.#tools.settings().patronIdentifiers);
      if (!user) this.#say('error', t('checkOut.patronUnknown', { card }));
      else await this.usePatron(user);
    } catch (error) {
      if (error instanceof Cancelled) this.#say('information', t('scan.cancelledItem', { barcode: card }));
      else this.#say('error', linesOf(error).join(' '));
    } finally {
      this.store.update({ lookingUp: undefined });
      void this.#queue.work();
    }
  }

  /** Begins a session for a user, who may act for another. */
  async usePatron(user: User): Promise<void> {
    let patron = patronOf(user);
    const sponsors = await api.sponsorsOf(user.id ?? '').catch(() => []);
    if (sponsors.length > 0) {
      const acting = await this.#tools.ask('actingAs', { user, sponsors });
      if (!acting) return;
      if (acting.sponsor) patron = patronOf(acting.sponsor, user);
    }
    this.#queue.forgetRepetitions();
    // Items that were scanned after the card wait for this patron.
    const rows = this.store.state.rows.filter((row) => row.state === 'waiting');
    this.store.update({ ...EMPTY, rows, patron, lastActivity: Date.now() });
    const problem = problemOf(patron.user);
    if (problem) this.#say('warning', problem);
    else this.#say('success', t('checkOut.patronFound', { name: nameOfUser(patron.user) }));
    const id = patron.user.id ?? '';
    void loadPatron(id, this.#tools.servicePointId(), (part) => {
      const current = this.store.state.patron;
      if (current?.user.id !== id) return;
      this.store.update({ patron: { ...current, ...part } });
      if (part.blocks && part.blocks.length > 0) {
        this.#say('error', t('checkOut.blocked', { reasons: part.blocks.map((block) => block.text).join('; ') }));
      }
      const popUps = part.notes?.filter((note) => note.popUpOnCheckOut) ?? [];
      if (popUps.length > 0) void this.#tools.ask('patronNotes', { notes: popUps });
    });
  }

  scanItem(text: string): Offered {
    const offered = this.#queue.offer(text);
    this.store.update({ lastActivity: Date.now() });
    if (offered.admitted) {
      this.store.update((state) => ({ rows: [newRow(offered.scan), ...state.rows] }));
      if (this.store.state.lookingUp === undefined) void this.#queue.work();
    } else if (offered.reason === 'repeated') {
      this.#say('information', t('scan.repeated', { barcode: text.trim() }));
    }
    return offered;
  }

  /** Ends the session: collected notices are sent and the panel is cleared. */
  async end(): Promise<void> {
    const { patron, rows } = this.store.state;
    if (!patron) return;
    const lent = rows.some((row) => row.loan);
    const barcode = patron.user.barcode;
    this.store.update((state) => ({
      ...EMPTY,
      rows: state.rows.filter((row) => row.state === 'waiting'),
      lastActivity: Date.now(),
      lastPatrons: barcode
        ? [barcode, ...state.lastPatrons.filter((one) => one !== barcode)].slice(0, REMEMBERED_PATRONS)
        : state.lastPatrons,
    }));
    this.#say('success', t('checkOut.ended'));
    if (!lent) return;
    // Notices that are not sent now are sent when the session times out on the server.
    await api.endPatronSession(patron.user.id ?? '', 'Check-out').catch((error: unknown) => this.#say('warning', linesOf(error).join(' ')));
  }

  setSpecialDueDate(wall: string | undefined): void {
    this.store.update({ specialDueDate: wall });
  }

  /** Overrides the patron's blocks for all items of this session. */
  overrideBlocks(override: StandingOverride): void {
    this.store.update({ standingOverride: override });
  }

  /** Loads fees and blocks again after the patron has paid. */
  async refreshFees(): Promise<void> {
    const id = this.store.state.patron?.user.id;
    if (id === undefined) return;
    for (const part of await Promise.all([loadFees(id), loadBlocks(id)].map((load) => load.catch(() => ({}))))) {
      const { patron } = this.store.state;
      if (patron?.user.id === id) this.store.update({ patron: { ...patron, ...part } });
    }
  }

  keepAlive(): void {
    this.store.update({ lastActivity: Date.now() });
  }

  showLoan(rowId: number, loan: Loan, message: string): void {
    this.#row(rowId, { loan, messages: [message] });
    this.#say('success', message);
  }

  say(kind: Kind, text: string): void {
    this.#say(kind, text);
  }

  /** Undoes the check-out of a row by checking the item in. */
  async undo(row: CheckOutRow): Promise<void> {
    const { patron } = this.store.state;
    try {
      await api.checkIn({ itemBarcode: row.loan?.item.barcode ?? row.barcode, servicePointId: this.#tools.servicePointId(), checkInDate: new Date().toISOString() });
      const { loan: _, ...rest } = row;
      this.store.update((state) => ({
        rows: state.rows.map((one) => (one.id === row.id ? { ...rest, state: 'cancelled', messages: [t('checkOut.undone')] } : one)),
        patron: patron && { ...patron, openLoans: patron.openLoans === undefined ? undefined : patron.openLoans - 1 },
      }));
      this.#say('success', t('checkOut.undone'));
    } catch (error) {
      this.#say('error', linesOf(error).join(' '));
    }
  }

  async #checkOut(scan: Scan): Promise<void> {
    const { patron } = this.store.state;
    if (!patron) return this.#fail(scan, new Error(t('checkOut.noPatron')));
    this.#row(scan.id, { state: 'working' });
    try {
      const misread = askAboutCheckDigit(scan.barcode, this.#tools);
      if (misread) await misread;
      // Most scans are this one call, which starts before anything is awaited; the server says where staff must be asked.
      const item = isWildcard(scan.barcode, this.#tools) ? await this.#confirmedItem(scan) : undefined;
      const loan = await this.#send(scan, patron, item);
      await this.#applySpecialDueDate(scan, loan);
    } catch (error) {
      if (error instanceof Cancelled) {
        this.#row(scan.id, { state: 'cancelled', messages: [t('scan.cancelled')] });
        this.#say('information', t('scan.cancelledItem', { barcode: scan.barcode }));
      } else this.#fail(scan, error);
    }
  }

  /** The item, after all questions about it. */
  async #confirmedItem(scan: Scan): Promise<Item | undefined> {
    const item = await findItem(scan.barcode, this.#tools);
    if (item) this.#row(scan.id, { title: item.title });
    if (item && (await askBefore('checkOut', item, this.#tools.ask)) === undefined) throw new Cancelled();
    return item;
  }

  /** Sends the check-out, and again after each way out that staff choose. */
  async #send(scan: Scan, patron: Patron, chosen: Item | undefined): Promise<Loan> {
    let item = chosen;
    let refuseUnconfirmed = chosen === undefined;
    const standing = this.store.state.standingOverride;
    const request: CheckOutRequest = {
      itemBarcode: item?.barcode ?? scan.barcode,
      userBarcode: patron.user.barcode ?? '',
      servicePointId: this.#tools.servicePointId(),
      ...(patron.proxy?.barcode ? { proxyUserBarcode: patron.proxy.barcode } : {}),
      ...(standing ? { overrideBlocks: overrideBlocks(standing.blocks, standing.comment, standing.dueDate) } : {}),
    };
    let token = standing?.token;
    for (;;) {
      try {
        return this.#lent(scan, await api.checkOut(request, { token, refuseUnconfirmed }));
      } catch (failure) {
        if (!(failure instanceof Failure) || !failure.isRefusal) throw failure;
        if (failure.hasCode(api.CONFIRMATION_REQUIRED)) {
          item = await this.#confirmedItem(scan);
          refuseUnconfirmed = false;
          continue;
        }
        if (failure.refusals.every(isUnknownItem) && (await this.#isPatronCard(scan))) throw new Cancelled();
        const ways = waysOut(failure, this.#tools.may);
        if (ways.length === 0) throw failure;
        this.#tools.sound('error');
        item ??= await findItem(scan.barcode, this.#tools).catch(() => undefined);
        const openLoan = item && ways.some((way) => way.way === 'checkInFirst') ? await api.openLoanOfItem(item.id).catch(() => undefined) : undefined;
        if (openLoan?.forUseAtLocation?.status === 'Held' && openLoan.userId === patron.user.id) {
          // The patron comes back to an item that is kept for use at the location.
          await api.pickUpForUse(request.itemBarcode, request.userBarcode, request.servicePointId);
          return this.#lent(scan, openLoan, false);
        }
        const answer = await this.#tools.ask('refused', { barcode: scan.barcode, title: item?.title, failure, ways, openLoan });
        if (!answer) throw failure;
        switch (answer.way) {
          case 'checkInFirst':
            await api.checkIn({ itemBarcode: request.itemBarcode, servicePointId: request.servicePointId, checkInDate: new Date().toISOString() });
            break;
          case 'fastAdd': {
            const added = await this.#tools.ask('fastAdd', { barcode: scan.barcode });
            if (!added) throw new Cancelled();
            await addBriefItem(scan.barcode, added);
            break;
          }
          case 'override': {
            const blocks = ways.flatMap((way) => (way.way === 'override' ? way.blocks : []));
            const all = [...new Set([...(standing?.blocks ?? []), ...blocks])];
            request.overrideBlocks = overrideBlocks(all, answer.comment, answer.dueDate);
            token = answer.token;
            if (answer.forFollowing) this.overrideBlocks({ blocks: all, comment: answer.comment, dueDate: answer.dueDate, token });
            break;
          }
        }
      }
    }
  }

  #lent(scan: Scan, loan: Loan, isNew = true): Loan {
    const patron = this.store.state.patron;
    this.store.update((state) => ({
      rows: withRow(state.rows, scan.id, { state: 'done', loan, title: loan.item.title, messages: [] }),
      patron: patron && { ...patron, openLoans: patron.openLoans === undefined ? undefined : patron.openLoans + (isNew ? 1 : 0) },
      lastActivity: Date.now(),
    }));
    this.#say('success', t('checkOut.done', { title: loan.item.title ?? scan.barcode, due: formatDateTime(loan.dueDate) }));
    return loan;
  }

  async #applySpecialDueDate(scan: Scan, loan: Loan): Promise<void> {
    const wall = this.store.state.specialDueDate;
    if (wall === undefined) return;
    const dueDate = fromWallTime(wall.length === 16 ? `${wall}:59` : wall).toISOString();
    try {
      await api.changeDueDate(loan.id, dueDate);
      this.#row(scan.id, { loan: { ...loan, dueDate } });
    } catch (error) {
      this.#row(scan.id, { state: 'attention', messages: [t('checkOut.dueDateKept'), ...linesOf(error)] });
      this.#say('warning', t('checkOut.dueDateKept'));
    }
  }

  /** A patron's card in the item's field: offers to go on with that patron. */
  async #isPatronCard(scan: Scan): Promise<boolean> {
    const user = await api.findUser(scan.barcode, ['barcode']).catch(() => undefined);
    if (!user || !(await this.#tools.ask('switchPatron', { user }))) return false;
    // Items that were scanned after the card belong to the new patron.
    await this.end();
    await this.usePatron(user);
    return true;
  }

  #fail(scan: Scan, error: unknown): void {
    const messages = linesOf(error);
    const requestId = error instanceof Failure ? error.requestId : undefined;
    this.#row(scan.id, { state: 'failed', messages, requestId });
    this.#say('error', `${scan.barcode}: ${messages.join(' ')}`);
  }

  #row(id: number, change: Partial<CheckOutRow>): void {
    this.store.update((state) => ({ rows: withRow(state.rows, id, change) }));
  }

  #say(kind: Kind, text: string): void {
    this.#results += 1;
    this.#tools.sound(kind);
    this.store.update({ result: { kind, text, number: this.#results } });
  }
}

/** Why the server will refuse this patron, as far as the account shows it. */
export function problemOf(user: User, now = Date.now()): string | undefined {
  if (user.active === false) return t('checkOut.inactive');
  if (api.isPast(user.expirationDate, now)) return t('checkOut.expired', { date: formatDateTime(user.expirationDate) });
  if (!user.barcode) return t('checkOut.noBarcode');
  return undefined;
}

