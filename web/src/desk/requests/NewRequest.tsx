import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Instance } from '../../api/bodies.ts';
import type { AllowedServicePoints, User } from '../../api/schema.ts';
import { go } from '../../layout/route.ts';
import { ActionButton, Choice, Field, Loading, Message } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSettled } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { findItems, findUser } from '../circulation-api.ts';
import { nameOfUser } from '../people.ts';
import { useAddressTypes } from '../references.ts';
import { allowedServicePoints, createRequest, findTitles, REQUEST_TYPES, type Requested, type RequestType } from './request-api.ts';

const TITLES_SHOWN = 20;

/** A request for an item or a title; offers only the types and service points that the patron's policy allows. */
export function NewRequest({ close, itemBarcode = '' }: { close: () => void; itemBarcode?: string }) {
  const { settings, servicePoint } = useSession();
  const [card, setCard] = useState('');
  const [level, setLevel] = useState<Requested['level']>(settings.titleLevelRequests && settings.titleLevelByDefault && itemBarcode === '' ? 'Title' : 'Item');
  const [barcode, setBarcode] = useState(itemBarcode);
  const [words, setWords] = useState('');
  const [instanceId, setInstanceId] = useState('');
  const [type, setType] = useState<RequestType>();
  const [place, setPlace] = useState('');
  const [expires, setExpires] = useState('');
  const [comments, setComments] = useState('');
  const [error, setError] = useState<unknown>();
  const wantedCard = useSettled(card.trim());
  const wantedBarcode = useSettled(barcode.trim());
  const wantedWords = useSettled(words.trim());
  const user = useQuery({
    queryKey: ['requester', wantedCard],
    enabled: wantedCard !== '',
    queryFn: () => findUser(wantedCard, settings.patronIdentifiers).then((found) => found ?? null),
  });
  const item = useQuery({
    queryKey: ['requested-item', wantedBarcode],
    enabled: wantedBarcode !== '' && level === 'Item',
    queryFn: () => findItems(wantedBarcode, false).then((found) => found.items[0] ?? null),
  });
  const titles = useQuery({ queryKey: ['requested-title', wantedWords], enabled: wantedWords.length > 2 && level === 'Title', queryFn: () => findTitles(wantedWords, TITLES_SHOWN) });
  const instance = titles.data?.find((one) => one.id === instanceId) ?? titles.data?.[0];
  const requested: Requested | undefined = level === 'Item' ? (item.data ? { level, item: item.data } : undefined) : instance && { level, instance };
  const requestedId = requested?.level === 'Item' ? requested.item.id : requested?.instance.id;
  const requesterId = user.data?.id ?? '';
  const allowed = useQuery({
    queryKey: ['allowed-service-points', requesterId, requestedId],
    enabled: requesterId !== '' && requested !== undefined,
    queryFn: (): Promise<AllowedServicePoints> => (requested ? allowedServicePoints(requesterId, requested) : Promise.resolve({})),
  });
  const types = REQUEST_TYPES.filter((one) => (allowed.data?.[one]?.length ?? 0) > 0);
  const chosenType = type !== undefined && types.includes(type) ? type : types[0];
  const points = (chosenType && allowed.data?.[chosenType]) ?? [];
  const addresses = useAddresses(user.data ?? undefined);
  const places = [...points.map((point) => ({ value: point.id, label: point.name })), ...addresses];
  const chosen = places.find((one) => one.value === place) ?? places.find((one) => one.value === servicePoint?.id) ?? places[0];
  const missing = !user.data ? t('requests.needsPatron') : !requested ? t(level === 'Item' ? 'requests.needsItem' : 'requests.needsTitle') : !chosenType || !chosen ? t('requests.noneAllowed') : undefined;

  async function submit() {
    if (!requested || !chosenType || !chosen) return;
    const delivered = addresses.some((one) => one.value === chosen.value);
    try {
      const made = await createRequest({
        requested,
        requesterId,
        type: chosenType,
        fulfillment: delivered ? { deliveryAddressTypeId: chosen.value } : { pickupServicePointId: chosen.value },
        expires,
        comments: comments.trim(),
      });
      close();
      go('requests', made.id);
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
      {settings.titleLevelRequests && (
        <Choice
          label={t('requests.level')}
          value={level}
          onChange={(value) => setLevel(value === 'Title' ? 'Title' : 'Item')}
          options={[
            { value: 'Item', label: t('requests.itemLevel') },
            { value: 'Title', label: t('requests.titleLevel') },
          ]}
        />
      )}
      {level === 'Item' ? (
        <Field
          label={t('requests.item')}
          value={barcode}
          onChange={setBarcode}
          isRequired
          hint={item.data ? `${item.data.title ?? ''} (${item.data.status.name})` : item.data === null ? t('requests.itemUnknown', { barcode: wantedBarcode }) : undefined}
        />
      ) : (
        <>
          <Field type="search" label={t('requests.titleWords')} value={words} onChange={setWords} isRequired hint={titles.data?.length === 0 ? t('search.nothing') : undefined} />
          {titles.data && instance && (
            <Choice label={t('column.title')} value={instance.id} onChange={setInstanceId} options={titles.data.map((one) => ({ value: one.id, label: inWords(one) }))} />
          )}
        </>
      )}
      {allowed.isFetching && <Loading />}
      {allowed.error && <FailureMessage error={allowed.error} />}
      {allowed.data && types.length === 0 && <Message kind="warning">{t('requests.noneAllowed')}</Message>}
      {chosenType && chosen && (
        <>
          <Choice
            label={t('column.type')}
            value={chosenType}
            onChange={(value) => setType(REQUEST_TYPES.find((one) => one === value))}
            options={types.map((value) => ({ value, label: value }))}
          />
          <Choice label={t('column.pickup')} value={chosen.value} onChange={setPlace} options={places} />
          <Field type="date" label={t('requests.expires')} value={expires} onChange={setExpires} />
        </>
      )}
      <Field label={t('requests.comments')} value={comments} onChange={setComments} rows={2} />
    </Prompt>
  );
}

const inWords = (instance: Instance) => [instance.title, instance.contributors?.[0]?.name, instance.hrid].filter(Boolean).join(' · ');

/** Addresses to which items may be delivered. */
function useAddresses(user: User | undefined) {
  const names = useAddressTypes();
  return (user?.personal?.addresses ?? []).map((address) => ({
    value: address.addressTypeId,
    label: t('requests.deliverTo', { address: [names.get(address.addressTypeId), address.addressLine1, address.city].filter(Boolean).join(', ') }),
  }));
}
