/* Slips to print for a service point, and the hold shelf clearance list. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { HoldRequest, StaffSlipContext } from '../../api/bodies.ts';
import { to } from '../../layout/route.ts';
import { ActionButton, Choice } from '../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate, formatDateTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { nameOfBorrower, nameOfUser } from '../people.ts';
import { printStaffSlips } from '../slips/staff-slips.ts';
import { csv, enterPrint, findClearance, findSlips, requestsById } from './request-api.ts';

export function Slips() {
  const session = useSession();
  const point = session.servicePoint?.id ?? '';
  return (
    <div className="page">
      <header>
        <div>
          <a href={to('requests')}>{t('page.requests')}</a>
          <h1>{t('requests.slipsAt', { name: session.servicePoint?.name ?? '' })}</h1>
        </div>
      </header>
      <SlipList kind="pick" servicePointId={point} />
      <SlipList kind="search" servicePointId={point} />
      <Clearance servicePointId={point} />
    </div>
  );
}

function SlipList({ kind, servicePointId }: { kind: 'pick' | 'search'; servicePointId: string }) {
  const session = useSession();
  const query = useQuery({ queryKey: ['slips', kind, servicePointId], enabled: servicePointId !== '', queryFn: () => findSlips(kind, servicePointId) });
  const [show, setShow] = useState<'all' | 'new'>('all');
  const ids = (query.data ?? []).map(idOf).filter((id) => id !== '');
  const details = useQuery({ queryKey: ['slips', 'printed', kind, servicePointId, ids.join()], enabled: kind === 'pick' && ids.length > 0, queryFn: () => requestsById(ids) });
  const printedOf = (slip: StaffSlipContext) => details.data?.find((request) => request.id === idOf(slip))?.printDetails;
  const slips = (query.data ?? []).filter((slip) => show === 'all' || !printedOf(slip)?.isPrinted);
  const [error, setError] = useState<unknown>();

  async function print() {
    printStaffSlips(kind, slips, session);
    if (kind !== 'pick' || !session.settings.printLog || !session.may('circulation.print-events-entry.item.post')) return;
    try {
      await enterPrint(slips.map(idOf), session.self.user.id ?? '', nameOfUser(session.self.user));
    } catch (failure) {
      setError(failure);
    }
    await details.refetch();
  }

  return (
    <section className="card" aria-labelledby={`slips-${kind}`}>
      <header>
        <h2 id={`slips-${kind}`}>{t(kind === 'pick' ? 'slips.pick' : 'slips.search')}</h2>
        <div className="filters">
          {kind === 'pick' && (
            <Choice
              label={t('slips.which')}
              value={show}
              onChange={(value) => setShow(value === 'new' ? 'new' : 'all')}
              options={[
                { value: 'all', label: t('search.any') },
                { value: 'new', label: t('slips.notPrinted') },
              ]}
            />
          )}
          <ActionButton variant="primary" why={slips.length === 0 ? t('slips.none') : undefined} onPress={() => void print()}>
            {tn('slips.print', slips.length)}
          </ActionButton>
        </div>
      </header>
      {error !== undefined && <FailureMessage error={error} />}
      <Listing
        label={t(kind === 'pick' ? 'slips.pick' : 'slips.search')}
        rows={query.data && slips}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('slips.empty')}
        rowKey={(slip) => idOf(slip) || `${slip.item?.['barcode']}`}
        columns={[
          { title: t('column.location'), cell: (slip) => slip.item?.['effectiveLocationSpecific'] },
          { title: t('column.callNumber'), cell: (slip) => slip.item?.['callNumber'] },
          { title: t('column.title'), cell: (slip) => slip.item?.['title'] },
          { title: t('column.barcode'), cell: (slip) => slip.item?.['barcode'], className: 'digits' },
          { title: t('column.pickup'), cell: (slip) => slip.request?.['servicePointPickup'] },
          { title: t('column.requested'), cell: (slip) => formatDate(slip.request?.['requestDate'] ?? undefined), className: 'due' },
          ...(kind === 'pick' ? [{ title: t('slips.printed'), cell: (slip: StaffSlipContext) => inWords(printedOf(slip)) }] : []),
        ]}
      />
    </section>
  );
}

const idOf = (slip: StaffSlipContext) => slip.request?.['requestID'] ?? '';

/** Last user who printed the slip, the time, and the number of prints. */
function inWords(printed: HoldRequest['printDetails']): string {
  if (!printed?.isPrinted) return '';
  return [`${printed.printCount ?? 1} ×`, formatDateTime(printed.printEventDate), nameOfBorrower(printed.lastPrintRequester)].filter(Boolean).join(' · ');
}

function Clearance({ servicePointId }: { servicePointId: string }) {
  const query = useQuery({ queryKey: ['clearance', servicePointId], enabled: servicePointId !== '', queryFn: () => findClearance(servicePointId) });
  const requests = query.data ?? [];

  function save() {
    const head = [t('column.title'), t('column.barcode'), t('column.callNumber'), t('column.status'), t('column.requester')];
    const lines = requests.map((one: HoldRequest) => [one.instance?.title, one.item?.barcode, one.item?.callNumber ?? '', one.status, nameOfBorrower(one.requester)]);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([`\uFEFF${csv([head, ...lines])}`], { type: 'text/csv' }));
    link.download = 'hold-shelf-clearance.csv';
    link.click();
    URL.revokeObjectURL(link.href);
  }

  return (
    <section className="card" aria-labelledby="clearance-title">
      <header>
        <h2 id="clearance-title">{t('slips.clearance')}</h2>
        <ActionButton why={requests.length === 0 ? t('slips.none') : undefined} onPress={save}>
          {t('slips.csv')}
        </ActionButton>
      </header>
      <Listing
        label={t('slips.clearance')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('slips.clear')}
        rowKey={(request) => request.id}
        columns={[
          { title: t('column.title'), cell: (request) => request.instance?.title },
          { title: t('column.barcode'), cell: (request) => request.item?.barcode, className: 'digits' },
          { title: t('column.callNumber'), cell: (request) => request.item?.callNumber },
          { title: t('column.status'), cell: (request) => request.status },
          { title: t('column.requester'), cell: (request) => nameOfBorrower(request.requester) },
        ]}
      />
    </section>
  );
}
