/* The server's routes for fees and fines. */
import { useQuery } from '@tanstack/react-query';
import { get, post, withQuery } from '../../api/client.ts';
import type { Account } from '../../api/schema.ts';
import type { FeeFineAction } from '../../api/bodies.ts';
import type { Fee, FeeAction } from './fee-actions.ts';

const PAGE = 1000;
const EVERYTHING = { query: 'cql.allRecords=1', limit: PAGE };

/** The fees/fines of a user, newest first, each with its actions, oldest first. */
export async function feesOf(userId: string): Promise<Fee[]> {
  const [{ accounts }, { feefineactions }] = await Promise.all([
    get<{ accounts: Account[] }>(withQuery('/accounts', { query: `userId==${userId}`, limit: PAGE })),
    get<{ feefineactions: FeeFineAction[] }>(withQuery('/feefineactions', { query: `userId==${userId} sortby dateAction`, limit: PAGE })),
  ]);
  const chargedAt = (account: Account) => account.dateCreated ?? (account.metadata?.['createdDate'] as string | undefined) ?? '';
  accounts.sort((one, other) => chargedAt(other).localeCompare(chargedAt(one)));
  return accounts.map((account) => ({ account, actions: feefineactions.filter((action) => action.accountId === account.id) }));
}

export interface Settlement {
  amount?: string;
  paymentMethod?: string;
  transactionInfo?: string;
  comments?: string;
  servicePointId: string;
  userName: string;
  notifyPatron: boolean;
}

/** The path of an action on one account or several, and the part of the body with their ids. */
function target(accountIds: readonly string[], action: string): { path: string; names: { accountIds?: readonly string[] } } {
  const [only] = accountIds;
  return accountIds.length === 1 && only !== undefined
    ? { path: `/accounts/${only}/${action}`, names: {} }
    : { path: `/accounts-bulk/${action}`, names: { accountIds } };
}

/** The amount that would remain to be paid or refunded. */
export async function check(action: Exclude<FeeAction, 'cancel'>, accountIds: readonly string[], amount: string): Promise<string> {
  const { path, names } = target(accountIds, `check-${action}`);
  return (await post<{ remainingAmount: string }>(path, { ...names, amount })).remainingAmount;
}

export function settle(action: FeeAction, accountIds: readonly string[], settlement: Settlement): Promise<void> {
  const { path, names } = target(accountIds, action);
  return post(path, { ...names, ...settlement });
}

/** Stores a new account and the record of its charge. */
export async function charge(account: Account, action: FeeFineAction): Promise<void> {
  await post('/accounts', account);
  await post('/feefineactions', action);
}

export interface Owner {
  id: string;
  owner: string;
  servicePointOwner?: { value: string; label?: string }[];
  defaultChargeNoticeId?: string;
  defaultActionNoticeId?: string;
}

export interface FeeFineType {
  id: string;
  feeFineType: string;
  automatic: boolean;
  defaultAmount?: number;
  ownerId?: string;
  chargeNoticeId?: string;
  actionNoticeId?: string;
}

/** A payment method, a reason, or a transfer account. */
interface Means {
  ownerId?: string;
  nameMethod?: string;
  nameReason?: string;
  accountName?: string;
}

function useAll<T>(path: string, list: string): T[] | undefined {
  const query = useQuery({
    queryKey: ['all', path],
    staleTime: 600_000,
    queryFn: () => get<Record<string, T[]>>(withQuery(path, EVERYTHING)),
  });
  return query.data?.[list];
}

export const useOwners = () => useAll<Owner>('/owners', 'owners');
export const useFeeFineTypes = () => useAll<FeeFineType>('/feefines', 'feefines');

const MEANS = {
  pay: ['/payments', 'payments'],
  waive: ['/waives', 'waivers'],
  transfer: ['/transfers', 'transfers'],
  refund: ['/refunds', 'refunds'],
} as const;

/** Names of the payment methods or transfer accounts of this owner; reasons belong to all owners. */
export function useMeans(action: Exclude<FeeAction, 'cancel'>, ownerId: string): string[] | undefined {
  const [path, list] = MEANS[action];
  const means = useAll<Means>(path, list);
  const own = means?.filter((one) => one.ownerId === undefined || one.ownerId === ownerId);
  return own?.map((one) => one.nameMethod ?? one.accountName ?? one.nameReason ?? '').filter((name) => name !== '');
}

interface RequiredComments {
  paid?: boolean;
  waived?: boolean;
  refunded?: boolean;
  transferredManually?: boolean;
}

const COMMENT_SETTINGS: Partial<Record<FeeAction, keyof RequiredComments>> = { pay: 'paid', waive: 'waived', refund: 'refunded', transfer: 'transferredManually' };

/** Whether the library requires a comment for the action; a cancellation always requires one. */
export function useCommentRequired(action: FeeAction): boolean {
  const [settings] = useAll<RequiredComments>('/comments', 'comments') ?? [];
  const name = COMMENT_SETTINGS[action];
  return name === undefined || settings?.[name] === true;
}

/** The owner linked to the service point, else the first. */
export function ownerAt(owners: readonly Owner[] | undefined, servicePointId: string | undefined): Owner | undefined {
  return owners?.find((owner) => owner.servicePointOwner?.some((point) => point.value === servicePointId)) ?? owners?.[0];
}
