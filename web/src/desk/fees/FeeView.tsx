/* One fee/fine: its details and its history. */
import { to } from '../../layout/route.ts';
import { ActionButton } from '../../parts/controls.tsx';
import { Facts, Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDateTime, formatMoney } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { useServicePoints } from '../references.ts';
import { type Fee, FEE_ACTIONS, type FeeAction, splitComments, whyNot } from './fee-actions.ts';

export function FeeView({ userId, fee, open }: { userId: string; fee: Fee; open: (action: FeeAction, fees: Fee[]) => void }) {
  const { may } = useSession();
  const servicePoints = useServicePoints();
  const { account, actions } = fee;
  return (
    <>
      <div className="filters">
        <a href={to('users', userId, 'fees')}>{t('fees.list')}</a>
        <h2 className="grow">{account.feeFineType}</h2>
      </div>
      <div className="toolbar-actions">
        {FEE_ACTIONS.map((action) => {
          const why = whyNot(action, [fee], may);
          return (
            <ActionButton key={action} why={why && t(why)} onPress={() => open(action, [fee])}>
              {t(`fees.action.${action}`)}
            </ActionButton>
          );
        })}
      </div>
      <div className="columns">
        <Facts
          facts={[
            [t('column.amount'), formatMoney(Number(account.amount))],
            [t('column.remaining'), formatMoney(Number(account.remaining))],
            [t('column.payment'), account.paymentStatus.name],
            [t('column.charged'), formatDateTime(account.dateCreated ?? (account.metadata?.['createdDate'] as string | undefined))],
            [t('fees.owner'), account.feeFineOwner],
          ]}
        />
        <Facts
          facts={[
            [t('column.title'), account.itemId ? <a key="item" href={to('items', account.itemId)}>{account.title ?? account.barcode}</a> : account.title],
            [t('column.barcode'), account.barcode],
            [t('column.callNumber'), account.callNumber],
            [t('column.dueDate'), formatDateTime(account.dueDate)],
            [t('column.returned'), formatDateTime(account.returnedDate)],
          ]}
        />
      </div>
      <h3>{t('fees.history')}</h3>
      <Listing
        label={t('fees.history')}
        rows={[...actions].reverse()}
        isLoading={false}
        error={undefined}
        empty={t('fees.noHistory')}
        rowKey={(action) => action.id ?? ''}
        columns={[
          { title: t('fees.date'), cell: (action) => formatDateTime(action.dateAction), className: 'due' },
          { title: t('fees.what'), cell: (action) => action.typeAction },
          { title: t('column.amount'), cell: (action) => formatMoney(Number(action.amountAction ?? 0)), className: 'money' },
          { title: t('fees.balance'), cell: (action) => formatMoney(Number(action.balance ?? 0)), className: 'money' },
          { title: t('fees.by'), cell: (action) => [action.paymentMethod, action.transactionInformation].filter((text) => text && text !== '-').join(', ') },
          { title: t('fees.source'), cell: (action) => [action.source, servicePoints.get(action.createdAt ?? '')].filter(Boolean).join(', ') },
          { title: t('fees.comments'), cell: (action) => <Comments text={action.comments} /> },
        ]}
      />
    </>
  );
}

function Comments({ text }: { text: string | undefined }) {
  const { staff, patron } = splitComments(text);
  return (
    <>
      {staff && <div>{staff}</div>}
      {patron && <div className="hint">{t('fees.toPatron', { text: patron })}</div>}
    </>
  );
}
