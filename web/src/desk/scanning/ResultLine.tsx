import { Sign } from '../../parts/controls.tsx';
import { type Store, useStore } from '../../parts/store.ts';
import type { Result } from '../desk-tools.ts';

/** The newest result of a session. */
export function LatestResult<S extends { result: Result | undefined }>({ store }: { store: Store<S> }) {
  return <ResultLine result={useStore(store, (state) => state.result)} />;
}

/**
 * The newest result, large: color, icon and text. A screen reader announces errors immediately and successes politely.
 */
export function ResultLine({ result }: { result: Result | undefined }) {
  const urgent = result?.kind === 'error' || result?.kind === 'warning';
  const content = result && (
    <div className={`result ${result.kind}`} key={result.number}>
      <Sign kind={result.kind} />
      <span>{result.text}</span>
    </div>
  );
  return (
    <div className="result-line">
      <div role="status">{!urgent && content}</div>
      <div role="alert">{urgent && content}</div>
    </div>
  );
}
