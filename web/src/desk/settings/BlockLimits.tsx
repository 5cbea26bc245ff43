/* Limits that block patrons: for each patron group and condition a number, or none. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post, put, remove } from '../../api/client.ts';
import type { PatronBlockCondition, PatronBlockLimit } from '../../api/schema.ts';
import { ActionButton, Choice, Field, Loading, Message } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { numberOf } from './records/fields.ts';
import { useReferenceNames } from './records/reference-names.ts';

const ROUTE = '/patron-block-limits';

export function BlockLimits() {
  const { may } = useSession();
  const queries = useQueryClient();
  const groups = useReferenceNames('groups');
  const [chosen, setChosen] = useState('');
  const [drafts, setDrafts] = useState<Record<string, string>>({});
  const [error, setError] = useState<unknown>();
  const [saved, setSaved] = useState(false);
  const conditions = useQuery({
    queryKey: ['records', 'block-conditions', 'names'],
    queryFn: async () => (await get<{ patronBlockConditions: PatronBlockCondition[] }>('/patron-block-conditions?limit=100')).patronBlockConditions,
  });
  const limits = useQuery({ queryKey: ['records', 'block-limits'], queryFn: async () => (await get<{ patronBlockLimits: PatronBlockLimit[] }>(`${ROUTE}?limit=1000`)).patronBlockLimits });
  const group = chosen || ([...groups.keys()][0] ?? '');
  const stored = (condition: string) => limits.data?.find((one) => one.patronGroupId === group && one.conditionId === condition);
  const shown = (condition: string) => drafts[condition] ?? String(stored(condition)?.value ?? '');
  const changed = (conditions.data ?? []).filter(({ id }) => id in drafts && drafts[id] !== String(stored(id)?.value ?? ''));
  const wrong = changed.some(({ id }) => shown(id).trim() !== '' && numberOf(shown(id)) === undefined);

  async function save() {
    setError(undefined);
    try {
      for (const { id: conditionId } of changed) {
        const limit = stored(conditionId);
        const value = numberOf(shown(conditionId));
        if (value === undefined) {
          if (limit) await remove(`${ROUTE}/${limit.id}`);
        } else if (limit) await put(`${ROUTE}/${limit.id}`, { ...limit, value });
        else await post(ROUTE, { id: crypto.randomUUID(), patronGroupId: group, conditionId, value });
      }
      setSaved(true);
      setDrafts({});
    } catch (failure) {
      setError(failure);
    }
    await queries.invalidateQueries({ queryKey: ['records', 'block-limits'] });
  }

  if (conditions.error ?? limits.error) return <FailureMessage error={conditions.error ?? limits.error} />;
  if (!conditions.data || !limits.data) return <Loading />;
  const why = !may('patron-blocks.patron-block-limits.item.post') ? t('why.noPermission') : wrong ? t('limits.noNumber') : changed.length === 0 ? t('rules.unchanged') : undefined;
  return (
    <section className="card" aria-labelledby="limits-title">
      <header>
        <h2 id="limits-title">{t('settings.block-limits')}</h2>
        <ActionButton variant="primary" why={why} onPress={() => void save()}>
          {t('save')}
        </ActionButton>
      </header>
      <p className="hint">{t('limits.text')}</p>
      {error !== undefined && <FailureMessage error={error} />}
      {saved && <Message kind="success">{t('limits.saved')}</Message>}
      <Choice
        label={t('patron.group')}
        value={group}
        onChange={(value) => {
          setChosen(value);
          setDrafts({});
          setSaved(false);
        }}
        options={[...groups].map(([value, label]) => ({ value, label }))}
      />
      <div className="record-fields">
        {conditions.data.map(({ id, name }) => (
          <Field key={`${group} ${id}`} type="number" label={name} value={shown(id)} onChange={(value) => { setSaved(false); setDrafts((all) => ({ ...all, [id]: value })); }} />
        ))}
      </div>
    </section>
  );
}
