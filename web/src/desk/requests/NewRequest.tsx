import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { to } from '../../layout/route.ts';
import { ActionButton, Choice, Field, Loading, Message } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSettled } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { findItems, findUser } from '../circulation-api.ts';
import { nameOfUser } from '../people.ts';
import { allowedServicePoints, createRequest, REQUEST_TYPES, type RequestType } from './request-api.ts';

/** A request for an item; only the types and service points are offered that the patron's policy allows. */
export function NewRequest({ close, itemBarcode = '' }: { close: () => void; itemBarcode?: string }) {
  const { settings, servicePoint } = useSession();
  const [card, setCard] = useState('');
  const [barcode, setBarcode] = useState(itemBarcode);
  const [type, setType] = useState<RequestType>();
  const [pickup, setPickup] = useState('');
  const [comments, setComments] = useState('');
  const [error, setError] = useState<unknown>();
  const wantedCard = useSettled(card.trim());
  const wantedBarcode = useSettled(barcode.trim());
  const user = useQuery({
    queryKey: ['requester', wantedCard],
    enabled: wantedCard !== '',
    queryFn: () => findUser(wantedCard, settings.patronIdentifiers).then((found) => found ?? null),
  });
  const item = useQuery({
    queryKey: ['requested-item', wantedBarcode],
    enabled: wantedBarcode !== '',
    queryFn: () => findItems(wantedBarcode, false).then((found) => found.items[0] ?? null),
  });
  const allowed = useQuery({
    queryKey: ['allowed-service-points', user.data?.id, item.data?.id],
    enabled: Boolean(user.data?.id && item.data),
    queryFn: () => allowedServicePoints(user.data?.id ?? '', item.data?.id ?? ''),
  });
  const types = REQUEST_TYPES.filter((one) => (allowed.data?.[one]?.length ?? 0) > 0);
  const chosenType = type !== undefined && types.includes(type) ? type : types[0];
  const points = (chosenType && allowed.data?.[chosenType]) ?? [];
  const chosenPoint = points.find((one) => one.id === pickup) ?? points.find((one) => one.id === servicePoint?.id) ?? points[0];
  const missing = !user.data ? t('requests.needsPatron') : !item.data ? t('requests.needsItem') : !chosenType || !chosenPoint ? t('requests.noneAllowed') : undefined;

  async function submit() {
    if (!user.data?.id || !item.data || !chosenType || !chosenPoint) return;
    try {
      const made = await createRequest(item.data, user.data.id, chosenType, chosenPoint.id, comments.trim());
      close();
      location.hash = to('requests', made.id);
    } catch (failure) {
      setError(failure);
    }
  }

  return (
    <Prompt
      title={t('requests.new')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={missing} onPress={() => void submit()}>
            {t('requests.submit')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <Field
        label={t('requests.patron')}
        value={card}
        onChange={setCard}
        autoFocus
        isRequired
        hint={user.data ? nameOfUser(user.data) : user.data === null ? t('checkOut.patronUnknown', { card: wantedCard }) : undefined}
      />
      <Field
        label={t('requests.item')}
        value={barcode}
        onChange={setBarcode}
        isRequired
        hint={item.data ? `${item.data.title ?? ''} (${item.data.status.name})` : item.data === null ? t('requests.itemUnknown', { barcode: wantedBarcode }) : undefined}
      />
      {allowed.isFetching && <Loading />}
      {allowed.error && <FailureMessage error={allowed.error} />}
      {allowed.data && types.length === 0 && <Message kind="warning">{t('requests.noneAllowed')}</Message>}
      {chosenType && chosenPoint && (
        <>
          <Choice
            label={t('column.type')}
            value={chosenType}
            onChange={(value) => setType(REQUEST_TYPES.find((one) => one === value))}
            options={types.map((value) => ({ value, label: value }))}
          />
          <Choice label={t('column.pickup')} value={chosenPoint.id} onChange={setPickup} options={points.map((point) => ({ value: point.id, label: point.name }))} />
        </>
      )}
      <Field label={t('requests.comments')} value={comments} onChange={setComments} rows={2} />
    </Prompt>
  );
}
