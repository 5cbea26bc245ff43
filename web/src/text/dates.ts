/* Dates in the time zone and locale of the tenant, not those of the browser. */

export interface TenantLocale {
  timezone: string;
  locale: string;
  currency: string;
}

let tenant: TenantLocale = { timezone: 'UTC', locale: 'en-US', currency: 'USD' };
let dateTime = formatter({ dateStyle: 'medium', timeStyle: 'short' });
let dateOnly = formatter({ dateStyle: 'medium' });
let timeOnly = formatter({ timeStyle: 'short' });
let money = moneyFormat();

function moneyFormat(): Intl.NumberFormat {
  return new Intl.NumberFormat(tenant.locale, { style: 'currency', currency: tenant.currency });
}

function formatter(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(tenant.locale, { ...options, timeZone: tenant.timezone });
}

export function setTenantLocale(wanted: Partial<TenantLocale>): void {
  const previous = tenant;
  try {
    tenant = { ...tenant, ...wanted };
    dateTime = formatter({ dateStyle: 'medium', timeStyle: 'short' });
    dateOnly = formatter({ dateStyle: 'medium' });
    timeOnly = formatter({ timeStyle: 'short' });
    money = moneyFormat();
  } catch {
    // An unknown zone or locale in the settings must not stop the desk.
    tenant = previous;
  }
}

export function formatDateTime(instant: string | Date | undefined): string {
  const date = valid(instant);
  return date ? dateTime.format(date) : '';
}
export function formatDate(instant: string | Date | undefined): string {
  const date = valid(instant);
  return date ? dateOnly.format(date) : '';
}
export function formatTime(instant: string | Date | undefined): string {
  const date = valid(instant);
  return date ? timeOnly.format(date) : '';
}
export function formatMoney(amount: number): string {
  return money.format(amount);
}

// Cached: constructing a formatter takes longer than rendering a row of a list.
const relative = new Map<string, Intl.RelativeTimeFormat>();

function relativeFormat(language: string): Intl.RelativeTimeFormat {
  const format = relative.get(language) ?? new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  relative.set(language, format);
  return format;
}

/** The distance to an instant, in the largest unit that fits: `in 3 weeks`, `2 days ago`. */
export function formatRelative(instant: string, language: string, now = Date.now()): string {
  const seconds = (new Date(instant).getTime() - now) / 1000;
  const units: [Intl.RelativeTimeFormatUnit, number][] = [
    ['week', 604_800],
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ];
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length * (length === 604_800 ? 2 : 1)) ?? [
    'minute' as const,
    60,
  ];
  return relativeFormat(language).format(Math.round(seconds / length), unit);
}

function valid(instant: string | Date | undefined): Date | undefined {
  if (instant === undefined || instant === '') return undefined;
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The local time in the tenant's time zone, as `2026-11-22T23:59`, the format of `<input type="datetime-local">`. */
export function toWallTime(instant: Date, zone = tenant.timezone): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  }).formatToParts(instant);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '00';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}`;
}

/** The instant of a local time in the tenant's time zone; within a gap of daylight saving, the instant after the gap. */
export function fromWallTime(wall: string, zone = tenant.timezone): Date {
  const asUtc = new Date(`${wall.length === 10 ? `${wall}T00:00` : wall}Z`).getTime();
  const offsetAt = (time: number) => new Date(`${toWallTime(new Date(time), zone)}Z`).getTime() - time;
  const minutes = Math.floor(asUtc / 60_000) * 60_000;
  let time = minutes - offsetAt(minutes);
  time = minutes - offsetAt(time);
  return new Date(time + (asUtc - minutes));
}

/** A calendar day such as `2026-11-22`, which has no zone. */
export function formatDay(day: string): string {
  return new Intl.DateTimeFormat(tenant.locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(`${day}T00:00Z`));
}

/** Today's date in the tenant's time zone, as `2026-11-22`. */
export function today(now = new Date()): string {
  return toWallTime(now).slice(0, 10);
}
