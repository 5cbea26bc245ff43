/* The check-out desk: the patron's card, then items, until the session ends. */
import { lazy, Suspense, useEffect, useState } from 'react';
import { focusHome } from '../../layout/focus-home.ts';
import { keysOf, useHotkeys } from '../../layout/hotkeys.ts';
import { linesOf } from '../../api/failure.ts';
import { ActionButton, Choice, Message } from '../../parts/controls.tsx';
import { useStore } from '../../parts/store.ts';
import { deviceSettings, rememberOnDevice } from '../../session/device.ts';
import { useSession } from '../../session/session.tsx';
import { formatDateTime, fromWallTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { useSessions } from '../DeskSessions.tsx';
import { OverridePrompt } from '../dialogs/OverridePrompt.tsx';
import { permissionFor } from '../fees/fee-actions.ts';
import { useLoanActions } from '../loan-dialogs.tsx';
import { LatestResult } from '../scanning/ResultLine.tsx';
import { Pending } from '../scanning/Pending.tsx';
import { ScanField } from '../scanning/ScanField.tsx';
import { receiptSlip, sendReceipt } from '../slips/receipt.ts';
import { printSlips } from '../slips/print.ts';
import { FindUser } from '../users/FindUser.tsx';
import { CheckOutRows } from './CheckOutRows.tsx';
import type { CheckOutSession } from './check-out-session.ts';
import { PatronPanel } from './PatronPanel.tsx';
import { SpecialDueDate } from './SpecialDueDate.tsx';
import { useTimeout } from './timeout.ts';

// Loaded when it is needed, which it rarely is: the first scan must not wait for it.
const PayInPlace = lazy(() => import('../fees/PayInPlace.tsx').then((module) => ({ default: module.PayInPlace })));

/** Users without it need a supervisor. */
const OVERRIDE = 'circulation.override-patron-block.post';

/** For one fee/fine, and for several at once. */
const MAY_PAY = [permissionFor('pay', false), permissionFor('pay', true)];

export function CheckOutPage() {
  const { checkOut } = useSessions();
  const session = useSession();
  // Only state that a scan does not change; the components that show the rest subscribe to it themselves.
  const user = useStore(checkOut.store, (state) => state.patron?.user);
  const specialDueDate = useStore(checkOut.store, (state) => state.specialDueDate);
  const standingOverride = useStore(checkOut.store, (state) => state.standingOverride);
  const lastPatrons = useStore(checkOut.store, (state) => state.lastPatrons);
  const isBlocked = useStore(checkOut.store, (state) => (state.patron?.blocks.length ?? 0) > 0);
  const [finding, setFinding] = useState(false);
  const [overriding, setOverriding] = useState(false);
  const [paying, setPaying] = useState(false);
  const [settingDueDate, setSettingDueDate] = useState(false);
  const [receipt, setReceipt] = useState(() => deviceSettings().receipt);
  const blocked = isBlocked && !standingOverride;

  async function end() {
    if (!checkOut.isIdle) return checkOut.say('information', t('checkOut.stillWorking'));
    const { patron, rows } = checkOut.store.state;
    const lent = rows.map((row) => row.loan).filter((loan) => loan !== undefined);
    if (patron && lent.length > 0) {
      const slip = receiptSlip(lent, patron.user, session);
      if (receipt === 'print') printSlips([slip]);
      if (receipt === 'e-mail') void sendReceipt(slip, patron.user).then((to) => checkOut.say('information', t('receipt.sent', { to })), (error: unknown) => checkOut.say('warning', t('receipt.notSent', { reason: linesOf(error).join(' ') })));
    }
    await checkOut.end();
    focusHome();
  }

  const loanActions = useLoanActions(
    (loan, message) => {
      const row = checkOut.store.state.rows.find((one) => one.loan?.id === loan.id);
      if (row) checkOut.showLoan(row.id, loan, message);
      focusHome();
    },
    (message) => checkOut.say('error', message),
  );

  useHotkeys({
    endSession: () => void end(),
    find: () => setFinding(true),
    dueDate: () => user && (specialDueDate ? checkOut.setSpecialDueDate(undefined) : setSettingDueDate(true)),
    scanField: focusHome,
    renew: () => {
      const newest = checkOut.store.state.rows.find((row) => row.loan);
      if (newest?.loan) void loanActions.renew(newest.loan);
    },
    newestRow: () => document.querySelector<HTMLElement>('.rows .row-menu')?.focus(),
  });
  // When a session begins, is blocked or ends, the focus belongs to another field.
  useEffect(focusHome, [user?.id, blocked]);

  return (
    <div className="desk-page check-out">
      <h1 className="visually-hidden">{t('page.check-out')}</h1>
      <aside className="desk-side">
        <ScanField
          label={user ? t('checkOut.otherPatron') : t('checkOut.patronField')}
          button={t('checkOut.findPatron')}
          isHome={!user}
          placeholder={t('checkOut.patronHint')}
          onScan={(text) => void checkOut.scanPatron(text)}
        />
        <div className="side-actions">
          <ActionButton variant="quiet" onPress={() => setFinding(true)}>
            {t('checkOut.lookUp')} <kbd>{keysOf('find')}</kbd>
          </ActionButton>
          {!user &&
            lastPatrons.map((card, index) => (
              <ActionButton key={card} variant="quiet" onPress={() => void checkOut.scanPatron(card)}>
                {index === 0 ? t('checkOut.lastPatron') : card}
              </ActionButton>
            ))}
        </div>
        {user ? (
          <CurrentPatron session={checkOut} onOverride={() => setOverriding(true)} pay={MAY_PAY.some((permission) => session.may(permission)) ? () => setPaying(true) : undefined} />
        ) : (
          <p className="empty">{t('checkOut.scanCard')}</p>
        )}
      </aside>
      <section className="desk-main" aria-label={t('checkOut.items')}>
        <div className="toolbar">
          <ScanField
            label={t('checkOut.itemField')}
            button={t('checkOut.submit')}
            isHome={user !== undefined}
            why={!user ? t('checkOut.cardFirst') : blocked ? t('checkOut.overrideFirst') : undefined}
            onScan={(text) => checkOut.scanItem(text)}
          />
          <div className="toolbar-actions">
            <ActionButton why={user ? undefined : t('why.noPatron')} onPress={() => (specialDueDate ? checkOut.setSpecialDueDate(undefined) : setSettingDueDate(true))}>
              {specialDueDate ? t('checkOut.clearDueDate') : t('checkOut.specialDueDate')} <kbd>{keysOf('dueDate')}</kbd>
            </ActionButton>
            <ActionButton variant="primary" why={user ? undefined : t('why.noPatron')} onPress={() => void end()}>
              {t('endSession')} <kbd>{keysOf('endSession')}</kbd>
            </ActionButton>
          </div>
        </div>
        {specialDueDate && (
          <Message kind="warning" quiet>
            <strong>{t('checkOut.specialDueDateOn', { date: formatDateTime(fromWallTime(specialDueDate)) })}</strong>
          </Message>
        )}
        {standingOverride && (
          <Message kind="warning" quiet>
            {t('checkOut.overrideOn', { comment: standingOverride.comment })}
          </Message>
        )}
        {user && session.settings.timeoutMinutes !== undefined && <Countdown minutes={session.settings.timeoutMinutes} session={checkOut} end={() => void end()} />}
        <LatestResult store={checkOut.store} />
        <CheckOutRows session={checkOut} loanActions={loanActions} />
        <footer className="desk-footer">
          <RowCount session={checkOut} />
          <Choice
            label={t('receipt.label')}
            value={receipt}
            onChange={(value) => {
              const chosen = value === 'print' || value === 'e-mail' ? value : 'none';
              rememberOnDevice({ receipt: chosen });
              setReceipt(chosen);
              focusHome();
            }}
            options={[
              { value: 'none', label: t('receipt.none') },
              { value: 'print', label: t('receipt.print') },
              { value: 'e-mail', label: t('receipt.e-mail') },
            ]}
          />
        </footer>
      </section>
      {loanActions.dialog}
      {finding && (
        <FindUser
          close={() => setFinding(false)}
          choose={(user) => {
            setFinding(false);
            void checkOut.usePatron(user);
          }}
        />
      )}
      {overriding && (
        <OverridePrompt
          title={t('patron.overrideTitle')}
          submit={t('refused.override')}
          missingPermissions={session.may(OVERRIDE) ? [] : [OVERRIDE]}
          servicePointId={session.servicePoint?.id ?? ''}
          close={() => setOverriding(false)}
          run={({ comment, token }) => {
            checkOut.overrideBlocks({ blocks: ['patronBlock'], comment, token });
            setOverriding(false);
          }}
        >
          <p>{t('patron.overrideText')}</p>
        </OverridePrompt>
      )}
      {paying && user?.id && (
        <Suspense>
          <PayInPlace
            userId={user.id}
            close={() => setPaying(false)}
            paid={(message) => {
              setPaying(false);
              checkOut.say('success', message);
              void checkOut.refreshFees();
            }}
          />
        </Suspense>
      )}
      {settingDueDate && (
        <SpecialDueDate
          servicePointId={session.servicePoint?.id ?? ''}
          close={() => setSettingDueDate(false)}
          submit={(wall) => {
            checkOut.setSpecialDueDate(wall);
            setSettingDueDate(false);
          }}
        />
      )}
    </div>
  );
}

function CurrentPatron({ session, onOverride, pay }: { session: CheckOutSession; onOverride: () => void; pay: (() => void) | undefined }) {
  const patron = useStore(session.store, (state) => state.patron);
  const overridden = useStore(session.store, (state) => state.standingOverride !== undefined);
  return patron && <PatronPanel patron={patron} overridden={overridden} onOverride={onOverride} pay={pay} />;
}

function RowCount({ session }: { session: CheckOutSession }) {
  const rows = useStore(session.store, (state) => state.rows);
  return (
    <span>
      {tn('rows.count', rows.length)} <Pending rows={rows} />
    </span>
  );
}

/** The countdown during the last 30 seconds of an idle session. */
function Countdown({ minutes, session, end }: { minutes: number; session: CheckOutSession; end: () => void }) {
  const lastActivity = useStore(session.store, (state) => state.lastActivity);
  const remaining = useTimeout(minutes, lastActivity, end);
  if (remaining === undefined || remaining > 30) return null;
  return (
    <Message kind="warning">
      {tn('checkOut.countdown', remaining)} <ActionButton onPress={() => session.keepAlive()}>{t('checkOut.goOn')}</ActionButton>
    </Message>
  );
}
