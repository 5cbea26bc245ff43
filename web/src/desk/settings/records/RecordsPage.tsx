/* The records of one kind: a list, and an editor for one of them. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post, put, remove } from '../../../api/client.ts';
import { ActionButton, Message } from '../../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../../parts/listing.tsx';
import { Prompt } from '../../../parts/Prompt.tsx';
import { useSession } from '../../../session/session.tsx';
import { t } from '../../../text/messages.ts';
import { Fields } from './Fields.tsx';
import { type Json, missingField, prepared } from './fields.ts';
import { NoticePreview } from './NoticePreview.tsx';
import { permissionFor, type RecordKind } from './kinds.ts';

/** The name of a record; older records may have only a description. */
const nameOf = (kind: RecordKind, record: Json) => String(record[kind.nameAt] || record['description'] || record['id'] || '');

export function useRecords(kind: RecordKind) {
  return useQuery({
    queryKey: ['records', kind.name],
    queryFn: async () => {
      const found = await get<Record<string, Json[]>>(`${kind.path}?limit=1000&query=cql.allRecords=1`);
      return (found[kind.list] ?? []).sort((one, other) => nameOf(kind, one).localeCompare(nameOf(kind, other)));
    },
  });
}

export function RecordsPage({ kind }: { kind: RecordKind }) {
  const { may } = useSession();
  const query = useRecords(kind);
  const [edited, setEdited] = useState<Json>();
  const [said, setSaid] = useState('');
  return (
    <section className="card" aria-labelledby="records-title">
      <header>
        <h2 id="records-title">{t(kind.title)}</h2>
        {!kind.fixed && (
          <ActionButton variant="primary" why={may(permissionFor(kind, 'add')) ? undefined : t('why.noPermission')} onPress={() => setEdited(kind.blank)}>
            {t('records.new')}
          </ActionButton>
        )}
      </header>
      <div role="status">{said !== '' && <Message kind="success" quiet>{said}</Message>}</div>
      <Listing
        label={t(kind.title)}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('records.none')}
        rowKey={(record) => String(record['id'])}
        columns={[
          {
            title: t('column.name'),
            cell: (record) => (
              <ActionButton variant="quiet" onPress={() => setEdited(record)}>
                {nameOf(kind, record)}
              </ActionButton>
            ),
          },
          ...(kind.about ? [{ title: t(kind.about === 'code' ? 'field.code' : 'field.description'), cell: (record: Json) => String(record[kind.about ?? ''] ?? '') }] : []),
        ]}
      />
      {edited && (
        <RecordEditor
          kind={kind}
          record={edited}
          close={(message = '') => {
            setEdited(undefined);
            setSaid(message);
          }}
        />
      )}
    </section>
  );
}

function RecordEditor({ kind, record, close }: { kind: RecordKind; record: Json; close: (message?: string) => void }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(record);
  const [error, setError] = useState<unknown>();
  const [deleting, setDeleting] = useState(false);
  const [busy, setBusy] = useState(false);
  const id = record['id'] as string | undefined;
  const missing = missingField(draft, kind.fields);
  const permission = permissionFor(kind, id === undefined ? 'add' : 'change');
  const why = !may(permission) ? t('why.noPermission') : missing ? t('records.missing', { field: t(missing) }) : draft === record ? t('rules.unchanged') : undefined;
  const name = nameOf(kind, draft);

  async function attempt(act: () => Promise<unknown>, message: string) {
    setBusy(true);
    setError(undefined);
    try {
      await act();
      await queries.invalidateQueries();
      close(message);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  }

  function save() {
    const sent = prepared(draft, kind.fields);
    const act = () => (id === undefined ? post(kind.path, { id: crypto.randomUUID(), ...sent }) : put(`${kind.path}/${id}`, sent));
    return attempt(act, t('records.saved', { name }));
  }

  return (
    <Prompt
      wide
      title={id === undefined ? t('records.newOf', { kind: t(kind.title) }) : name}
      onCancel={() => close()}
      actions={
        deleting ? (
          <>
            <ActionButton autoFocus onPress={() => setDeleting(false)}>
              {t('records.keep')}
            </ActionButton>
            <ActionButton variant="danger" isDisabled={busy} onPress={() => void attempt(() => remove(`${kind.path}/${id ?? ''}`), t('records.deleted', { name }))}>
              {t('records.deleteIt', { name })}
            </ActionButton>
          </>
        ) : (
          <>
            {id !== undefined && !kind.fixed && (
              <ActionButton variant="danger" why={may(permissionFor(kind, 'delete')) ? undefined : t('why.noPermission')} onPress={() => setDeleting(true)}>
                {t('delete')}
              </ActionButton>
            )}
            <ActionButton onPress={() => close()}>{t('cancel')}</ActionButton>
            <ActionButton variant="primary" why={why} isDisabled={busy} onPress={() => void save()}>
              {t('save')}
            </ActionButton>
          </>
        )
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      {deleting && <Message kind="warning">{t('records.reallyDelete', { name })}</Message>}
      <Fields fields={kind.fields} record={draft} onChange={setDraft} autoFocus />
      {kind.preview === 'notice' && <NoticePreview record={draft} />}
    </Prompt>
  );
}
