/* A request queue, reordered by dragging or with keys; each move is saved immediately. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, GridList, GridListItem, useDragAndDrop } from 'react-aria-components';
import { to } from '../../layout/route.ts';
import { ActionButton, Loading, Message } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { nameOfBorrower } from '../people.ts';
import { findQueue, moved, type QueueOf, reorderQueue } from './request-api.ts';

export function RequestQueue({ of, id, current }: { of: QueueOf; id: string; current?: string }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const key = ['queue', of, id];
  const query = useQuery({ queryKey: key, queryFn: () => findQueue(of, id) });
  const [error, setError] = useState<unknown>();
  const [said, setSaid] = useState('');
  const requests = query.data ?? [];
  const ids = requests.map((request) => request.id);
  const permission = `circulation.requests.queue.${of}-reorder.collection.post`;
  const mayReorder = may(permission) && requests.length > 1;

  async function reorder(wanted: string[], one: string) {
    if (wanted.join() === ids.join()) return;
    setError(undefined);
    queries.setQueryData(key, wanted.map((wantedId) => requests.find((request) => request.id === wantedId)));
    try {
      await reorderQueue(of, id, wanted);
      setSaid(t('queue.moved', { position: wanted.indexOf(one) + 1 }));
    } catch (failure) {
      setError(failure);
    }
    await queries.invalidateQueries({ queryKey: key });
  }

  const { dragAndDropHooks } = useDragAndDrop({
    isDisabled: !mayReorder,
    getItems: (keys) => [...keys].map((one) => ({ 'text/plain': String(one) })),
    onReorder: ({ keys, target }) => {
      const one = String([...keys][0]);
      const without = ids.filter((other) => other !== one);
      const at = without.indexOf(String(target.key)) + (target.dropPosition === 'after' ? 1 : 0);
      void reorder(moved(ids, one, at), one);
    },
  });

  if (query.error) return <FailureMessage error={query.error} />;
  if (query.isLoading) return <Loading />;
  return (
    <>
      {error !== undefined && <FailureMessage error={error} />}
      <div role="status">{said !== '' && <Message kind="success" quiet>{said}</Message>}</div>
      {requests.length === 0 && <p className="empty">{t('queue.empty')}</p>}
      <GridList aria-label={t('requests.queue')} className="queue" items={requests} dragAndDropHooks={dragAndDropHooks}>
        {(request) => {
          const place = ids.indexOf(request.id);
          const name = nameOfBorrower(request.requester);
          return (
            <GridListItem id={request.id} textValue={name} className={`queued ${request.id === current ? 'current' : ''}`}>
              {mayReorder && (
                <Button slot="drag" className="row-menu" aria-label={t('queue.drag', { name })}>
                  <span aria-hidden="true">⠿</span>
                </Button>
              )}
              <strong className="number">{place + 1}</strong>
              <span className="queued-name">
                <a href={to('requests', request.id)}>{name}</a>
                <span className="hint">
                  {request.requestType} · {request.status} · {formatDate(request.requestDate)} · {request.pickupServicePoint?.name}
                </span>
              </span>
              {mayReorder && (
                <span className="toolbar-actions">
                  <ActionButton aria-label={t('queue.up', { name })} isDisabled={place === 0} onPress={() => void reorder(moved(ids, request.id, place - 1), request.id)}>
                    ↑
                  </ActionButton>
                  <ActionButton aria-label={t('queue.down', { name })} isDisabled={place === ids.length - 1} onPress={() => void reorder(moved(ids, request.id, place + 1), request.id)}>
                    ↓
                  </ActionButton>
                </span>
              )}
            </GridListItem>
          );
        }}
      </GridList>
    </>
  );
}
