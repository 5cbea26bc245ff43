/* The proxies and sponsors of a user. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post, put, remove, withQuery } from '../../api/client.ts';
import type { ProxiesFor, User } from '../../api/schema.ts';
import { to } from '../../layout/route.ts';
import { Confirm } from '../../parts/Confirm.tsx';
import { ActionButton, Choice, Field, Tick } from '../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { RowMenu } from '../../parts/RowMenu.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate, fromWallTime, toWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';
import { nameOfUser } from '../people.ts';
import { FindUser } from './FindUser.tsx';

/** Which side of the relationship the other user is. */
type Side = 'sponsor' | 'proxy';

interface Row {
  relation: ProxiesFor;
  side: Side;
  other: User | undefined;
}

async function relationsOf(userId: string): Promise<Row[]> {
  const { proxiesFor } = await get<{ proxiesFor: ProxiesFor[] }>(withQuery('/proxiesfor', { query: `userId==${userId} or proxyUserId==${userId}`, limit: 1000 }));
  const sideOf = (relation: ProxiesFor): Side => (relation.userId === userId ? 'proxy' : 'sponsor');
  const otherOf = (relation: ProxiesFor) => (sideOf(relation) === 'proxy' ? relation.proxyUserId : relation.userId) ?? '';
  const users = await api.usersById([...new Set(proxiesFor.map(otherOf))]);
  return proxiesFor.map((relation) => ({ relation, side: sideOf(relation), other: users.find((user) => user.id === otherOf(relation)) }));
}

export function UserProxies({ userId }: { userId: string }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const query = useQuery({ queryKey: ['proxies', userId], queryFn: () => relationsOf(userId) });
  const [finding, setFinding] = useState<Side>();
  const [editing, setEditing] = useState<Row>();
  const [deleting, setDeleting] = useState<Row>();
  const refused = (permission: string) => (may(permission) ? undefined : t('why.noPermission'));
  function finished() {
    setEditing(undefined);
    setDeleting(undefined);
    void queries.invalidateQueries({ queryKey: ['proxies', userId] });
  }

  function chosen(side: Side, other: User) {
    setFinding(undefined);
    const [sponsor, proxy] = side === 'proxy' ? [userId, other.id] : [other.id, userId];
    const relation: ProxiesFor = { requestForSponsor: 'Yes', notificationsTo: 'Sponsor', accrueTo: 'Sponsor', status: 'Active', ...(sponsor ? { userId: sponsor } : {}), ...(proxy ? { proxyUserId: proxy } : {}) };
    setEditing({ relation, side, other });
  }

  return (
    <>
      {(['sponsor', 'proxy'] as const).map((side) => (
        <section key={side} aria-labelledby={`proxies-${side}`} className="part">
          <div className="filters">
            <h2 id={`proxies-${side}`} className="grow">
              {t(`proxies.${side}s`)}
            </h2>
            <ActionButton why={refused('proxiesfor.item.post')} onPress={() => setFinding(side)}>
              {t(`proxies.add.${side}`)}
            </ActionButton>
          </div>
          <Listing
            label={t(`proxies.${side}s`)}
            rows={query.data?.filter((row) => row.side === side)}
            isLoading={query.isLoading}
            error={query.error}
            empty={t('proxies.none')}
            rowKey={(row) => row.relation.id ?? ''}
            columns={[
              { title: t('column.name'), cell: ({ other }) => other && <a href={to('users', other.id ?? '', 'proxies')}>{nameOfUser(other)}</a> },
              { title: t('column.status'), cell: ({ relation }) => t(relation.status === 'Active' ? 'users.active' : 'users.inactive') },
              { title: t('patron.expires'), cell: ({ relation }) => formatDate(relation.expirationDate) },
              { title: t('proxies.mayRequest'), cell: ({ relation }) => t(relation.requestForSponsor === 'Yes' ? 'yes' : 'no') },
              { title: t('proxies.notified'), cell: ({ relation }) => t(relation.notificationsTo === 'Proxy' ? 'proxies.proxy' : 'proxies.sponsor') },
              {
                title: t('column.actions'),
                className: 'actions',
                cell: (row) => (
                  <RowMenu
                    label={row.other ? nameOfUser(row.other) : ''}
                    actions={[
                      { id: 'edit', label: t('edit'), why: refused('proxiesfor.item.put'), run: () => setEditing(row) },
                      { id: 'delete', label: t('delete'), why: refused('proxiesfor.item.delete'), run: () => setDeleting(row) },
                    ]}
                  />
                ),
              },
            ]}
          />
        </section>
      ))}
      {finding && <FindUser close={() => setFinding(undefined)} choose={(user) => chosen(finding, user)} />}
      {editing && <ProxyDialog row={editing} userId={userId} close={() => setEditing(undefined)} saved={finished} />}
      {deleting && (
        <Confirm
          title={t('proxies.delete')}
          text={deleting.other ? nameOfUser(deleting.other) : ''}
          submit={t('delete')}
          run={() => remove(`/proxiesfor/${deleting.relation.id}`)}
          close={() => setDeleting(undefined)}
          done={finished}
        />
      )}
    </>
  );
}

function ProxyDialog({ row, userId, close, saved }: { row: Row; userId: string; close: () => void; saved: () => void }) {
  const [relation, setRelation] = useState(row.relation);
  const [error, setError] = useState<unknown>();
  const change = (part: Partial<ProxiesFor>) => setRelation((all) => ({ ...all, ...part }));
  const own = row.other?.id === userId ? t('proxies.notOneself') : undefined;

  function save() {
    const { expirationDate, ...rest } = relation;
    const body = expirationDate ? relation : rest;
    const sent = relation.id === undefined ? post('/proxiesfor', body) : put(`/proxiesfor/${relation.id}`, body);
    sent.then(saved, setError);
  }

  return (
    <Prompt
      title={t(row.side === 'proxy' ? 'proxies.asProxy' : 'proxies.asSponsor', { name: row.other ? nameOfUser(row.other) : '' })}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={own} autoFocus onPress={save}>
            {t('save')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <Tick isSelected={relation.status === 'Active'} onChange={(on) => change({ status: on ? 'Active' : 'Inactive' })}>
        {t('proxies.active')}
      </Tick>
      <Field
        type="date"
        label={t('patron.expires')}
        value={relation.expirationDate ? toWallTime(new Date(relation.expirationDate)).slice(0, 10) : ''}
        onChange={(day) => change({ expirationDate: day && fromWallTime(`${day}T23:59:59`).toISOString() })}
      />
      <Tick isSelected={relation.requestForSponsor === 'Yes'} onChange={(on) => change({ requestForSponsor: on ? 'Yes' : 'No' })}>
        {t('proxies.requestForSponsor')}
      </Tick>
      <Choice
        label={t('proxies.notified')}
        value={relation.notificationsTo ?? 'Sponsor'}
        onChange={(notificationsTo) => change({ notificationsTo })}
        options={[
          { value: 'Sponsor', label: t('proxies.sponsor') },
          { value: 'Proxy', label: t('proxies.proxy') },
        ]}
      />
    </Prompt>
  );
}
