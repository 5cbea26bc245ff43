/*
 * The statuses that staff may give an item, by current status and permission: one table. The server has the same rule
 * and refuses what is not allowed.
 */

export interface Mark {
  status: string;
  /** The last segment of the route, and part of the permission. */
  route: string;
  isAllowedFrom: (present: string) => boolean;
}

const BEFORE_MISSING = new Set([
  'Available', 'Awaiting delivery', 'Awaiting pickup', 'Intellectual item', 'In transit', 'In process', 'In process (non-requestable)',
  'Long missing', 'Paged', 'Restricted', 'Unavailable', 'Unknown', 'Withdrawn',
]);

const usual = (status: string) => (present: string) => present !== status && present !== 'In process';

export const MARKS: readonly Mark[] = [
  { status: 'Missing', route: 'mark-missing', isAllowedFrom: (present) => BEFORE_MISSING.has(present) },
  {
    status: 'Withdrawn',
    route: 'mark-withdrawn',
    isAllowedFrom: (present) => present !== 'Withdrawn' && (BEFORE_MISSING.has(present) || present === 'Missing' || present === 'Lost and paid'),
  },
  ...[
    ['In process', 'mark-in-process'],
    ['In process (non-requestable)', 'mark-in-process-non-requestable'],
    ['Intellectual item', 'mark-intellectual-item'],
    ['Long missing', 'mark-long-missing'],
    ['Restricted', 'mark-restricted'],
    ['Unavailable', 'mark-unavailable'],
    ['Unknown', 'mark-unknown'],
  ].map(([status = '', route = '']): Mark => ({ status, route, isAllowedFrom: usual(status) })),
];

/** The marks that are open to a person for an item with this status. */
export function marksFor(present: string, may: (permission: string) => boolean): Mark[] {
  return MARKS.filter((mark) => mark.isAllowedFrom(present) && may(`inventory.items.item.${mark.route}.post`));
}
