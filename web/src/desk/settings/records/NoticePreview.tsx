/* Previews a patron notice with sample values of a loan and a request, filled in by the server. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { post } from '../../../api/client.ts';
import { FailureMessage } from '../../../parts/listing.tsx';
import { useSettled } from '../../../parts/useSearch.ts';
import { t } from '../../../text/messages.ts';
import { slipElement } from '../../slips/print.ts';
import { SAMPLE } from '../sample.ts';
import { type Json, valueAt } from './fields.ts';

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
  const wanted = useSettled({ header: String(valueAt(record, 'localizedTemplates.en.header') ?? ''), body: String(valueAt(record, 'localizedTemplates.en.body') ?? '') }, 300);
  const frame = useRef<HTMLDivElement>(null);
  const query = useQuery({
    queryKey: ['notice-preview', wanted.header, wanted.body],
    queryFn: () => post<{ header: string; body: string }>('/template-request/preview', { ...wanted, context: CONTEXT }),
    placeholderData: (previous) => previous,
  });
  const rendered = query.data;
  useEffect(() => {
    // Only allowed markup is copied; values are already filled in.
    frame.current?.replaceChildren(slipElement({ template: (rendered?.body ?? '').replaceAll('{{', '{ {'), values: {} }));
  }, [rendered]);
  return (
    <section aria-label={t('slips.preview')} aria-live="polite">
      <h3>{t('slips.preview')}</h3>
      {query.error && <FailureMessage error={query.error} />}
      <p>
        <strong>{rendered?.header}</strong>
      </p>
      <div className="slip-preview" ref={frame} />
    </section>
  );
}
