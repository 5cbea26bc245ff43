/* Scans made while the server was down, in the browser's storage until they are uploaded. */

export interface OfflineAction {
  /** Generated when the item is scanned; the same at every upload attempt. */
  clientId: string;
  kind: 'checkOut' | 'checkIn';
  itemBarcode: string;
  /** The patron's card, at a check-out. */
  userBarcode?: string;
  servicePointId: string;
  /** When it was scanned; the loan starts or ends at this time. */
  at: string;
  state: 'waiting' | 'uploaded' | 'exception' | 'skipped';
  /** Why the server refused it, one reason per line. */
  problem?: string[];
  /** Blocks that staff may override, if all reasons are such blocks. */
  overridable?: string[];
}

const ACTIONS = 'actions';
const BLOCKED = 'blocked-cards';

export class OfflineStore {
  readonly #database: Promise<IDBDatabase>;

  /** Each tenant has a separate database in the browser. */
  constructor(tenant: string) {
    this.#database = new Promise((resolve, reject) => {
      const request = indexedDB.open(`carrel-desk-${tenant}`, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore(ACTIONS, { keyPath: 'clientId' });
        request.result.createObjectStore(BLOCKED, { keyPath: 'barcode' });
      };
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  /** Resolves when the action is on the disk. */
  async put(action: OfflineAction): Promise<void> {
    await this.#change(ACTIONS, (store) => store.put(action));
  }

  /** In the order of time. */
  async all(): Promise<OfflineAction[]> {
    const database = await this.#database;
    const found = await result<OfflineAction[]>(database.transaction(ACTIONS).objectStore(ACTIONS).getAll());
    return found.sort((one, other) => one.at.localeCompare(other.at));
  }

  /** Deletes the scans that need no further attention. */
  async removeSettled(): Promise<void> {
    const settled = (await this.all()).filter((action) => action.state === 'uploaded' || action.state === 'skipped');
    await this.#change(ACTIONS, (store) => settled.forEach((action) => store.delete(action.clientId)));
  }

  /** Barcodes of patrons who may not borrow; no other patron data. */
  async keepBlockedCards(barcodes: string[]): Promise<void> {
    await this.#change(BLOCKED, (store) => {
      store.clear();
      for (const barcode of barcodes) store.put({ barcode });
    });
  }

  async isBlocked(barcode: string): Promise<boolean> {
    const database = await this.#database;
    return (await result(database.transaction(BLOCKED).objectStore(BLOCKED).get(barcode))) !== undefined;
  }

  async #change(name: string, change: (store: IDBObjectStore) => void): Promise<void> {
    const transaction = (await this.#database).transaction(name, 'readwrite', { durability: 'strict' });
    change(transaction.objectStore(name));
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  }
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
