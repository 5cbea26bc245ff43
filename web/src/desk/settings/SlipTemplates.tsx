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

/** Values of an invented item and patron. */
const SAMPLE = {
  item: {
    title: 'Culture and Anarchy',
    primaryContributor: 'Arnold, Matthew, 1822-1888',
    allContributors: 'Arnold, Matthew, 1822-1888',
    barcode: '390000002084',
    callNumber: '306 ARN',
    materialType: 'book',
    loanType: 'Can circulate',
    fromServicePoint: 'Circ Desk 1',
    toServicePoint: 'Circ Desk 2',
    effectiveLocationSpecific: 'Main Stacks',
    effectiveLocationLibrary: 'Main Library',
    lastCheckedInDateTime: '2026-11-22T10:00:00Z',
  },
  request: { servicePointPickup: 'Circ Desk 2', requestDate: '2026-11-20T10:00:00Z', holdShelfExpirationDate: '2026-12-04T23:59:59Z', requestID: 'b2b1a6b4', patronComments: 'I come on Friday.' },
  requester: { firstName: 'Alma', preferredFirstName: 'Alma', lastName: 'Reading', barcode: '290000000001', patronGroup: 'faculty', addressLine1: '1 Folio Avenue', city: 'Vellumton', postalCode: '00112' },
};

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
