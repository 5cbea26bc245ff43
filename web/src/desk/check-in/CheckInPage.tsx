/* The check-in desk: item after item. */
import { useState } from 'react';
import { focusHome } from '../../layout/focus-home.ts';
import { keysOf, useHotkeys } from '../../layout/hotkeys.ts';
import { ActionButton, Field, Message, Tick } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useStore } from '../../parts/store.ts';
import { formatDateTime, fromWallTime, toWallTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { useSession } from '../../session/session.tsx';
import { useSessions } from '../DeskSessions.tsx';
import { ResultLine } from '../scanning/ResultLine.tsx';
import { ScanField } from '../scanning/ScanField.tsx';
import { printSendOn } from '../slips/staff-slips.ts';
import { CheckInRows } from './CheckInRows.tsx';

export function CheckInPage() {
  const { checkIn } = useSessions();
  const session = useSession();
  const state = useStore(checkIn.store);
  const [choosingDate, setChoosingDate] = useState(false);
  const attention = state.rows.filter((row) => row.state === 'failed').length;

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
              {t('checkIn.processedAs', { date: state.processedAs ? formatDateTime(fromWallTime(state.processedAs)) : t('checkIn.now') })} <kbd>{keysOf('dueDate')}</kbd>
            </ActionButton>
            <ActionButton variant="primary" onPress={end}>
              {t('endSession')} <kbd>{keysOf('endSession')}</kbd>
            </ActionButton>
          </div>
        </div>
        <fieldset className="chips">
          <legend className="visually-hidden">{t('checkIn.modifiers')}</legend>
          <Chip isOn={state.autoPrint} onChange={(autoPrint) => checkIn.set({ autoPrint })}>
            {t('checkIn.autoPrint')}
          </Chip>
          <Chip isOn={state.batch} onChange={(batch) => checkIn.set({ batch })}>
            {t('checkIn.batch')}
          </Chip>
        </fieldset>
        {state.processedAs && (
          <Message kind="warning" quiet>
            <strong>{t(state.sticky ? 'checkIn.backdatedAll' : 'checkIn.backdatedNext', { date: formatDateTime(fromWallTime(state.processedAs)) })}</strong>{' '}
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
        <ResultLine result={state.result} />
        <CheckInRows rows={state.rows} print={(kind, answer) => { printSendOn(kind, [answer], session); focusHome(); }} />
        <footer className="desk-footer">
          <span>{tn('rows.count', state.rows.length)}</span>
          {attention > 0 && <span className="failed-count">{tn('rows.failed', attention)}</span>}
        </footer>
      </section>
      {choosingDate && (
        <ProcessedAs
          initial={state.processedAs}
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

function Chip({ isOn, onChange, children }: { isOn: boolean; onChange: (isOn: boolean) => void; children: string }) {
  return (
    <div className={`chip ${isOn ? 'on' : ''}`}>
      <Tick
        isSelected={isOn}
        onChange={(on) => {
          onChange(on);
          focusHome();
        }}
      >
        {children}
      </Tick>
    </div>
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
