/* The templates of staff slips, each with a preview of what is printed. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { put } from '../../api/client.ts';
import type { StaffSlip } from '../../api/schema.ts';
import { ActionButton, Choice, Field, Message } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { printSlips, slipElement } from '../slips/print.ts';
import { slipValues } from '../slips/template.ts';
import { SAMPLE } from './sample.ts';

export function SlipTemplates() {
  const { staffSlips, self, may } = useSession();
  const queries = useQueryClient();
  const [id, setId] = useState(staffSlips[0]?.id ?? '');
  const slip = staffSlips.find((one) => one.id === id);
  const [drafts, setDrafts] = useState<Record<string, string>>({});
  const [error, setError] = useState<unknown>();
  const [saved, setSaved] = useState(false);
  const preview = useRef<HTMLDivElement>(null);
  const template = drafts[id] ?? slip?.template ?? '';
  const values = slipValues(SAMPLE, slip?.name ?? '', self.user.username ?? '');

  useEffect(() => preview.current?.replaceChildren(slipElement({ template, values })));

  async function save(one: StaffSlip) {
    setError(undefined);
    try {
      await put(`/staff-slips-storage/staff-slips/${one.id ?? ''}`, { ...one, template });
      one.template = template;
      setSaved(true);
      await queries.invalidateQueries();
    } catch (failure) {
      setError(failure);
    }
  }

  if (!slip) return <Message kind="information">{t('search.nothing')}</Message>;
  const why = !may('circulation-storage.staff-slips.item.put') ? t('why.noPermission') : template === slip.template ? t('rules.unchanged') : undefined;
  return (
    <section className="card" aria-label={t('settings.slips')}>
      <header>
        <Choice label={t('settings.slips')} value={id} onChange={(value) => { setId(value); setSaved(false); }} options={staffSlips.map((one) => ({ value: one.id ?? '', label: one.name }))} />
        <div className="toolbar-actions">
          <ActionButton onPress={() => printSlips([{ template, values }])}>{t('slips.printSample')}</ActionButton>
          <ActionButton variant="primary" why={why} onPress={() => void save(slip)}>
            {t('save')}
          </ActionButton>
        </div>
      </header>
      {error !== undefined && <FailureMessage error={error} />}
      {saved && <Message kind="success">{t('slips.saved')}</Message>}
      <div className="columns">
        <Field label={t('slips.template')} rows={14} value={template} onChange={(value) => setDrafts((all) => ({ ...all, [id]: value }))} hint={t('slips.hint')} />
        <div>
          <h2>{t('slips.preview')}</h2>
          <div className="slip-preview" ref={preview} />
        </div>
      </div>
    </section>
  );
}
