import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { HoldRequest } from '../../api/bodies.ts';
import { to } from '../../layout/route.ts';
import { ActionButton, Choice, Field, Loading } from '../../parts/controls.tsx';
import { Facts, FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate, formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { nameOfBorrower } from '../people.ts';
import { useCancellationReasons } from '../references.ts';
import { ChangePickup, MoveRequest } from './MoveRequest.tsx';
import { RequestQueue } from './RequestQueue.tsx';
import { cancelRequest, findRequest } from './request-api.ts';

export function RequestView({ id }: { id: string }) {
  const { may, settings } = useSession();
  const queries = useQueryClient();
  const query = useQuery({ queryKey: ['request', id], queryFn: () => findRequest(id) });
  const [changing, setChanging] = useState<'cancel' | 'item' | 'pickup'>();
  const request = query.data;
  if (query.error) return <div className="page"><h1>{t('page.requests')}</h1><FailureMessage error={query.error} /></div>;
  if (!request) return <Loading />;
  const isOpen = request.status.startsWith('Open');
  const why = !isOpen ? t('why.requestClosed') : may('circulation.requests.item.put') ? undefined : t('why.noPermission');
  const whyNotMoved = !isOpen ? t('why.requestClosed') : !request.itemId ? t('requests.hasNoItem') : may('circulation.requests.item.move.post') ? undefined : t('why.noPermission');
  const close = () => {
    setChanging(undefined);
    void queries.invalidateQueries();
  };
  const queue = settings.titleLevelRequests ? ({ of: 'instance', id: request.instanceId } as const) : ({ of: 'item', id: request.itemId } as const);
  return (
    <div className="page">
      <header>
        <div>
          <a href={to('requests')}>{t('page.requests')}</a>
          <h1>{request.instance?.title}</h1>
        </div>
        <div className="toolbar-actions">
          <ActionButton why={why ?? (request.pickupServicePointId ? undefined : t('requests.isDelivered'))} onPress={() => setChanging('pickup')}>
            {t('requests.changePickup')}
          </ActionButton>
          <ActionButton why={whyNotMoved} onPress={() => setChanging('item')}>
            {t('requests.move')}
          </ActionButton>
          <ActionButton variant="danger" why={why} onPress={() => setChanging('cancel')}>
            {t('requests.cancel')}
          </ActionButton>
        </div>
      </header>
      <div className="columns">
        <section className="card" aria-label={t('requests.request')}>
          <Facts
            facts={[
              [t('column.type'), `${request.requestType} (${t(request.requestLevel === 'Title' ? 'requests.titleLevel' : 'requests.itemLevel')})`],
              [t('column.status'), request.status],
              [t('column.position'), request.position],
              [t('column.requested'), formatDateTime(request.requestDate)],
              [t('requests.expires'), formatDate(request.requestExpirationDate)],
              [t('column.shelfUntil'), formatDateTime(request.holdShelfExpirationDate)],
              [t('requests.tag'), request.tags?.tagList?.join(', ')],
              [t('slips.printed'), request.printDetails?.isPrinted && `${request.printDetails.printCount ?? 1} × ${formatDateTime(request.printDetails.printEventDate)} ${nameOfBorrower(request.printDetails.lastPrintRequester)}`],
            ]}
          />
        </section>
        <section className="card" aria-label={t('requests.parties')}>
          <Facts
            facts={[
              [t('column.requester'), <a key="requester" href={to('users', request.requesterId)}>{nameOfBorrower(request.requester)}</a>],
              [t('column.pickup'), request.pickupServicePoint?.name ?? (request.deliveryAddressTypeId && t('requests.delivery'))],
              [t('loan.item'), request.itemId && <a key="item" href={to('items', request.itemId)}>{request.item?.barcode ?? request.itemId}</a>],
              [t('requests.itemStatus'), request.item?.status],
              [t('column.location'), request.item?.location?.name],
              [t('requests.comments'), request.patronComments],
            ]}
          />
        </section>
      </div>
      {isOpen && queue.id && (
        <section className="card" aria-labelledby="queue-title">
          <h2 id="queue-title">{t('requests.queue')}</h2>
          <RequestQueue of={queue.of} id={queue.id} current={request.id} />
        </section>
      )}
      {changing === 'cancel' && <CancelRequest request={request} close={close} />}
      {changing === 'item' && <MoveRequest request={request} close={close} />}
      {changing === 'pickup' && <ChangePickup request={request} close={close} />}
    </div>
  );
}

function CancelRequest({ request, close }: { request: HoldRequest; close: () => void }) {
  const { self } = useSession();
  const reasons = useCancellationReasons();
  const [reason, setReason] = useState('');
  const [information, setInformation] = useState('');
  const [error, setError] = useState<unknown>();
  const chosen = reason || ([...reasons.keys()][0] ?? '');
  return (
    <Prompt
      kind="warning"
      title={t('requests.cancel')}
      onCancel={close}
      actions={
        <>
          <ActionButton autoFocus onPress={close}>
            {t('requests.keep')}
          </ActionButton>
          <ActionButton
            variant="danger"
            why={chosen === '' ? t('requests.needsReason') : undefined}
            onPress={() => void cancelRequest(request, chosen, information.trim(), self.user.id ?? '').then(close, setError)}
          >
            {t('requests.cancel')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <p>
        <strong>{request.instance?.title}</strong>, {nameOfBorrower(request.requester)}
      </p>
      <Choice label={t('requests.reason')} value={chosen} onChange={setReason} options={[...reasons].map(([value, label]) => ({ value, label }))} />
      <Field label={t('requests.information')} value={information} onChange={setInformation} rows={2} />
    </Prompt>
  );
}
