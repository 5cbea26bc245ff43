/* The tenant's settings that affect the desk. */
import { get, withQuery } from '../api/client.ts';
import type { ServicePoint, StaffSlip } from '../api/schema.ts';
import type { Self } from '../api/bodies.ts';
import { setTenantLocale, type TenantLocale } from '../text/dates.ts';

export interface DeskSettings {
  /** Fields by which a patron is identified. */
  patronIdentifiers: string[];
  audioAlerts: boolean;
  audioTheme: string;
  wildcardLookup: boolean;
  /** Minutes after which an idle session ends; undefined: never. */
  timeoutMinutes: number | undefined;
  titleLevelRequests: boolean;
  /** New requests are title-level by default. */
  titleLevelByDefault: boolean;
  /** Printing of pick slips is recorded. */
  printLog: boolean;
}

/** Data that is loaded once after logging in. */
export interface Workplace {
  self: Self;
  permissions: ReadonlySet<string>;
  servicePoints: ServicePoint[];
  staffSlips: StaffSlip[];
  settings: DeskSettings;
}

interface OtherSettings {
  prefPatronIdentifier?: string;
  audioAlertsEnabled?: boolean | string;
  audioTheme?: string;
  wildcardLookupEnabled?: boolean | string;
  checkoutTimeout?: boolean | string;
  checkoutTimeoutDuration?: number | string;
}

/** Identifier names of the settings, with the user field of each. */
const IDENTIFIERS: Record<string, string> = { externalSystemId: 'externalSystemId', id: 'id', username: 'username', barcode: 'barcode' };

export async function loadWorkplace(): Promise<Workplace> {
  const self = await get<Self>('/bl-users/_self');
  const [permissions, servicePoints, staffSlips, settings, locale] = await Promise.all([
    loadPermissions(self),
    loadServicePoints(self),
    optional(get<{ staffSlips: StaffSlip[] }>('/staff-slips-storage/staff-slips?limit=100')),
    loadSettings(),
    optional(get<TenantLocale>('/locale')),
  ]);
  if (locale) setTenantLocale(locale);
  return { self, permissions, servicePoints, staffSlips: staffSlips?.staffSlips ?? [], settings };
}

async function optional<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch(() => undefined);
}

async function loadPermissions(self: Self): Promise<ReadonlySet<string>> {
  const path = withQuery(`/perms/users/${self.user.id}/permissions`, { expanded: 'true', indexField: 'userId' });
  const names = await optional(get<{ permissionNames: string[] }>(path));
  return new Set(names?.permissionNames ?? self.permissions?.permissions ?? []);
}

async function loadServicePoints(self: Self): Promise<ServicePoint[]> {
  const own = self.servicePointsUser?.servicePoints ?? [];
  if (own.length > 0) return own;
  const all = await optional(get<{ servicepoints: ServicePoint[] }>('/service-points?limit=1000&query=cql.allRecords=1 sortby name'));
  return all?.servicepoints ?? [];
}

async function loadSettings(): Promise<DeskSettings> {
  interface CirculationSettings {
    circulationSettings: { name: string; value: Record<string, unknown> }[];
  }
  const [stored, older] = await Promise.all([
    optional(get<CirculationSettings>('/circulation/settings?limit=100')),
    optional(get<{ configs: { value: string }[] }>(withQuery('/configurations/entries', { query: 'module==CHECKOUT and configName==other_settings' }))),
  ]);
  const named = (name: string) => stored?.circulationSettings.find((one) => one.name === name)?.value;
  const printLog = isOn(named('printEventLogFeature')?.['enablePrintLog']);
  const tlr = named('generalTlr') ?? named('TLR');
  return { ...readSettings(named('other_settings') ?? parsed(older?.configs[0]?.value)), titleLevelRequests: isOn(tlr?.['titleLevelRequestsFeatureEnabled']), titleLevelByDefault: isOn(tlr?.['createTitleLevelRequestsByDefault']), printLog };
}

function parsed(text: string | undefined): OtherSettings {
  try {
    return JSON.parse(text ?? '{}') as OtherSettings;
  } catch {
    return {};
  }
}

const isOn = (value: unknown) => value === true || value === 'true';

export function readSettings(other: OtherSettings): Omit<DeskSettings, 'titleLevelRequests' | 'titleLevelByDefault' | 'printLog'> {
  const wanted = (other.prefPatronIdentifier ?? '').split(',').map((name) => name.trim());
  const fields = wanted.map((name) => IDENTIFIERS[name] ?? (name.startsWith('customFields.') ? name : undefined));
  const known = fields.filter((field) => field !== undefined);
  const minutes = Number(other.checkoutTimeoutDuration ?? 3);
  return {
    patronIdentifiers: known.length > 0 ? known : ['barcode'],
    audioAlerts: isOn(other.audioAlertsEnabled),
    audioTheme: other.audioTheme ?? 'classic',
    wildcardLookup: isOn(other.wildcardLookupEnabled),
    timeoutMinutes: isOn(other.checkoutTimeout) && minutes > 0 ? minutes : undefined,
  };
}
