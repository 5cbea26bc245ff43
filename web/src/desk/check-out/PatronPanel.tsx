import type { User } from '../../api/schema.ts';
import { to } from '../../layout/route.ts';
import { ActionButton, Message } from '../../parts/controls.tsx';
import { formatDate, formatMoney } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { useReferences } from '../references.ts';
import { nameOfUser } from '../people.ts';
import { usePicture } from '../picture.ts';
import { problemOf } from './check-out-session.ts';
import { daysUntilExpiry, type Patron } from './patron.ts';

const SOON_DAYS = 30;

/** The patron of the current session. */
export function PatronPanel({ patron, onOverride, overridden, pay }: { patron: Patron; onOverride: () => void; overridden: boolean; pay: (() => void) | undefined }) {
  const { user } = patron;
  const { groups, departments } = useReferences();
  const days = daysUntilExpiry(user);
  const expiresSoon = days !== undefined && days < SOON_DAYS;
  const problem = problemOf(user);
  return (
    <section className="patron" aria-label={t('patron.panel')}>
      <header>
        <Picture user={user} />
        <div>
          <h2>
            <a href={to('users', user.id ?? '')}>{nameOfUser(user)}</a>
          </h2>
          <p>
            {[user.personal?.pronouns, user.barcode].filter(Boolean).join(' · ')}
          </p>
        </div>
      </header>
      {patron.proxy && <Message kind="information" quiet>{t('patron.proxy', { name: nameOfUser(patron.proxy) })}</Message>}
      {problem && <Message kind="error" quiet>{problem}</Message>}
      {patron.blocks.length > 0 && <Blocks patron={patron} onOverride={onOverride} overridden={overridden} />}
      {(patron.awaitingPickupHere ?? 0) > 0 && (
        <Message kind="information" quiet>
          <strong>{tn('patron.awaitingPickup', patron.awaitingPickupHere ?? 0)}</strong>
        </Message>
      )}
      <dl className="facts">
        <div>
          <dt>{t('patron.group')}</dt>
          <dd>{groups.get(user.patronGroup ?? '') ?? '–'}</dd>
        </div>
        <div className={expiresSoon ? 'amber' : ''}>
          <dt>{t('patron.expires')}</dt>
          <dd>
            {user.expirationDate ? formatDate(user.expirationDate) : t('patron.never')}
            {expiresSoon && days >= 0 && ` (${tn('patron.expiresIn', days)})`}
          </dd>
        </div>
        <div className={(patron.overdueLoans ?? 0) > 0 ? 'amber' : ''}>
          <dt>{t('patron.openLoans')}</dt>
          <dd>
            <a href={to('users', user.id ?? '', 'loans')}>{patron.openLoans ?? '…'}</a>
            {(patron.overdueLoans ?? 0) > 0 && ` (${tn('patron.overdue', patron.overdueLoans ?? 0)})`}
          </dd>
        </div>
        <div className={(patron.owed ?? 0) > 0 ? 'amber' : ''}>
          <dt>{t('patron.owed')}</dt>
          <dd>
            <a href={to('users', user.id ?? '', 'fees')}>{patron.owed === undefined ? '…' : formatMoney(patron.owed)}</a>
            {(patron.suspended ?? 0) > 0 && ` (${t('patron.suspended', { amount: formatMoney(patron.suspended ?? 0) })})`}
            {pay && (patron.owed ?? 0) > (patron.suspended ?? 0) && (
              <>
                {' '}
                <ActionButton onPress={pay}>{t('patron.pay')}</ActionButton>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{t('patron.openRequests')}</dt>
          <dd>
            <a href={to('users', user.id ?? '', 'requests')}>{patron.openRequests ?? '…'}</a>
          </dd>
        </div>
        {(user.departments?.length ?? 0) > 0 && (
          <div>
            <dt>{t('patron.departments')}</dt>
            <dd>{user.departments?.map((id) => departments.get(id) ?? '').join(', ')}</dd>
          </div>
        )}
        {patron.notes.length > 0 && (
          <div>
            <dt>{t('patron.notes')}</dt>
            <dd>
              <a href={to('users', user.id ?? '', 'notes')}>{patron.notes.length}</a>
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function Blocks({ patron, onOverride, overridden }: { patron: Patron; onOverride: () => void; overridden: boolean }) {
  return (
    <div className={`blocks ${overridden ? 'overridden' : ''}`}>
      <h3>{overridden ? t('patron.blocksOverridden') : t('patron.blocked')}</h3>
      <ul>
        {patron.blocks.map((block, index) => (
          <li key={index}>{block.text}</li>
        ))}
      </ul>
      {!overridden && (
        <ActionButton variant="danger" onPress={onOverride}>
          {t('refused.override')}
        </ActionButton>
      )}
    </div>
  );
}

/** The photo, so that staff see whose card it is; the initials where there is none. */
function Picture({ user }: { user: User }) {
  const { source } = usePicture(user);
  const name = nameOfUser(user);
  if (source) return <img className="picture" src={source} alt={t('photo.of', { name })} />;
  const initials = name.split(', ').map((part) => part[0] ?? '').reverse().join('');
  return (
    <span className="picture" aria-hidden="true">
      {initials}
    </span>
  );
}
