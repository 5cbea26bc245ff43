/* The check-out desk: a card, then items, then the end of the session. */
import { useEffect, useState } from 'react';
import { focusHome } from '../../layout/focus-home.ts';
import { keysOf, useHotkeys } from '../../layout/hotkeys.ts';
import { ActionButton, Choice, Field, Message } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useStore } from '../../parts/store.ts';
import { deviceSettings, rememberOnDevice } from '../../session/device.ts';
import { useSession } from '../../session/session.tsx';
import { toWallTime, formatDateTime, fromWallTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { useSessions } from '../DeskSessions.tsx';
import { DueDateField, useLoanActions } from '../loan-dialogs.tsx';
import { ResultLine } from '../scanning/ResultLine.tsx';
import { ScanField } from '../scanning/ScanField.tsx';
import { receiptSlip } from '../slips/receipt.ts';
import { printSlips } from '../slips/print.ts';
import { FindUser } from '../users/FindUser.tsx';
import { CheckOutRows } from './CheckOutRows.tsx';
import { PatronPanel } from './PatronPanel.tsx';
import { useTimeout } from './timeout.ts';

export function CheckOutPage() {
  const { checkOut } = useSessions();
  const session = useSession();
  const state = useStore(checkOut.store);
  const { patron } = state;
  const [finding, setFinding] = useState(false);
  const [overriding, setOverriding] = useState(false);
  const [settingDueDate, setSettingDueDate] = useState(false);
  const [receipt, setReceipt] = useState(() => deviceSettings().receipt);
  const remaining = useTimeout(patron ? session.settings.timeoutMinutes : undefined, state.lastActivity, () => void end());
  const blocked = (patron?.blocks.length ?? 0) > 0 && !state.standingOverride;

  async function end() {
    if (!checkOut.isIdle) return checkOut.say('information', t('checkOut.stillWorking'));
    const lent = state.rows.filter((row) => row.loan).map((row) => row.loan).filter((loan) => loan !== undefined);
    if (receipt === 'print' && patron && lent.length > 0) printSlips([receiptSlip(lent, patron.user, session)]);
    await checkOut.end();
    focusHome();
  }

  const loanActions = useLoanActions(
    (loan, message) => {
      const row = state.rows.find((one) => one.loan?.id === loan.id);
      if (row) checkOut.showLoan(row.id, loan, message);
      focusHome();
    },
    (message) => checkOut.say('error', message),
  );

  useHotkeys({
    endSession: () => void end(),
    find: () => setFinding(true),
    dueDate: () => patron && (state.specialDueDate ? checkOut.setSpecialDueDate(undefined) : setSettingDueDate(true)),
    scanField: focusHome,
    renew: () => {
      const newest = state.rows.find((row) => row.loan);
      if (newest?.loan) void loanActions.renew(newest.loan);
    },
    newestRow: () => document.querySelector<HTMLElement>('.rows .row-menu')?.focus(),
  });
  // A session that is begun, blocked or ended puts another field in the place of the focus.
  useEffect(focusHome, [patron?.user.id, blocked]);

  return (
    <div className="desk-page check-out">
      <h1 className="visually-hidden">{t('page.check-out')}</h1>
      <aside className="desk-side">
        <ScanField
          label={patron ? t('checkOut.otherPatron') : t('checkOut.patronField')}
          button={t('checkOut.findPatron')}
          isHome={!patron}
          placeholder={t('checkOut.patronHint')}
          onScan={(text) => void checkOut.scanPatron(text)}
        />
        <div className="side-actions">
          <ActionButton variant="quiet" onPress={() => setFinding(true)}>
            {t('checkOut.lookUp')} <kbd>{keysOf('find')}</kbd>
          </ActionButton>
          {!patron && state.lastPatrons.length > 0 && (
            <ActionButton variant="quiet" onPress={() => void checkOut.scanPatron(state.lastPatrons[0] ?? '')}>
              {t('checkOut.lastPatron')}
            </ActionButton>
          )}
        </div>
        {patron ? (
          <PatronPanel patron={patron} overridden={state.standingOverride !== undefined} onOverride={() => setOverriding(true)} />
        ) : (
          <p className="empty">{t('checkOut.scanCard')}</p>
        )}
      </aside>
      <section className="desk-main" aria-label={t('checkOut.items')}>
        <div className="toolbar">
          <ScanField
            label={t('checkOut.itemField')}
            button={t('checkOut.submit')}
            isHome={patron !== undefined}
            isDisabled={!patron || blocked}
            onScan={(text) => checkOut.scanItem(text)}
          />
          <div className="toolbar-actions">
            <ActionButton why={patron ? undefined : t('why.noPatron')} onPress={() => (state.specialDueDate ? checkOut.setSpecialDueDate(undefined) : setSettingDueDate(true))}>
              {state.specialDueDate ? t('checkOut.clearDueDate') : t('checkOut.specialDueDate')} <kbd>{keysOf('dueDate')}</kbd>
            </ActionButton>
            <ActionButton variant="primary" why={patron ? undefined : t('why.noPatron')} onPress={() => void end()}>
              {t('endSession')} <kbd>{keysOf('endSession')}</kbd>
            </ActionButton>
          </div>
        </div>
        {state.specialDueDate && (
          <Message kind="warning" quiet>
            <strong>{t('checkOut.specialDueDateOn', { date: formatDateTime(fromWallTime(state.specialDueDate)) })}</strong>
          </Message>
        )}
        {state.standingOverride && (
          <Message kind="warning" quiet>
            {t('checkOut.overrideOn', { comment: state.standingOverride.comment })}
          </Message>
        )}
        {remaining !== undefined && remaining <= 30 && (
          <Message kind="warning">
            {tn('checkOut.countdown', remaining)}{' '}
            <ActionButton onPress={() => checkOut.keepAlive()}>{t('checkOut.goOn')}</ActionButton>
          </Message>
        )}
        <ResultLine result={state.result} />
        <CheckOutRows rows={state.rows} session={checkOut} loanActions={loanActions} />
        <footer className="desk-footer">
          <span>{tn('rows.count', state.rows.length)}</span>
          <Choice
            label={t('receipt.label')}
            value={receipt}
            onChange={(value) => {
              const chosen = value === 'print' ? 'print' : 'none';
              rememberOnDevice({ receipt: chosen });
              setReceipt(chosen);
              focusHome();
            }}
            options={[
              { value: 'none', label: t('receipt.none') },
              { value: 'print', label: t('receipt.print') },
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
        <OverridePatron
          close={() => setOverriding(false)}
          submit={(comment) => {
            checkOut.overrideBlocks({ blocks: ['patronBlock'], comment });
            setOverriding(false);
          }}
        />
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

function OverridePatron({ close, submit }: { close: () => void; submit: (comment: string) => void }) {
  const [comment, setComment] = useState('');
  return (
    <Prompt
      kind="warning"
      title={t('patron.overrideTitle')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={comment.trim() === '' ? t('override.needsComment') : undefined} onPress={() => submit(comment.trim())}>
            {t('override.submit')}
          </ActionButton>
        </>
      }
    >
      <p>{t('patron.overrideText')}</p>
      <Field label={t('override.comment')} value={comment} onChange={setComment} rows={2} autoFocus isRequired />
    </Prompt>
  );
}

function SpecialDueDate({ servicePointId, close, submit }: { servicePointId: string; close: () => void; submit: (wall: string) => void }) {
  const [wall, setWall] = useState(() => `${toWallTime(new Date(Date.now() + 7 * 86_400_000)).slice(0, 10)}T23:59`);
  return (
    <Prompt
      title={t('checkOut.specialDueDate')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" onPress={() => submit(wall)}>
            {t('checkOut.useDueDate')}
          </ActionButton>
        </>
      }
    >
      <p>{t('checkOut.specialDueDateText')}</p>
      <DueDateField value={wall} onChange={setWall} servicePointId={servicePointId} autoFocus />
    </Prompt>
  );
}
