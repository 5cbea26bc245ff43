import { formatTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { type Bar, type Kind, KINDS } from './live.ts';

const WIDTH = 960;
const HEIGHT = 160;
/** Labels of the time axis. */
const TIMES = 5;

/** Stacked bars, one per quarter hour; the table next to it has the same numbers. */
export function BarChart({ bars }: { bars: readonly Bar[] }) {
  const highest = Math.max(1, ...bars.map((bar) => KINDS.reduce((sum, kind) => sum + bar.counts[kind], 0)));
  const step = WIDTH / Math.max(1, bars.length);
  const times = [...new Set(Array.from({ length: TIMES }, (_, index) => Math.round((index * (bars.length - 1)) / (TIMES - 1))))];
  return (
    <figure className="chart">
      <span className="hint">{t('dashboard.highest', { number: highest })}</span>
      {/* Stretched to the width of the page, so that text stands beside it. */}
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t('dashboard.chart')} preserveAspectRatio="none">
        <line x1="0" x2={WIDTH} y1="0.5" y2="0.5" className="grid" />
        {bars.map((bar, index) => (
          <BarOf key={bar.start.getTime()} bar={bar} x={index * step} width={Math.max(1, step - 1.5)} scale={HEIGHT / highest} />
        ))}
        <line x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} className="axis" />
      </svg>
      <div className="chart-times hint" aria-hidden="true">
        {times.map((index) => (
          <span key={index}>{formatTime(bars[index]?.start)}</span>
        ))}
      </div>
      <figcaption className="legend">
        {KINDS.map((kind) => (
          <span key={kind} className={`kind-${kind}`}>
            {t(`dashboard.${kind}`)}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function BarOf({ bar, x, width, scale }: { bar: Bar; x: number; width: number; scale: number }) {
  let top = HEIGHT;
  return KINDS.map((kind: Kind) => {
    const height = bar.counts[kind] * scale;
    top -= height;
    return height > 0 && <rect key={kind} className={`kind-${kind}`} x={x} y={top} width={width} height={height} />;
  });
}
