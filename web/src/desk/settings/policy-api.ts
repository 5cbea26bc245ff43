import { useQuery } from '@tanstack/react-query';
import { get, withQuery } from '../../api/client.ts';

/** The five kinds of policy of a circulation rule, by the letter that the rules use. */
export const POLICY_KINDS = {
  loan: { letter: 'l', path: '/loan-policy-storage/loan-policies', list: 'loanPolicies', id: 'loanPolicyId' },
  request: { letter: 'r', path: '/request-policy-storage/request-policies', list: 'requestPolicies', id: 'requestPolicyId' },
  notice: { letter: 'n', path: '/patron-notice-policy-storage/patron-notice-policies', list: 'patronNoticePolicies', id: 'noticePolicyId' },
  'overdue-fine': { letter: 'o', path: '/overdue-fines-policies', list: 'overdueFinePolicies', id: 'overduePolicyId' },
  'lost-item': { letter: 'i', path: '/lost-item-fees-policies', list: 'lostItemFeePolicies', id: 'lostItemPolicyId' },
} as const;
export type PolicyKind = keyof typeof POLICY_KINDS;
export const KINDS = Object.keys(POLICY_KINDS) as PolicyKind[];

export interface Policy extends Record<string, unknown> {
  id: string;
  name: string;
  description?: string;
}

export function usePolicies(kind: PolicyKind) {
  const { path, list } = POLICY_KINDS[kind];
  return useQuery({
    queryKey: ['policies', kind],
    staleTime: 60_000,
    queryFn: async () => (await get<Record<string, Policy[]>>(`${path}?limit=1000&query=cql.allRecords=1`))[list] ?? [],
  });
}

/** Names of all policies by id. */
export function usePolicyNames(): ReadonlyMap<string, string> {
  const all = [usePolicies('loan'), usePolicies('request'), usePolicies('notice'), usePolicies('overdue-fine'), usePolicies('lost-item')];
  return new Map(all.flatMap((query) => (query.data ?? []).map((policy) => [policy.id, policy.name] as const)));
}

export interface Situation {
  patronGroup: string;
  loanType: string;
  materialType: string;
  location: string;
}

export interface Match {
  kind: PolicyKind;
  policyId: string;
  /** The line of the rule that applies; undefined if the server does not return it. */
  line: number | undefined;
}

/** The policy of each kind that applies, and the line of its rule. */
export function findMatches(situation: Situation): Promise<Match[]> {
  const parameters = {
    patron_type_id: situation.patronGroup,
    loan_type_id: situation.loanType,
    item_type_id: situation.materialType,
    location_id: situation.location,
  };
  return Promise.all(
    KINDS.map(async (kind) => {
      const path = withQuery(`/circulation/rules/${kind}-policy-all`, parameters);
      const { circulationRuleMatches } = await get<{ circulationRuleMatches: Record<string, unknown>[] }>(path);
      const best = circulationRuleMatches[0] ?? {};
      const policyId = Object.entries(best).find(([name]) => name.endsWith('PolicyId') || name.endsWith('policyId'))?.[1];
      const line = best['circulationRuleLine'];
      return { kind, policyId: String(policyId ?? ''), line: typeof line === 'number' ? line : undefined };
    }),
  );
}
