/* Routes of permission sets and their users. */
import { get, post, put, remove, withQuery } from '../../../api/client.ts';
import type { User } from '../../../api/schema.ts';
import { usersById } from '../../circulation-api.ts';

export interface Permission {
  id: string;
  permissionName: string;
  displayName?: string;
  description?: string;
  mutable: boolean;
  subPermissions: string[];
}

const MOST = 5_000;

const byName = (one: Permission, other: Permission) => nameOf(one).localeCompare(nameOf(other));
export const nameOf = (permission: Permission) => permission.displayName || permission.permissionName;

/** All permissions and permission sets. */
export async function findPermissions(): Promise<Permission[]> {
  const path = withQuery('/perms/permissions', { length: MOST, limit: MOST });
  return (await get<{ permissions: Permission[] }>(path)).permissions.sort(byName);
}

export function saveSet(set: Omit<Permission, 'id' | 'permissionName'> & Partial<Permission>): Promise<unknown> {
  return set.id === undefined ? post('/perms/permissions', { ...set, id: crypto.randomUUID() }) : put(`/perms/permissions/${set.id}`, set);
}

export const deleteSet = (id: string) => remove(`/perms/permissions/${id}`);

export interface Holder {
  user: User;
  permissions: string[];
}

/** Staff: users who have a permission. */
export async function findHolders(): Promise<Holder[]> {
  const { permissionUsers } = await get<{ permissionUsers: { userId: string; permissions: string[] }[] }>(withQuery('/perms/users', { length: 1000, limit: 1000 }));
  const holders: Holder[] = [];
  for (let at = 0; at < permissionUsers.length; at += 50) {
    const part = permissionUsers.slice(at, at + 50);
    const users = await usersById(part.map((one) => one.userId));
    for (const user of users) holders.push({ user, permissions: part.find((one) => one.userId === user.id)?.permissions ?? [] });
  }
  return holders;
}

export async function grant(userId: string, permissionName: string): Promise<void> {
  const path = `/perms/users/${userId}/permissions?indexField=userId`;
  const has = await get<{ totalRecords: number }>(withQuery('/perms/users', { query: `userId==${userId}`, limit: 1 }));
  // A user without permissions needs a permissions record first.
  if (has.totalRecords === 0) await post('/perms/users', { id: crypto.randomUUID(), userId, permissions: [] });
  await post(path, { permissionName });
}

export const revoke = (userId: string, permissionName: string) => remove(`/perms/users/${userId}/permissions/${encodeURIComponent(permissionName)}?indexField=userId`);
