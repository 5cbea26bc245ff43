/* The notices of a loan: sent, planned, and those that were not sent, with the reason. */
import { useQuery } from '@tanstack/react-query';
import type { Loan } from '../../api/bodies.ts';
import { get, withQuery } from '../../api/client.ts';
import { ActionButton, type Kind, Sign } from '../../parts/controls.tsx';
import { Facts, Listing } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { useNoticePolicies, useTemplates } from '../references.ts';
import { type Explanation, type NoticeRow, rowsOf } from './notice-rows.ts';

/** Users without it do not see the explanation. */
export const EXPLAIN_NOTICES = 'carrel.patron-notices.get';

const SIGNS: Record<NoticeRow['outcome'], Kind> = { planned: 'information', sent: 'success', skipped: 'warning', failed: 'error' };

export function LoanNotices({ loan, close }: { loan: Loan; close: () => void }) {
  const query = useQuery({ queryKey: ['notices-of', loan.id], queryFn: () => get<Explanation>(withQuery('/admin/patron-notices', { loanId: loan.id })) });
  const templates = useTemplates();
  const policies = useNoticePolicies();
  const policy = query.data?.noticePolicyId;
  return (
    <Prompt
      wide
      title={t('notices.title')}
      onCancel={close}
      actions={
        <ActionButton variant="primary" autoFocus onPress={close}>
          {t('close')}
        </ActionButton>
      }
    >
      <p className="about-item">
        <strong>{loan.item.title}</strong>
        <span>{loan.item.barcode}</span>
      </p>
      {query.data && <Facts facts={[[t('notices.policy'), policy ? (policies.get(policy) ?? policy) : t('notices.noPolicy')]]} />}
      <Listing
        label={t('notices.title')}
        rows={query.data && rowsOf(query.data)}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('notices.none')}
        rowKey={(row) => `${row.date} ${row.event} ${row.templateId} ${row.outcome}`}
        columns={[
          { title: t('notices.outcome'), cell: (row) => <span className="outcome"><Sign kind={SIGNS[row.outcome]} /> {t(`notices.${row.outcome}`)}</span> },
          { title: t('notices.when'), cell: (row) => formatDateTime(row.date) },
          { title: t('notices.event'), cell: (row) => row.event },
          { title: t('notices.template'), cell: (row) => [templates.get(row.templateId ?? '') ?? row.templateId, row.format].filter(Boolean).join(', ') },
          { title: t('notices.reason'), cell: (row) => row.reason },
        ]}
      />
    </Prompt>
  );
}
