/* The check-in desk. */
import { useState } from 'react';
import { focusHome } from '../../layout/focus-home.ts';
import { keysOf, useHotkeys } from '../../layout/hotkeys.ts';
import { ActionButton, Field, Message, Tick } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useStore } from '../../parts/store.ts';
import { formatDateTime, formatMoney, fromWallTime, toWallTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { useSession } from '../../session/session.tsx';
import { useSessions } from '../DeskSessions.tsx';
import { LatestResult } from '../scanning/ResultLine.tsx';
import { Pending } from '../scanning/Pending.tsx';
import { ScanField } from '../scanning/ScanField.tsx';
import { printSendOn } from '../slips/staff-slips.ts';
import { CheckInRows } from './CheckInRows.tsx';
import type { CheckInSession } from './check-in-session.ts';

export function CheckInPage() {
  const { checkIn } = useSessions();
  const session = useSession();
  const processedAs = useStore(checkIn.store, (state) => state.processedAs);
  const sticky = useStore(checkIn.store, (state) => state.sticky);
  const [choosingDate, setChoosingDate] = useState(false);

  function end() {
    if (!checkIn.isIdle) return checkIn.say('information', t('checkOut.stillWorking'));
    void checkIn.end();
    focusHome();
  }

  useHotkeys({
    endSession: end,
    dueDate: () => setChoosingDate(true),
    scanField: focusHome,
    newestRow: () => document.querySelector<HTMLElement>('.rows .row-menu')?.focus(),
  });

  return (
    <div className="desk-page check-in">
      <h1 className="visually-hidden">{t('page.check-in')}</h1>
      <section className="desk-main" aria-label={t('page.check-in')}>
        <div className="toolbar">
          <ScanField label={t('checkIn.itemField')} button={t('checkIn.submit')} isHome onScan={(text) => checkIn.scan(text)} />
          <div className="toolbar-actions">
            <ActionButton onPress={() => setChoosingDate(true)}>
              {t('checkIn.processedAs', { date: processedAs ? formatDateTime(fromWallTime(processedAs)) : t('checkIn.now') })} <kbd>{keysOf('dueDate')}</kbd>
            </ActionButton>
            <ActionButton variant="primary" onPress={end}>
              {t('endSession')} <kbd>{keysOf('endSession')}</kbd>
            </ActionButton>
          </div>
        </div>
        <fieldset className="chips">
          <legend className="visually-hidden">{t('checkIn.modifiers')}</legend>
          {MODIFIERS.map(({ name, permission }) => (
            <Modifier key={name} name={name} session={checkIn} why={permission === undefined || session.may(permission) ? undefined : t('why.noPermission')} />
          ))}
        </fieldset>
        {processedAs && (
          <Message kind="warning" quiet>
            <strong>{t(sticky ? 'checkIn.backdatedAll' : 'checkIn.backdatedNext', { date: formatDateTime(fromWallTime(processedAs)) })}</strong>{' '}
            <ActionButton
              onPress={() => {
                checkIn.set({ processedAs: undefined, sticky: false });
                focusHome();
              }}
            >
              {t('checkIn.useNow')}
            </ActionButton>
          </Message>
        )}
        <LatestResult store={checkIn.store} />
        <CheckInRows session={checkIn} may={session.may} print={(kind, answer) => { printSendOn(kind, [answer], session); focusHome(); }} />
        <Totals session={checkIn} />
      </section>
      {choosingDate && (
        <ProcessedAs
          initial={processedAs}
          close={() => setChoosingDate(false)}
          submit={(processedAs, sticky) => {
            checkIn.set({ processedAs, sticky });
            setChoosingDate(false);
          }}
        />
      )}
    </div>
  );
}

/** Options for the check-ins that follow; each stays on, visibly, until it is turned off. */
const MODIFIERS = [
  { name: 'autoPrint', permission: undefined },
  { name: 'amnesty', permission: 'feesfines.accounts.waive.post' },
  { name: 'suppressTransits', permission: 'inventory.items.item.put' },
  { name: 'batch', permission: undefined },
] as const;

function Modifier({ name, session, why }: { name: (typeof MODIFIERS)[number]['name']; session: CheckInSession; why: string | undefined }) {
  const isOn = useStore(session.store, (state) => state[name]);
  return (
    <div className={`chip ${isOn ? 'on' : ''}`} title={why}>
      <Tick
        isSelected={isOn}
        isDisabled={why !== undefined}
        onChange={(on) => {
          session.set({ [name]: on });
          focusHome();
        }}
      >
        {t(`checkIn.${name}`)}
        {why && <span className="why"> ({why})</span>}
      </Tick>
    </div>
  );
}

/** How many scans, how many need attention, and what the returned loans owe. */
function Totals({ session }: { session: CheckInSession }) {
  const rows = useStore(session.store, (state) => state.rows);
  const scans = useStore(session.store, (state) => state.scans);
  let failed = 0;
  let owed = 0;
  for (const row of rows) {
    if (row.state === 'failed') failed += 1;
    owed += row.owed ?? 0;
  }
  return (
    <footer className="desk-footer">
      <span>
        {tn('rows.count', scans)} <Pending rows={rows} />
      </span>
      {failed > 0 && <span className="failed-count">{tn('rows.failed', failed)}</span>}
      {owed > 0 && <span>{t('checkIn.owedTotal', { amount: formatMoney(owed) })}</span>}
    </footer>
  );
}

function ProcessedAs({ initial, close, submit }: { initial: string | undefined; close: () => void; submit: (wall: string | undefined, sticky: boolean) => void }) {
  const [wall, setWall] = useState(initial ?? toWallTime(new Date()));
  const [sticky, setSticky] = useState(false);
  const isFuture = fromWallTime(wall).getTime() > Date.now() + 60_000;
  return (
    <Prompt
      title={t('checkIn.processedAsTitle')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton onPress={() => submit(undefined, false)}>{t('checkIn.useNow')}</ActionButton>
          <ActionButton variant="primary" why={isFuture ? t('checkIn.future') : undefined} onPress={() => submit(wall, sticky)}>
            {t('checkIn.useDate')}
          </ActionButton>
        </>
      }
    >
      <p>{t('checkIn.processedAsText')}</p>
      <Field type="datetime-local" label={t('checkIn.processedAsLabel')} value={wall} onChange={setWall} autoFocus isRequired />
      <Tick isSelected={sticky} onChange={setSticky}>
        {t('checkIn.sticky')}
      </Tick>
    </Prompt>
  );
}
