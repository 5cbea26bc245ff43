/* Open requests of an account. */
import { useQuery } from '@tanstack/react-query';
import { to } from '../../layout/route.ts';
import { Listing } from '../../parts/listing.tsx';
import { formatDate } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';

export function UserRequests({ userId }: { userId: string }) {
  const query = useQuery({ queryKey: ['requests-of', userId], queryFn: () => api.requestsOf(userId) });
  return (
    <Listing
      label={t('users.tab.requests')}
      rows={query.data}
      isLoading={query.isLoading}
      error={query.error}
      empty={t('users.noRequests')}
      rowKey={(request) => request.id}
      columns={[
        { title: t('column.title'), cell: (request) => <a href={to('requests', request.id)}>{request.instance?.title}</a> },
        { title: t('column.type'), cell: (request) => request.requestType },
        { title: t('column.status'), cell: (request) => request.status },
        { title: t('column.position'), cell: (request) => request.position, className: 'number' },
        { title: t('column.pickup'), cell: (request) => request.pickupServicePoint?.name },
        { title: t('column.requested'), cell: (request) => formatDate(request.requestDate), className: 'due' },
        { title: t('column.shelfUntil'), cell: (request) => formatDate(request.holdShelfExpirationDate) },
      ]}
    />
  );
}
