/* The desk while the server is down: stores check-outs and check-ins in the browser, and uploads them afterwards. */
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { focusHome } from '../../layout/focus-home.ts';
import { isReached, onReachedChange } from '../../layout/reached.ts';
import { ActionButton, type Kind, Message } from '../../parts/controls.tsx';
import { linesOf } from '../../api/failure.ts';
import { deviceSettings } from '../../session/device.ts';
import { formatDateTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import type { Result } from '../desk-tools.ts';
import { ResultLine } from '../scanning/ResultLine.tsx';
import { ScanField } from '../scanning/ScanField.tsx';
import { ScanQueue } from '../scanning/scan-queue.ts';
import { RowSign } from '../scanning/RowSign.tsx';
import { printSlips } from '../slips/print.ts';
import { uploadApi } from './offline-api.ts';
import { type OfflineAction, OfflineStore } from './offline-store.ts';
import { upload, uploadAll } from './upload.ts';

let results = 0;

export function OfflinePage({ loggedIn = true }: { loggedIn?: boolean }) {
  const store = useMemo(() => new OfflineStore(deviceSettings().tenant), []);
  const reached = useSyncExternalStore(onReachedChange, isReached);
  const [actions, setActions] = useState<OfflineAction[]>([]);
  const [task, setTask] = useState<OfflineAction['kind']>('checkOut');
  const [card, setCard] = useState<string>();
  const [result, setResult] = useState<Result>();
  const [busy, setBusy] = useState(false);

  const load = useCallback(async () => setActions(await store.all()), [store]);
  useEffect(() => void load(), [load]);
  useEffect(focusHome, [task, card]);

  function say(kind: Kind, text: string) {
    results += 1;
    setResult({ kind, text, number: results });
  }

  // The queue writes one scan after another and ignores a scan that arrives twice.
  const queue = useMemo(() => {
    const state: { current: { task: OfflineAction['kind']; card: string | undefined } } = { current: { task: 'checkOut', card: undefined } };
    const scans = new ScanQueue(async (scan) => {
      const { task: kind, card: userBarcode } = state.current;
      await store.put({
        clientId: crypto.randomUUID(),
        kind,
        itemBarcode: scan.barcode,
        ...(kind === 'checkOut' && userBarcode !== undefined ? { userBarcode } : {}),
        servicePointId: deviceSettings().servicePointId,
        at: new Date(scan.at).toISOString(),
        state: 'waiting',
      });
      say('success', t('offline.kept', { barcode: scan.barcode }));
      await load();
    });
    return { scans, state };
  }, [store, load]);
  queue.state.current = { task, card };

  async function scanCard(text: string) {
    const barcode = text.trim();
    if (await store.isBlocked(barcode)) return say('error', t('offline.blocked', { card: barcode }));
    setCard(barcode);
    say('success', t('offline.card', { card: barcode }));
  }

  async function uploadWaiting() {
    setBusy(true);
    try {
      // A lock, because the desk may be open in two windows.
      await navigator.locks.request('carrel-offline-upload', async () =>
        uploadAll(await store.all(), uploadApi, async (action) => {
          await store.put(action);
          await load();
        }),
      );
      say('success', t('offline.uploadDone'));
    } catch (error) {
      say('error', linesOf(error).join(' '));
    } finally {
      setBusy(false);
      await load();
    }
  }

  async function decide(action: OfflineAction, decision: 'accept' | 'skip') {
    await store.put(decision === 'skip' ? { ...action, state: 'skipped' } : await upload(action, uploadApi, t('offline.comment')));
    await load();
  }

  const waiting = actions.filter((action) => action.state === 'waiting');
  const exceptions = actions.filter((action) => action.state === 'exception');
  const whyNoUpload = !reached ? t('offline.noServer') : !loggedIn ? t('offline.logIn') : waiting.length === 0 ? t('offline.nothing') : undefined;

  return (
    <div className="page offline">
      <header>
        <h1>{t('page.offline')}</h1>
        <div className="toolbar-actions">
          {!loggedIn && <ActionButton onPress={() => location.reload()}>{t('again')}</ActionButton>}
          <ActionButton onPress={() => saveAsFile(actions)} why={actions.length === 0 ? t('offline.nothing') : undefined}>
            {t('offline.save')}
          </ActionButton>
          <ActionButton variant="primary" why={whyNoUpload} isDisabled={busy} onPress={() => void uploadWaiting()}>
            {tn('offline.upload', waiting.length)}
          </ActionButton>
        </div>
      </header>
      <Message kind={reached ? 'information' : 'warning'}>{t(reached ? 'offline.back' : 'offline.explained')}</Message>
      <section className="card" aria-label={t('offline.scan')}>
        <div className="toolbar-actions" role="group" aria-label={t('offline.task')}>
          {(['checkOut', 'checkIn'] as const).map((one) => (
            <ActionButton key={one} variant={task === one ? 'primary' : 'secondary'} aria-pressed={task === one} onPress={() => { setTask(one); setCard(undefined); }}>
              {t(one === 'checkOut' ? 'page.check-out' : 'page.check-in')}
            </ActionButton>
          ))}
          {card !== undefined && <ActionButton onPress={() => setCard(undefined)}>{t('offline.nextPatron', { card })}</ActionButton>}
        </div>
        {task === 'checkOut' && card === undefined ? (
          <ScanField key="card" label={t('checkOut.patronField')} button={t('offline.useCard')} isHome onScan={(text) => void scanCard(text)} />
        ) : (
          <ScanField
            key="item"
            label={t('checkOut.itemField')}
            button={t(task === 'checkOut' ? 'checkOut.submit' : 'checkIn.submit')}
            isHome
            onScan={(text) => {
              if (!queue.scans.offer(text).admitted) say('information', t('scan.repeated', { barcode: text.trim() }));
              void queue.scans.work();
            }}
          />
        )}
        <ResultLine result={result} />
      </section>
      {exceptions.length > 0 && (
        <section className="card" aria-labelledby="exceptions-title">
          <header>
            <h2 id="exceptions-title">{tn('offline.exceptions', exceptions.length)}</h2>
            <ActionButton onPress={() => printExceptions(exceptions)}>{t('offline.print')}</ActionButton>
          </header>
          <Actions
            actions={exceptions}
            buttons={(action) => (
              <>
                {action.overridable && (
                  <ActionButton why={reached ? undefined : t('offline.noServer')} onPress={() => void decide(action, 'accept')}>
                    {t('offline.accept')}
                  </ActionButton>
                )}{' '}
                <ActionButton onPress={() => void decide(action, 'skip')}>{t('offline.skip')}</ActionButton>
              </>
            )}
          />
        </section>
      )}
      <section className="card" aria-labelledby="kept-title">
        <header>
          <h2 id="kept-title">{tn('offline.actions', actions.length)}</h2>
          <ActionButton variant="quiet" isDisabled={!actions.some((one) => one.state === 'uploaded' || one.state === 'skipped')} onPress={() => void store.removeSettled().then(load)}>
            {t('offline.tidy')}
          </ActionButton>
        </header>
        <Actions actions={[...actions].reverse()} />
      </section>
    </div>
  );
}

const SIGNS = { waiting: 'waiting', uploaded: 'done', exception: 'failed', skipped: 'cancelled' } as const;

function Actions({ actions, buttons }: { actions: OfflineAction[]; buttons?: (action: OfflineAction) => React.ReactNode }) {
  if (actions.length === 0) return <p className="empty">{t('offline.empty')}</p>;
  return (
    <div className="table-frame" role="group" aria-label={t('rows.list')} tabIndex={0}>
      <table className="rows">
        <thead>
          <tr>
            <th className="state"><span className="visually-hidden">{t('column.result')}</span></th>
            <th>{t('offline.task')}</th>
            <th>{t('column.barcode')}</th>
            <th>{t('checkOut.patronField')}</th>
            <th>{t('offline.scanned')}</th>
            <th>{t('column.status')}</th>
            {buttons && <th>{t('column.actions')}</th>}
          </tr>
        </thead>
        <tbody>
          {actions.map((action) => (
            <tr key={action.clientId} data-offline={action.state}>
              <td className="state"><RowSign state={SIGNS[action.state]} /></td>
              <td>{t(action.kind === 'checkOut' ? 'page.check-out' : 'page.check-in')}</td>
              <td className="digits">{action.itemBarcode}</td>
              <td className="digits">{action.userBarcode}</td>
              <td className="due">{formatDateTime(action.at)}</td>
              <td>{[t(`offline.state.${action.state}`), ...(action.problem ?? []).map(inWords)].join(': ')}</td>
              {buttons && <td>{buttons(action)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const inWords = (problem: string) => (problem === 'lent-again' ? t('offline.lentAgain') : problem);

/** Saves the scans as a file, in case this browser's storage is lost. */
function saveAsFile(actions: OfflineAction[]): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([JSON.stringify({ tenant: deviceSettings().tenant, actions }, null, 2)], { type: 'application/json' }));
  link.download = `carrel-offline-${new Date().toISOString().slice(0, 16).replace(':', '')}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function printExceptions(actions: OfflineAction[]): void {
  const values: Record<string, string> = { 'staffSlip.Name': tn('offline.exceptions', actions.length) };
  const lines = actions.map((action, index) => {
    values[`line${index}.text`] = [action.itemBarcode, action.userBarcode, formatDateTime(action.at), ...(action.problem ?? []).map(inWords)].filter(Boolean).join(' · ');
    return `<li>{{line${index}.text}}</li>`;
  });
  printSlips([{ template: `<h1>{{staffSlip.Name}}</h1><ul>${lines.join('')}</ul>`, values }]);
}
