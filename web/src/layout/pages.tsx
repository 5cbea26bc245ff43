/* The pages of the desk: one table of names, permissions and components. */
import { type ComponentType, lazy } from 'react';
import { CheckInPage } from '../desk/check-in/CheckInPage.tsx';
import { CheckOutPage } from '../desk/check-out/CheckOutPage.tsx';
import type { MessageKey } from '../text/messages.ts';
import type { Hotkey } from './hotkeys.ts';

export interface Page {
  name: string;
  title: MessageKey;
  /** Without this permission the page is hidden. */
  permission: string;
  hotkey?: Hotkey;
  Content: ComponentType;
}

export const PAGES: readonly Page[] = [
  { name: 'check-out', title: 'page.check-out', permission: 'circulation.check-out-by-barcode.post', hotkey: 'checkOut', Content: CheckOutPage },
  { name: 'check-in', title: 'page.check-in', permission: 'circulation.check-in-by-barcode.post', hotkey: 'checkIn', Content: CheckInPage },
  { name: 'requests', title: 'page.requests', permission: 'circulation.requests.collection.get', Content: lazy(() => import('../desk/requests/RequestsPage.tsx').then((module) => ({ default: module.RequestsPage }))) },
  { name: 'users', title: 'page.users', permission: 'users.collection.get', Content: lazy(() => import('../desk/users/UsersPage.tsx').then((module) => ({ default: module.UsersPage }))) },
  { name: 'items', title: 'page.items', permission: 'inventory.items.collection.get', Content: lazy(() => import('../desk/items/ItemsPage.tsx').then((module) => ({ default: module.ItemsPage }))) },
  { name: 'lists', title: 'page.lists', permission: 'lists.collection.get', Content: lazy(() => import('../desk/lists/ListsPage.tsx').then((module) => ({ default: module.ListsPage }))) },
  { name: 'dashboards', title: 'page.dashboards', permission: 'circulation.loans.collection.get', Content: lazy(() => import('../desk/dashboards/DashboardsPage.tsx').then((module) => ({ default: module.DashboardsPage }))) },
  { name: 'settings', title: 'page.settings', permission: 'circulation.rules.get', Content: lazy(() => import('../desk/settings/index.ts').then((module) => module.load())) },
  { name: 'offline', title: 'page.offline', permission: 'circulation.check-out-by-barcode.post', Content: lazy(() => import('../desk/offline/OfflinePage.tsx').then((module) => ({ default: module.OfflinePage }))) },
];
