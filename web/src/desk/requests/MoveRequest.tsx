import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { HoldRequest } from '../../api/bodies.ts';
import { go } from '../../layout/route.ts';
import { ActionButton, Choice, Loading } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { t } from '../../text/messages.ts';
import { callNumber } from '../items.ts';
import { itemsOfTitle, moveRequest, otherServicePoints, changePickup, REQUEST_TYPES, type RequestType } from './request-api.ts';

/** Moves a request to another item of the instance; its type may have to change with the item. */
export function MoveRequest({ request, close }: { request: HoldRequest; close: () => void }) {
  const items = useQuery({ queryKey: ['items-of-title', request.instanceId], queryFn: () => itemsOfTitle(request.instanceId ?? '') });
  const [type, setType] = useState<RequestType>(request.requestType);
  const [error, setError] = useState<unknown>();
  const others = (items.data ?? []).filter((item) => item.id !== request.itemId);

  async function move(itemId: string) {
    setError(undefined);
    try {
      const moved = await moveRequest(request.id, itemId, type);
      close();
      go('requests', moved.id);
    } catch (failure) {
      setError(failure);
    }
  }

  return (
    <Prompt wide title={t('requests.moveTitle')} onCancel={close} actions={<ActionButton onPress={close}>{t('cancel')}</ActionButton>}>
      {error !== undefined && <FailureMessage error={error} />}
      {items.error && <FailureMessage error={items.error} />}
      <p>{t('requests.moveText', { title: request.instance?.title ?? '' })}</p>
      <Choice
        label={t('column.type')}
        value={type}
        onChange={(value) => setType(REQUEST_TYPES.find((one) => one === value) ?? type)}
        options={REQUEST_TYPES.map((value) => ({ value, label: value }))}
      />
      {items.isLoading && <Loading />}
      {items.data && others.length === 0 && <p className="empty">{t('requests.noOtherItem')}</p>}
      {others.length > 0 && (
        <div className="table-frame" role="group" aria-label={t('requests.moveTitle')} tabIndex={0}>
          <table className="rows">
            <thead>
              <tr>
                <th>{t('column.barcode')}</th>
                <th>{t('column.status')}</th>
                <th>{t('column.callNumber')}</th>
                <th>{t('column.location')}</th>
              </tr>
            </thead>
            <tbody>
              {others.map((item, index) => (
                <tr key={item.id}>
                  <td>
                    <ActionButton variant="quiet" autoFocus={index === 0} onPress={() => void move(item.id)}>
                      {item.barcode ?? item.id}
                    </ActionButton>
                  </td>
                  <td>{item.status.name}</td>
                  <td>{callNumber(item.effectiveCallNumberComponents)}</td>
                  <td>{item.effectiveLocation?.name}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Prompt>
  );
}

/** Selects another pickup service point for an open request, among those that its policy allows. */
export function ChangePickup({ request, close }: { request: HoldRequest; close: () => void }) {
  const points = useQuery({ queryKey: ['other-service-points', request.id], queryFn: () => otherServicePoints(request) });
  const [chosen, setChosen] = useState(request.pickupServicePointId ?? '');
  const [error, setError] = useState<unknown>();
  const known = points.data?.some((one) => one.id === chosen) ? chosen : (points.data?.[0]?.id ?? '');
  const why = known === '' ? t('requests.noneAllowed') : known === request.pickupServicePointId ? t('rules.unchanged') : undefined;
  return (
    <Prompt
      title={t('requests.changePickup')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={why} onPress={() => void changePickup(request, known).then(close, setError)}>
            {t('save')}
          </ActionButton>
        </>
      }
    >
      {(error ?? points.error) !== undefined && (error ?? points.error) !== null && <FailureMessage error={error ?? points.error} />}
      {points.isLoading && <Loading />}
      {points.data && <Choice label={t('column.pickup')} value={known} onChange={setChosen} options={points.data.map((one) => ({ value: one.id, label: one.name }))} autoFocus />}
    </Prompt>
  );
}
