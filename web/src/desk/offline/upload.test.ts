import { describe, expect, it } from 'vitest';
import type { CheckInRequest, CheckOutRequest, Loan } from '../../api/bodies.ts';
import { Failure, Unreachable } from '../../api/failure.ts';
import type { OfflineAction } from './offline-store.ts';
import { upload, uploadAll, type UploadApi } from './upload.ts';

const AT = '2026-11-22T10:00:00.123Z';
const action = (fields: Partial<OfflineAction> = {}): OfflineAction => ({
  clientId: 'c', kind: 'checkOut', itemBarcode: 'i', userBarcode: 'u', servicePointId: 's', at: AT, state: 'waiting', ...fields,
});

/** A server with one item. */
function server(start: Partial<Loan>[] = []) {
  const loans = start.map((loan) => ({ id: 'l', itemId: 'i', action: '', dueDate: '', loanDate: '', status: { name: 'Open' }, item: { id: 'i' }, ...loan }) as Loan);
  const sent: string[] = [];
  const keys = new Set<string>();
  const isRepeated = (key: string) => keys.size === keys.add(key).size;
  const api: UploadApi = {
    loansOfItem: async () => loans,
    checkOut: async (request: CheckOutRequest, { key }) => {
      if (isRepeated(key)) return;
      sent.push(`out ${request.loanDate ?? ''}`);
      loans.push({ loanDate: request.loanDate ?? '', status: { name: 'Open' }, borrower: { barcode: request.userBarcode } } as Loan);
    },
    checkIn: async (request: CheckInRequest, { key }) => {
      if (isRepeated(key)) return;
      sent.push(`in ${request.checkInDate}`);
    },
  };
  return { api, sent, loans };
}

describe('an upload', () => {
  it('makes the loan begin when the item was scanned', async () => {
    const { api, sent } = server();
    expect((await upload(action(), api)).state).toBe('uploaded');
    expect(sent).toEqual([`out ${AT}`]);
  });

  it('that is repeated makes no second loan', async () => {
    const { api, sent } = server();
    await upload(action(), api);
    expect((await upload(action(), api)).state).toBe('uploaded');
    expect(sent).toHaveLength(1);
  });

  it('of another scan of the same item is one of its own', async () => {
    const { api, sent } = server();
    await upload(action(), api);
    await upload(action({ clientId: 'd', at: '2026-11-22T11:00:00.000Z' }), api);
    expect(sent).toHaveLength(2);
  });

  it('of a return does not end a loan that began after it', async () => {
    const { api, sent } = server([{ loanDate: '2026-11-22T12:00:00Z' }]);
    expect(await upload(action({ kind: 'checkIn' }), api)).toMatchObject({ state: 'exception', problem: ['lent-again'] });
    expect(sent).toEqual([]);
  });

  it('that is refused becomes an exception with its reasons', async () => {
    const { api } = server();
    api.checkOut = async () => {
      throw new Failure(422, 'no', [{ message: 'Patron blocked from borrowing', parameters: [], overridableBlock: { name: 'patronBlock' } }], '');
    };
    expect(await upload(action(), api)).toMatchObject({ state: 'exception', problem: ['Patron blocked from borrowing'], overridable: ['patronBlock'] });
  });

  it('waits where the server is gone again, and goes on later', async () => {
    const { api, sent } = server();
    const kept: OfflineAction[] = [];
    const keep = async (one: OfflineAction) => void kept.push(one);
    const real = api.checkIn;
    api.checkIn = async () => {
      throw new Unreachable('gone');
    };
    const all = [action(), action({ clientId: 'd', kind: 'checkIn', itemBarcode: 'j', at: '2026-11-22T10:01:00.000Z' })];
    await expect(uploadAll(all, api, keep)).rejects.toThrow('gone');
    expect(kept.map((one) => one.clientId)).toEqual(['c']);
    api.checkIn = real;
    await uploadAll([{ ...all[0], state: 'uploaded' } as OfflineAction, all[1] as OfflineAction], api, keep);
    expect(sent).toEqual([`out ${AT}`, 'in 2026-11-22T10:01:00.000Z']);
  });
});
