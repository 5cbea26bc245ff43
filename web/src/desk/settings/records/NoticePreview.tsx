/* Previews a patron notice, filled in by the server: with sample values, or those of a patron's loan, request or fee/fine. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { post } from '../../../api/client.ts';
import { Choice, Field } from '../../../parts/controls.tsx';
import { FailureMessage } from '../../../parts/listing.tsx';
import { useSettled } from '../../../parts/useSearch.ts';
import { useSession } from '../../../session/session.tsx';
import { t } from '../../../text/messages.ts';
import { EXPLAIN_NOTICES } from '../../notices/LoanNotices.tsx';
import { slipElement } from '../../slips/print.ts';
import { SAMPLE } from '../sample.ts';
import { type Json, valueAt } from './fields.ts';
import { PREVIEWED, type Previewed, recordsToPreview } from './previewed-records.ts';

const DUE = '2026-12-24T22:59:59Z';
const LOAN = { dueDate: DUE, initialBorrowDate: '2026-11-22T10:00:00Z', numberOfRenewalsTaken: '1', numberOfRenewalsAllowed: '3', numberOfRenewalsRemaining: '2' };
const FEE = { type: 'Overdue fine', amount: '2.50', remainingAmount: '2.50', owner: 'Main Library', paymentStatus: 'Outstanding' };

/** The most used tokens of templates. */
const CONTEXT = {
  user: { ...SAMPLE.requester },
  item: SAMPLE.item,
  request: { ...SAMPLE.request, requestExpirationDate: '2026-12-31T22:59:59Z', additionalInfo: '', reasonForCancellation: '' },
  requester: SAMPLE.requester,
  loan: LOAN,
  loans: [{ item: SAMPLE.item, loan: LOAN }],
  feeCharge: FEE,
  feeAction: { ...FEE, actionAmount: '2.50', actionDate: DUE },
};

export function NoticePreview({ record }: { record: Json }) {
  const { may, settings } = useSession();
  const wanted = useSettled({ header: String(valueAt(record, 'localizedTemplates.en.header') ?? ''), body: String(valueAt(record, 'localizedTemplates.en.body') ?? '') }, 300);
  const [source, setSource] = useState<Previewed | 'sample'>('sample');
  const [card, setCard] = useState('');
  const [chosen, setChosen] = useState('');
  const settledCard = useSettled(card.trim());
  const records = useQuery({
    queryKey: ['previewed-records', source, settledCard],
    enabled: source !== 'sample' && settledCard !== '',
    queryFn: () => (source === 'sample' ? [] : recordsToPreview(source, settledCard, settings.patronIdentifiers)),
  });
  const shown = records.data?.find((one) => one.value === chosen) ?? records.data?.[0];
  const frame = useRef<HTMLDivElement>(null);
  const query = useQuery({
    queryKey: ['notice-preview', wanted.header, wanted.body, source, shown?.value],
    enabled: source === 'sample' || shown !== undefined,
    queryFn: () =>
      source === 'sample'
        ? post<{ header: string; body: string }>('/template-request/preview', { ...wanted, context: CONTEXT })
        : post<{ header: string; body: string }>('/admin/patron-notices/preview', { ...wanted, [PREVIEWED[source]]: shown?.value }),
    placeholderData: (previous) => previous,
  });
  const rendered = source === 'sample' || shown ? query.data : undefined;
  useEffect(() => {
    // Only allowed markup is copied; values are already filled in.
    frame.current?.replaceChildren(slipElement({ template: (rendered?.body ?? '').replaceAll('{{', '{ {'), values: {} }));
  }, [rendered]);
  return (
    <section aria-label={t('slips.preview')}>
      <h3>{t('slips.preview')}</h3>
      {may(EXPLAIN_NOTICES) && (
        <div className="filters">
          <Choice
            label={t('preview.with')}
            value={source}
            onChange={(value) => setSource(SOURCES.find((one) => one === value) ?? 'sample')}
            options={SOURCES.map((value) => ({ value, label: t(`preview.${value}`) }))}
          />
          {source !== 'sample' && <Field label={t('preview.card')} value={card} onChange={setCard} takesScans />}
          {source !== 'sample' && shown && <Choice label={t('preview.record')} value={shown.value} onChange={setChosen} options={records.data ?? []} />}
        </div>
      )}
      {records.data?.length === 0 && <p className="hint-warning">{t('preview.none')}</p>}
      {(records.error ?? query.error) && <FailureMessage error={records.error ?? query.error} />}
      <div aria-live="polite">
        <p>
          <strong>{rendered?.header}</strong>
        </p>
        <div className="slip-preview" ref={frame} />
      </div>
    </section>
  );
}

const SOURCES = ['sample', 'loan', 'request', 'fee'] as const;
