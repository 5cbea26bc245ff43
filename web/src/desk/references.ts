/* Names of reference records by id, cached for ten minutes. */
import { useQuery } from '@tanstack/react-query';
import { get } from '../api/client.ts';
import type { Usergroup } from '../api/schema.ts';

interface Named {
  id: string;
  name?: string;
  group?: string;
  addressType?: string;
  description?: string;
}

const EMPTY: ReadonlyMap<string, string> = new Map();

function useNames(path: string, list: string): ReadonlyMap<string, string> {
  const query = useQuery({
    queryKey: ['names', path],
    staleTime: 600_000,
    queryFn: async () => {
      const found = await get<Record<string, Named[]>>(`${path}?limit=1000&query=cql.allRecords=1`);
      return new Map((found[list] ?? []).map((one) => [one.id, one.name ?? one.group ?? one.addressType ?? one.description ?? '']));
    },
  });
  return query.data ?? EMPTY;
}

export function useReferences() {
  return { groups: useNames('/groups', 'usergroups'), departments: useNames('/departments', 'departments') };
}
export const useAddressTypes = () => useNames('/addresstypes', 'addressTypes');
export const useNoteTypes = () => useNames('/note-types', 'noteTypes');

/** Patron groups with the settings that new accounts inherit. */
export function useUserGroups(): Usergroup[] {
  const query = useQuery({
    queryKey: ['user-groups'],
    staleTime: 600_000,
    queryFn: () => get<{ usergroups: Usergroup[] }>('/groups?limit=1000&query=cql.allRecords=1 sortby group'),
  });
  return query.data?.usergroups ?? [];
}
export const useServicePoints = () => useNames('/service-points', 'servicepoints');
export const useMaterialTypes = () => useNames('/material-types', 'mtypes');
export const useLoanTypes = () => useNames('/loan-types', 'loantypes');
export const useLocations = () => useNames('/locations', 'locations');
export const useNoticePolicies = () => useNames('/patron-notice-policy-storage/patron-notice-policies', 'patronNoticePolicies');
export const useTemplates = () => useNames('/templates', 'templates');
export const useCancellationReasons = () => useNames('/cancellation-reason-storage/cancellation-reasons', 'cancellationReasons');
