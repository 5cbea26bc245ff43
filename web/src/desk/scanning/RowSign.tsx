import { useEffect, useState } from 'react';
import type { Kind } from '../../parts/controls.tsx';
import { Sign } from '../../parts/controls.tsx';
import { t } from '../../text/messages.ts';
import type { RowState } from './scan-row.ts';

const KINDS: Record<Exclude<RowState, 'waiting' | 'working'>, Kind> = {
  done: 'success',
  attention: 'warning',
  failed: 'error',
  cancelled: 'information',
};

export function RowSign({ state }: { state: RowState }) {
  if (state === 'waiting' || state === 'working') return <Spinner key={state} state={state} />;
  return <Sign kind={KINDS[state]} />;
}

/** Milliseconds after which the sign of a scan in progress turns. */
const TURNS_AFTER_MS = 300;

/** An animation needs its own compositing layer, which delays the row; most scans are answered before it would be visible. */
function Spinner({ state }: { state: 'waiting' | 'working' }) {
  const [isTurning, setTurning] = useState(false);
  useEffect(() => {
    if (state === 'waiting') return;
    const timer = setTimeout(() => setTurning(true), TURNS_AFTER_MS);
    return () => clearTimeout(timer);
  }, [state]);
  return <span className={`spinner ${state}${isTurning ? ' turning' : ''}`} role="img" aria-label={t(`row.${state}`)} />;
}

/** The result of a scan, with the request id of the server's log. */
export function RowMessages({ messages, requestId }: { messages: string[]; requestId?: string | undefined }) {
  if (messages.length === 0) return null;
  return (
    <div className="row-messages">
      {messages.map((message) => (
        <span key={message}>{message}</span>
      ))}
      {requestId && <RequestId id={requestId} />}
    </div>
  );
}

export function RequestId({ id }: { id: string }) {
  return (
    <button type="button" className="request-id" onClick={() => void navigator.clipboard?.writeText(id)} title={t('requestId.copy')}>
      {t('requestId.label', { id })}
    </button>
  );
}
