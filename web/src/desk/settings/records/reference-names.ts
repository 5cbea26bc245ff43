import { useQuery } from '@tanstack/react-query';
import { get } from '../../../api/client.ts';
import type { ReferenceName } from './fields.ts';

/** Source of the names: path, list in the response, field with the name. */
const SOURCES: Record<ReferenceName, [path: string, list: string, name: string]> = {
  servicePoints: ['/service-points', 'servicepoints', 'name'],
  institutions: ['/location-units/institutions', 'locinsts', 'name'],
  campuses: ['/location-units/campuses', 'loccamps', 'name'],
  libraries: ['/location-units/libraries', 'loclibs', 'name'],
  schedules: ['/fixed-due-date-schedule-storage/fixed-due-date-schedules', 'fixedDueDateSchedules', 'name'],
  templates: ['/templates', 'templates', 'name'],
  owners: ['/owners', 'owners', 'owner'],
  blockTemplates: ['/manual-block-templates', 'manualBlockTemplates', 'name'],
  staffSlips: ['/staff-slips-storage/staff-slips', 'staffSlips', 'name'],
  groups: ['/groups', 'usergroups', 'group'],
};

const NONE: ReadonlyMap<string, string> = new Map();

/** Names by id, sorted by name. */
export function useReferenceNames(of: ReferenceName): ReadonlyMap<string, string> {
  const [path, list, name] = SOURCES[of];
  const query = useQuery({
    queryKey: ['records', 'names', of],
    staleTime: 60_000,
    queryFn: async () => {
      const found = await get<Record<string, Record<string, string>[]>>(`${path}?limit=1000&query=cql.allRecords=1`);
      const pairs = (found[list] ?? []).map((one) => [one['id'] ?? '', one[name] ?? one['description'] ?? one['id'] ?? ''] as const);
      return new Map([...pairs].sort(([, one], [, other]) => one.localeCompare(other)));
    },
  });
  return query.data ?? NONE;
}
