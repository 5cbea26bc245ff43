/* Slips to print for a service point, and the shelf that is to be cleared. */
import { useQuery } from '@tanstack/react-query';
import type { HoldRequest } from '../../api/bodies.ts';
import { to } from '../../layout/route.ts';
import { ActionButton } from '../../parts/controls.tsx';
import { Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { nameOfBorrower } from '../people.ts';
import { printStaffSlips } from '../slips/staff-slips.ts';
import { csv, findClearance, findSlips } from './request-api.ts';

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
  const slips = query.data ?? [];
  return (
    <section className="card" aria-labelledby={`slips-${kind}`}>
      <header>
        <h2 id={`slips-${kind}`}>{t(kind === 'pick' ? 'slips.pick' : 'slips.search')}</h2>
        <ActionButton variant="primary" why={slips.length === 0 ? t('slips.none') : undefined} onPress={() => printStaffSlips(kind, slips, session)}>
          {tn('slips.print', slips.length)}
        </ActionButton>
      </header>
      <Listing
        label={t(kind === 'pick' ? 'slips.pick' : 'slips.search')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('slips.empty')}
        rowKey={(slip) => slip.request?.['requestID'] ?? `${slip.item?.['barcode']}`}
        columns={[
          { title: t('column.location'), cell: (slip) => slip.item?.['effectiveLocationSpecific'] },
          { title: t('column.callNumber'), cell: (slip) => slip.item?.['callNumber'] },
          { title: t('column.title'), cell: (slip) => slip.item?.['title'] },
          { title: t('column.barcode'), cell: (slip) => slip.item?.['barcode'], className: 'digits' },
          { title: t('column.pickup'), cell: (slip) => slip.request?.['servicePointPickup'] },
          { title: t('column.requested'), cell: (slip) => formatDate(slip.request?.['requestDate'] ?? undefined) },
        ]}
      />
    </section>
  );
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
