/* Requests, blocks and notes of an account. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { post, remove } from '../../api/client.ts';
import { to } from '../../layout/route.ts';
import { ActionButton, Field, Tick } from '../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate, formatDateTime } from '../../text/dates.ts';
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
        { title: t('column.requested'), cell: (request) => formatDate(request.requestDate) },
        { title: t('column.shelfUntil'), cell: (request) => formatDate(request.holdShelfExpirationDate) },
      ]}
    />
  );
}

export function UserBlocks({ userId }: { userId: string }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [adding, setAdding] = useState(false);
  const query = useQuery({
    queryKey: ['blocks-of', userId],
    queryFn: async () => {
      const [manual, automated] = await Promise.all([api.manualBlocks(userId), api.automatedBlocks(userId)]);
      return [
        ...manual.map((block) => ({
          id: block.id ?? '',
          manual: true,
          text: block.desc ?? '',
          actions: actionsOf(block.borrowing, block.renewals, block.requests),
          until: block.expirationDate,
        })),
        ...automated.map((block) => ({
          id: block.patronBlockConditionId,
          manual: false,
          text: block.message,
          actions: actionsOf(block.blockBorrowing, block.blockRenewals, block.blockRequests),
          until: undefined,
        })),
      ];
    },
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: ['blocks-of', userId] });
  return (
    <>
      {may('manualblocks.item.post') && (
        <div>
          <ActionButton onPress={() => setAdding(true)}>{t('blocks.add')}</ActionButton>
        </div>
      )}
      <Listing
        label={t('users.tab.blocks')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('users.noBlocks')}
        rowKey={(block) => block.id}
        columns={[
          { title: t('blocks.reason'), cell: (block) => block.text },
          { title: t('blocks.kind'), cell: (block) => t(block.manual ? 'blocks.manual' : 'blocks.automated') },
          { title: t('blocks.blocked'), cell: (block) => block.actions },
          { title: t('blocks.until'), cell: (block) => formatDate(block.until) },
          {
            title: t('column.actions'),
            cell: (block) =>
              block.manual &&
              may('manualblocks.item.delete') && (
                <ActionButton variant="quiet" onPress={() => void remove(`/manualblocks/${block.id}`).finally(refresh)}>
                  {t('delete')}
                </ActionButton>
              ),
          },
        ]}
      />
      {adding && (
        <AddBlock
          userId={userId}
          close={() => {
            setAdding(false);
            refresh();
          }}
        />
      )}
    </>
  );
}

function actionsOf(borrowing: boolean | undefined, renewals: boolean | undefined, requests: boolean | undefined): string {
  return [borrowing && t('blocks.borrowing'), renewals && t('blocks.renewals'), requests && t('blocks.requests')].filter(Boolean).join(', ');
}

function AddBlock({ userId, close }: { userId: string; close: () => void }) {
  const [desc, setDesc] = useState('');
  const [patronMessage, setPatronMessage] = useState('');
  const [blocked, setBlocked] = useState({ borrowing: true, renewals: true, requests: true });
  const [error, setError] = useState<unknown>();
  const missing = desc.trim() === '' ? t('blocks.needsReason') : !Object.values(blocked).some(Boolean) ? t('blocks.needsAction') : undefined;
  const save = () => post('/manualblocks', { type: 'Manual', desc: desc.trim(), patronMessage: patronMessage.trim(), userId, ...blocked }).then(close, setError);
  return (
    <Prompt
      title={t('blocks.add')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={missing} onPress={() => void save()}>
            {t('save')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <Field label={t('blocks.reason')} value={desc} onChange={setDesc} isRequired autoFocus rows={2} />
      <Field label={t('blocks.patronMessage')} value={patronMessage} onChange={setPatronMessage} rows={2} />
      {(['borrowing', 'renewals', 'requests'] as const).map((name) => (
        <Tick key={name} isSelected={blocked[name]} onChange={(on) => setBlocked((all) => ({ ...all, [name]: on }))}>
          {t(`blocks.${name}`)}
        </Tick>
      ))}
    </Prompt>
  );
}

export function UserNotes({ userId }: { userId: string }) {
  const query = useQuery({ queryKey: ['notes-of', userId], queryFn: () => api.notesOf(userId) });
  return (
    <Listing
      label={t('users.tab.notes')}
      rows={query.data}
      isLoading={query.isLoading}
      error={query.error}
      empty={t('users.noNotes')}
      rowKey={(note) => note.id ?? ''}
      columns={[
        { title: t('column.title'), cell: (note) => note.title },
        { title: t('column.note'), cell: (note) => new DOMParser().parseFromString(note.content ?? '', 'text/html').body.textContent },
        { title: t('column.popUp'), cell: (note) => (note.popUpOnCheckOut ? t('yes') : '') },
        { title: t('column.changed'), cell: (note) => formatDateTime(note.metadata?.['updatedDate'] as string | undefined) },
      ]}
    />
  );
}
