/* Blocks of an account: manual ones are written, changed and deleted; automated ones are explained. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post, put, remove } from '../../api/client.ts';
import type { AutomatedBlock } from '../../api/bodies.ts';
import type { Manualblock } from '../../api/schema.ts';
import { ActionButton, Choice, Field, Tick } from '../../parts/controls.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Confirm } from '../../parts/Confirm.tsx';
import { EditPrompt } from '../../parts/EditPrompt.tsx';
import { RowMenu } from '../../parts/RowMenu.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate, fromWallTime, toWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';

const ACTIONS = ['borrowing', 'renewals', 'requests'] as const;
type Actions = Partial<Record<(typeof ACTIONS)[number], boolean>>;

type Row = { manual: Manualblock } | { automated: AutomatedBlock };

export function UserBlocks({ userId }: { userId: string }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [editing, setEditing] = useState<Manualblock>();
  const [deleting, setDeleting] = useState<Manualblock>();
  const query = useQuery({
    queryKey: ['blocks-of', userId],
    queryFn: async (): Promise<Row[]> => {
      const [manual, automated] = await Promise.all([api.manualBlocks(userId), api.automatedBlocks(userId)]);
      return [...manual.map((one) => ({ manual: one })), ...automated.map((one) => ({ automated: one }))];
    },
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: ['blocks-of', userId] });
  const refused = (permission: string) => (may(permission) ? undefined : t('why.noPermission'));
  return (
    <>
      <div>
        <ActionButton why={refused('manualblocks.item.post')} onPress={() => setEditing({ userId, desc: '', borrowing: true, renewals: true, requests: true })}>
          {t('blocks.add')}
        </ActionButton>
      </div>
      <Listing
        label={t('users.tab.blocks')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('users.noBlocks')}
        rowKey={(row) => ('manual' in row ? (row.manual.id ?? '') : row.automated.patronBlockConditionId)}
        columns={[
          { title: t('blocks.reason'), cell: (row) => ('manual' in row ? row.manual.desc : row.automated.message) },
          { title: t('blocks.kind'), cell: (row) => t('manual' in row ? 'blocks.manual' : 'blocks.automated') },
          { title: t('blocks.blocked'), cell: (row) => namesOf(actionsOf(row)) },
          { title: t('blocks.until'), cell: (row) => ('manual' in row ? formatDate(row.manual.expirationDate) : t('blocks.untilResolved')) },
          { title: t('blocks.information'), cell: (row) => ('manual' in row ? row.manual.staffInformation : '') },
          {
            title: t('column.actions'),
            className: 'actions',
            cell: (row) =>
              'manual' in row && (
                <RowMenu
                  label={row.manual.desc}
                  actions={[
                    { id: 'edit', label: t('edit'), why: refused('manualblocks.item.put'), run: () => setEditing(row.manual) },
                    { id: 'delete', label: t('delete'), why: refused('manualblocks.item.delete'), run: () => setDeleting(row.manual) },
                  ]}
                />
              ),
          },
        ]}
      />
      {editing && (
        <BlockDialog
          block={editing}
          close={() => setEditing(undefined)}
          saved={() => {
            setEditing(undefined);
            refresh();
          }}
        />
      )}
      {deleting && (
        <Confirm
          title={t('blocks.delete')}
          text={deleting.desc}
          submit={t('delete')}
          run={() => remove(`/manualblocks/${deleting.id}`)}
          close={() => setDeleting(undefined)}
          done={() => {
            setDeleting(undefined);
            refresh();
          }}
        />
      )}
    </>
  );
}

function actionsOf(row: Row): Actions {
  if ('manual' in row) return row.manual;
  return { borrowing: row.automated.blockBorrowing, renewals: row.automated.blockRenewals, requests: row.automated.blockRequests };
}

const namesOf = (actions: Actions) => ACTIONS.filter((name) => actions[name]).map((name) => t(`blocks.${name}`)).join(', ');

interface Template {
  id: string;
  name: string;
  code?: string;
  desc?: string;
  blockTemplate?: Actions & { desc?: string; patronMessage?: string };
}

function BlockDialog({ block, close, saved }: { block: Manualblock; close: () => void; saved: () => void }) {
  const [edited, setEdited] = useState(block);
  const [template, setTemplate] = useState('');
  const templates = useQuery({
    queryKey: ['manual-block-templates'],
    staleTime: 600_000,
    queryFn: () => get<{ manualBlockTemplates: Template[] }>('/manual-block-templates?limit=1000'),
  });
  const change = (part: Partial<Manualblock>) => setEdited((all) => ({ ...all, ...part }));
  const known = [...(templates.data?.manualBlockTemplates ?? [])].sort((one, other) => one.name.localeCompare(other.name));
  const day = edited.expirationDate ? toWallTime(new Date(edited.expirationDate)).slice(0, 10) : '';
  const missing = edited.desc.trim() === '' ? t('blocks.needsReason') : !ACTIONS.some((name) => edited[name]) ? t('blocks.needsAction') : undefined;

  function save(): Promise<unknown> {
    const { expirationDate, ...rest } = edited;
    const body = { ...rest, type: 'Manual', desc: edited.desc.trim(), ...(expirationDate ? { expirationDate } : {}) };
    return block.id === undefined ? post('/manualblocks', body) : put(`/manualblocks/${block.id}`, body);
  }

  return (
    <EditPrompt title={t(block.id === undefined ? 'blocks.add' : 'blocks.edit')} why={missing} save={save} saved={saved} close={close}>
      {known.length > 0 && block.id === undefined && (
        <Choice
          label={t('blocks.template')}
          value={template}
          onChange={(id) => {
            setTemplate(id);
            const chosen = known.find((one) => one.id === id);
            if (!chosen) return;
            const { desc = chosen.name, patronMessage = '', borrowing = false, renewals = false, requests = false } = chosen.blockTemplate ?? {};
            change({ desc, patronMessage, borrowing, renewals, requests, ...(chosen.code ? { code: chosen.code } : {}) });
          }}
          options={[{ value: '', label: '–' }, ...known.map((one) => ({ value: one.id, label: one.name }))]}
        />
      )}
      <Field label={t('blocks.reason')} value={edited.desc} onChange={(desc) => change({ desc })} isRequired autoFocus rows={2} />
      <Field label={t('blocks.information')} value={edited.staffInformation ?? ''} onChange={(staffInformation) => change({ staffInformation })} rows={2} />
      <Field label={t('blocks.patronMessage')} value={edited.patronMessage ?? ''} onChange={(patronMessage) => change({ patronMessage })} rows={2} />
      <Field
        type="date"
        label={t('blocks.until')}
        value={day}
        onChange={(wanted) => change({ expirationDate: wanted && fromWallTime(`${wanted}T23:59:59`).toISOString() })}
        hint={t('blocks.untilHint')}
      />
      {ACTIONS.map((name) => (
        <Tick key={name} isSelected={edited[name] === true} onChange={(on) => change({ [name]: on })}>
          {t(`blocks.${name}`)}
        </Tick>
      ))}
    </EditPrompt>
  );
}
