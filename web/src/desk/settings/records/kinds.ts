/* The records of the circulation settings: one table of their routes, permissions and fields. */
import type { MessageKey } from '../../../text/messages.ts';
import { type Field, type Json, valueAt } from './fields.ts';

export interface RecordKind {
  /** Name in the page's address. */
  name: string;
  title: MessageKey;
  path: string;
  /** Name of the list in a collection response. */
  list: string;
  /** Permissions are this with `.collection.get`, `.item.post` and so on. */
  permission: string;
  nameAt: string;
  /** Field that the list shows next to the name. */
  about?: string;
  blank: Json;
  fields: readonly Field[];
  /** Shows a preview of the record while it is edited. */
  preview?: 'notice';
  /** The set of records is fixed: they can be changed, but not added or deleted. */
  fixed?: boolean;
}

const is = (path: string, ...values: unknown[]) => (record: Json) => values.includes(valueAt(record, path));
const both = (...conditions: ((record: Json) => boolean)[]) => (record: Json) => conditions.every((condition) => condition(record));
const not = (condition: (record: Json) => boolean) => (record: Json) => !condition(record);

const LOAN_UNITS = ['Minutes', 'Hours', 'Days', 'Weeks', 'Months'] as const;
const FEE_UNITS = ['Minutes', 'Hours', 'Days', 'Weeks', 'Months', 'Years'] as const;
const RATE_UNITS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;

const name: Field = { kind: 'text', at: 'name', label: 'field.name', required: true };
const description: Field = { kind: 'text', at: 'description', label: 'field.description', rows: 2 };

const lent = is('loanable', true);
const renewed = both(lent, is('renewable', true));
const rolling = both(lent, is('loansPolicy.profileId', 'Rolling'));
const fixed = both(lent, is('loansPolicy.profileId', 'Fixed'));

const LOAN_POLICY: readonly Field[] = [
  name,
  description,
  { kind: 'yesNo', at: 'loanable', label: 'field.loanable' },
  { kind: 'heading', label: 'field.loans', when: lent },
  { kind: 'choice', at: 'loansPolicy.profileId', label: 'field.profile', options: ['Rolling', 'Fixed', 'Indefinite'], required: true, when: lent },
  { kind: 'period', at: 'loansPolicy.period', label: 'field.period', units: LOAN_UNITS, required: true, when: rolling },
  { kind: 'reference', at: 'loansPolicy.fixedDueDateScheduleId', label: 'field.schedule', of: 'schedules', required: true, when: fixed },
  { kind: 'reference', at: 'loansPolicy.fixedDueDateScheduleId', label: 'field.scheduleLimit', of: 'schedules', when: rolling },
  {
    kind: 'choice',
    at: 'loansPolicy.closedLibraryDueDateManagementId',
    label: 'field.closed',
    options: [
      'CURRENT_DUE_DATE', 'END_OF_THE_PREVIOUS_OPEN_DAY', 'END_OF_THE_NEXT_OPEN_DAY', 'CURRENT_DUE_DATE_TIME',
      'END_OF_THE_CURRENT_SERVICE_POINT_HOURS', 'BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS',
    ],
    when: both(lent, not(is('loansPolicy.profileId', 'Indefinite'))),
  },
  {
    kind: 'period', at: 'loansPolicy.openingTimeOffset', label: 'field.openingOffset', units: ['Minutes', 'Hours'],
    when: both(rolling, is('loansPolicy.closedLibraryDueDateManagementId', 'BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS')),
  },
  { kind: 'period', at: 'loansPolicy.gracePeriod', label: 'field.grace', units: LOAN_UNITS, when: lent },
  { kind: 'number', at: 'loansPolicy.itemLimit', label: 'field.itemLimit', whole: true, hint: 'field.itemLimitHint', when: lent },
  { kind: 'yesNo', at: 'loansPolicy.forUseAtLocation', label: 'field.useAtLocation', when: lent },
  { kind: 'period', at: 'loansPolicy.holdShelfExpiryPeriodForUseAtLocation', label: 'field.useAtLocationPeriod', units: LOAN_UNITS, when: both(lent, is('loansPolicy.forUseAtLocation', true)) },
  { kind: 'heading', label: 'field.renewals', when: lent },
  { kind: 'yesNo', at: 'renewable', label: 'field.renewable', always: true, when: lent },
  { kind: 'yesNo', at: 'renewalsPolicy.unlimited', label: 'field.unlimitedRenewals', when: renewed },
  { kind: 'number', at: 'renewalsPolicy.numberAllowed', label: 'field.numberOfRenewals', whole: true, required: true, when: both(renewed, not(is('renewalsPolicy.unlimited', true))) },
  { kind: 'choice', at: 'renewalsPolicy.renewFromId', label: 'field.renewFrom', options: ['SYSTEM_DATE', 'CURRENT_DUE_DATE'], required: true, when: both(renewed, rolling) },
  { kind: 'yesNo', at: 'renewalsPolicy.differentPeriod', label: 'field.differentPeriod', when: renewed },
  { kind: 'period', at: 'renewalsPolicy.period', label: 'field.renewalPeriod', units: LOAN_UNITS, required: true, when: both(renewed, rolling, is('renewalsPolicy.differentPeriod', true)) },
  { kind: 'reference', at: 'renewalsPolicy.alternateFixedDueDateScheduleId', label: 'field.renewalSchedule', of: 'schedules', when: both(renewed, is('renewalsPolicy.differentPeriod', true)) },
  { kind: 'heading', label: 'field.recalls', when: lent },
  { kind: 'period', at: 'requestManagement.recalls.recallReturnInterval', label: 'field.recallReturn', units: LOAN_UNITS, when: lent },
  { kind: 'period', at: 'requestManagement.recalls.minimumGuaranteedLoanPeriod', label: 'field.minimumLoan', units: LOAN_UNITS, when: lent },
  { kind: 'yesNo', at: 'requestManagement.recalls.allowRecallsToExtendOverdueLoans', label: 'field.recallsExtend', when: lent },
  { kind: 'period', at: 'requestManagement.recalls.alternateRecallReturnInterval', label: 'field.recallReturnOverdue', units: LOAN_UNITS, when: both(lent, is('requestManagement.recalls.allowRecallsToExtendOverdueLoans', true)) },
  { kind: 'heading', label: 'field.holds', when: lent },
  { kind: 'period', at: 'requestManagement.holds.alternateCheckoutLoanPeriod', label: 'field.periodWithHold', units: LOAN_UNITS, when: lent },
  { kind: 'yesNo', at: 'requestManagement.holds.renewItemsWithRequest', label: 'field.renewWithHold', when: renewed },
  { kind: 'period', at: 'requestManagement.holds.alternateRenewalLoanPeriod', label: 'field.renewalWithHold', units: LOAN_UNITS, when: both(renewed, is('requestManagement.holds.renewItemsWithRequest', true)) },
];

const offers = (type: string) => (record: Json) => ((valueAt(record, 'requestTypes') as unknown[] | undefined) ?? []).includes(type);

const REQUEST_POLICY: readonly Field[] = [
  name,
  description,
  { kind: 'choices', at: 'requestTypes', label: 'field.requestTypes', options: ['Hold', 'Page', 'Recall'] },
  { kind: 'heading', label: 'field.allowedPoints' },
  ...(['Hold', 'Page', 'Recall'] as const).map(
    (type): Field => ({ kind: 'references', at: `allowedServicePoints.${type}`, label: `field.points${type}`, of: 'servicePoints', hint: 'field.allPoints', when: offers(type) }),
  ),
];

const atSomeTime = is('sendOptions.sendWhen', 'Due date', 'Hold expiration', 'Request expiration', 'Aged to lost', 'Overdue fine returned', 'Overdue fine renewed', 'Aged to lost - fine charged');
const beforeOrAfter = is('sendOptions.sendHow', 'Before', 'After');

function noticeFields(events: readonly string[], how: readonly string[]): readonly Field[] {
  return [
    { kind: 'reference', at: 'templateId', label: 'field.template', of: 'templates', required: true },
    { kind: 'choice', at: 'format', label: 'field.format', options: ['Email', 'SMS', 'Print'], required: true },
    { kind: 'choice', at: 'sendOptions.sendWhen', label: 'field.sendWhen', options: events, required: true },
    { kind: 'choice', at: 'sendOptions.sendHow', label: 'field.sendHow', options: how, required: true, when: atSomeTime },
    { kind: 'period', at: 'sendOptions.sendBy', label: 'field.sendBy', units: FEE_UNITS, required: true, when: both(atSomeTime, beforeOrAfter) },
    { kind: 'choice', at: 'frequency', label: 'field.frequency', options: ['One time', 'Recurring'], when: both(atSomeTime, beforeOrAfter) },
    { kind: 'period', at: 'sendOptions.sendEvery', label: 'field.sendEvery', units: FEE_UNITS, required: true, when: both(atSomeTime, is('frequency', 'Recurring')) },
    { kind: 'yesNo', at: 'realTime', label: 'field.realTime' },
  ];
}

const NOTICE_POLICY: readonly Field[] = [
  name,
  description,
  { kind: 'yesNo', at: 'active', label: 'field.active' },
  {
    kind: 'list', at: 'loanNotices', label: 'field.loanNotices', add: 'field.addNotice', blank: { format: 'Email', realTime: false, sendOptions: { sendWhen: 'Due date', sendHow: 'Upon At' } },
    of: noticeFields(['Due date', 'Renewed', 'Check in', 'Check out', 'Manual due date change', 'Item recalled', 'Hold request for item', 'Aged to lost'], ['Upon At', 'Before', 'After']),
  },
  {
    kind: 'list', at: 'requestNotices', label: 'field.requestNotices', add: 'field.addNotice', blank: { format: 'Email', realTime: false, sendOptions: { sendWhen: 'Available' } },
    of: noticeFields(['Available', 'Hold expiration', 'Hold request', 'Recall request', 'Paging request', 'Request cancellation', 'Request expiration'], ['Upon At', 'Before', 'After']),
  },
  {
    kind: 'list', at: 'feeFineNotices', label: 'field.feeNotices', add: 'field.addNotice', blank: { format: 'Email', realTime: false, sendOptions: { sendWhen: 'Overdue fine returned', sendHow: 'Upon At' } },
    of: noticeFields(['Overdue fine returned', 'Overdue fine renewed', 'Aged to lost - fine charged', 'Aged to lost & item returned - fine adjusted', 'Aged to lost & item replaced - fine adjusted'], ['Upon At', 'After']),
  },
];

const OVERDUE_FINE_POLICY: readonly Field[] = [
  name,
  description,
  { kind: 'rate', at: 'overdueFine', label: 'field.overdueFine', units: RATE_UNITS },
  { kind: 'number', at: 'maxOverdueFine', label: 'field.maxOverdueFine', hint: 'field.zeroIsNoLimit' },
  { kind: 'yesNo', at: 'countClosed', label: 'field.countClosed' },
  { kind: 'yesNo', at: 'forgiveOverdueFine', label: 'field.forgive' },
  { kind: 'heading', label: 'field.recalls' },
  { kind: 'rate', at: 'overdueRecallFine', label: 'field.recallFine', units: RATE_UNITS },
  { kind: 'number', at: 'maxOverdueRecallFine', label: 'field.maxRecallFine', hint: 'field.zeroIsNoLimit' },
  { kind: 'yesNo', at: 'gracePeriodRecall', label: 'field.ignoreGrace' },
  { kind: 'heading', label: 'field.reminders' },
  {
    kind: 'list', at: 'reminderFeesPolicy.reminderSchedule', label: 'field.reminderSchedule', add: 'field.addReminder', blank: { interval: 1, timeUnitId: 'week', reminderFee: 0, noticeFormat: 'Email' },
    of: [
      { kind: 'number', at: 'interval', label: 'field.reminderAfter', whole: true, required: true },
      { kind: 'choice', at: 'timeUnitId', label: 'field.unit', options: ['minute', 'day', 'week'], required: true },
      { kind: 'number', at: 'reminderFee', label: 'field.reminderFee', required: true },
      { kind: 'choice', at: 'noticeFormat', label: 'field.format', options: ['Email', 'Print', 'None'] },
      { kind: 'reference', at: 'noticeTemplateId', label: 'field.template', of: 'templates', required: true },
      { kind: 'reference', at: 'blockTemplateId', label: 'field.blockTemplate', of: 'blockTemplates' },
    ],
  },
];

const LOST_ITEM_FEE_POLICY: readonly Field[] = [
  name,
  description,
  { kind: 'period', at: 'itemAgedLostOverdue', label: 'field.agedToLost', units: FEE_UNITS },
  { kind: 'period', at: 'patronBilledAfterAgedLost', label: 'field.billedAfter', units: FEE_UNITS },
  { kind: 'period', at: 'recalledItemAgedLostOverdue', label: 'field.recalledAgedToLost', units: FEE_UNITS },
  { kind: 'period', at: 'patronBilledAfterRecalledItemAgedLost', label: 'field.recalledBilledAfter', units: FEE_UNITS },
  { kind: 'choice', at: 'chargeAmountItem.chargeType', label: 'field.itemFee', options: ['anotherCost', 'actualCost'], required: true },
  { kind: 'number', at: 'chargeAmountItem.amount', label: 'field.setCost', required: true, when: is('chargeAmountItem.chargeType', 'anotherCost') },
  { kind: 'period', at: 'lostItemChargeFeeFine', label: 'field.chargeWithin', units: FEE_UNITS, when: is('chargeAmountItem.chargeType', 'actualCost') },
  { kind: 'number', at: 'lostItemProcessingFee', label: 'field.processingFee' },
  { kind: 'yesNo', at: 'chargeAmountItemPatron', label: 'field.chargeDeclared' },
  { kind: 'yesNo', at: 'chargeAmountItemSystem', label: 'field.chargeAged' },
  { kind: 'heading', label: 'field.whenReturned' },
  { kind: 'yesNo', at: 'returnedLostItemProcessingFee', label: 'field.refundProcessing' },
  { kind: 'choice', at: 'lostItemReturned', label: 'field.overdueWhenReturned', options: ['Charge', 'Remove'] },
  { kind: 'period', at: 'feesFinesShallRefunded', label: 'field.refundWithin', units: FEE_UNITS },
  { kind: 'heading', label: 'field.replacements' },
  { kind: 'yesNo', at: 'replacementAllowed', label: 'field.replacementAllowed' },
  { kind: 'yesNo', at: 'replacedLostItemProcessingFee', label: 'field.refundIfReplaced', when: is('replacementAllowed', true) },
  { kind: 'number', at: 'replacementProcessingFee', label: 'field.replacementFee', when: is('replacementAllowed', true) },
];

const code: Field = { kind: 'text', at: 'code', label: 'field.code', required: true };
const inventory = 'inventory-storage';
const circulation = 'circulation-storage';

/** All kinds, in the order in which the page lists them. */
export const KINDS_OF_RECORDS: readonly RecordKind[] = [
  { name: 'loan-policies', title: 'kind.loanPolicies', path: '/loan-policy-storage/loan-policies', list: 'loanPolicies', permission: `${circulation}.loan-policies`, nameAt: 'name', about: 'description', blank: { loanable: true, renewable: false, loansPolicy: { profileId: 'Rolling', closedLibraryDueDateManagementId: 'CURRENT_DUE_DATE' } }, fields: LOAN_POLICY },
  {
    name: 'due-date-schedules', title: 'kind.schedules', path: '/fixed-due-date-schedule-storage/fixed-due-date-schedules', list: 'fixedDueDateSchedules', permission: `${circulation}.fixed-due-date-schedules`, nameAt: 'name', about: 'description', blank: { schedules: [] },
    fields: [name, description, { kind: 'list', at: 'schedules', label: 'field.schedules', add: 'field.addSchedule', blank: {}, of: [
      { kind: 'date', at: 'from', label: 'field.from', required: true },
      { kind: 'date', at: 'to', label: 'field.to', required: true },
      { kind: 'date', at: 'due', label: 'field.due', required: true },
    ] }],
  },
  { name: 'request-policies', title: 'kind.requestPolicies', path: '/request-policy-storage/request-policies', list: 'requestPolicies', permission: `${circulation}.request-policies`, nameAt: 'name', about: 'description', blank: { requestTypes: ['Hold', 'Page', 'Recall'] }, fields: REQUEST_POLICY },
  { name: 'overdue-fine-policies', title: 'kind.overdueFinePolicies', path: '/overdue-fines-policies', list: 'overdueFinePolicies', permission: 'overdue-fines-policies', nameAt: 'name', about: 'description', blank: { countClosed: true, forgiveOverdueFine: true, gracePeriodRecall: true }, fields: OVERDUE_FINE_POLICY },
  { name: 'lost-item-fee-policies', title: 'kind.lostItemFeePolicies', path: '/lost-item-fees-policies', list: 'lostItemFeePolicies', permission: 'lost-item-fees-policies', nameAt: 'name', about: 'description', blank: { chargeAmountItem: { chargeType: 'anotherCost', amount: 0 }, lostItemProcessingFee: 0, chargeAmountItemPatron: false, chargeAmountItemSystem: false, returnedLostItemProcessingFee: false, replacedLostItemProcessingFee: false, replacementProcessingFee: 0, replacementAllowed: false, lostItemReturned: 'Charge' }, fields: LOST_ITEM_FEE_POLICY },
  { name: 'notice-policies', title: 'kind.noticePolicies', path: '/patron-notice-policy-storage/patron-notice-policies', list: 'patronNoticePolicies', permission: `${circulation}.patron-notice-policies`, nameAt: 'name', about: 'description', blank: { active: true, loanNotices: [], requestNotices: [], feeFineNotices: [] }, fields: NOTICE_POLICY },
  {
    name: 'notice-templates', title: 'kind.templates', path: '/templates', list: 'templates', permission: 'templates', nameAt: 'name', about: 'description', preview: 'notice',
    blank: { active: true, category: 'Loan', outputFormats: ['text/html'], templateResolver: 'mustache', localizedTemplates: { en: { header: '', body: '', attachments: [] } } },
    fields: [
      name,
      description,
      { kind: 'yesNo', at: 'active', label: 'field.active' },
      { kind: 'choice', at: 'category', label: 'field.category', options: ['Loan', 'Request', 'AutomatedFeeFine', 'FeeFineCharge', 'FeeFineAction'] },
      { kind: 'text', at: 'localizedTemplates.en.header', label: 'field.subject', required: true },
      { kind: 'text', at: 'localizedTemplates.en.body', label: 'field.body', rows: 10, required: true, hint: 'field.bodyHint' },
    ],
  },
  { name: 'cancellation-reasons', title: 'kind.cancellationReasons', path: '/cancellation-reason-storage/cancellation-reasons', list: 'cancellationReasons', permission: `${circulation}.cancellation-reasons`, nameAt: 'name', about: 'description', blank: { requiresAdditionalInformation: false }, fields: [name, description, { kind: 'text', at: 'publicDescription', label: 'field.publicDescription', rows: 2 }, { kind: 'yesNo', at: 'requiresAdditionalInformation', label: 'field.needsInformation' }] },
  { name: 'owners', title: 'kind.owners', path: '/owners', list: 'owners', permission: 'owners', nameAt: 'owner', about: 'desc', blank: {}, fields: [
    { kind: 'text', at: 'owner', label: 'field.owner', required: true },
    { kind: 'text', at: 'desc', label: 'field.description', rows: 2 },
    { kind: 'references', at: 'servicePointOwner', label: 'field.ownersPoints', of: 'servicePoints', stored: 'valueAndLabel' },
    { kind: 'reference', at: 'defaultChargeNoticeId', label: 'field.chargeNotice', of: 'templates' },
    { kind: 'reference', at: 'defaultActionNoticeId', label: 'field.actionNotice', of: 'templates' },
  ] },
  { name: 'fee-fine-types', title: 'kind.feefines', path: '/feefines', list: 'feefines', permission: 'feefines', nameAt: 'feeFineType', blank: { automatic: false }, fields: [
    { kind: 'text', at: 'feeFineType', label: 'field.name', required: true },
    { kind: 'reference', at: 'ownerId', label: 'field.owner', of: 'owners', required: true, when: not(is('automatic', true)) },
    { kind: 'number', at: 'defaultAmount', label: 'field.defaultAmount' },
    { kind: 'reference', at: 'chargeNoticeId', label: 'field.chargeNotice', of: 'templates' },
    { kind: 'reference', at: 'actionNoticeId', label: 'field.actionNotice', of: 'templates' },
  ] },
  { name: 'payment-methods', title: 'kind.payments', path: '/payments', list: 'payments', permission: 'payments', nameAt: 'nameMethod', blank: { allowedRefundMethod: false }, fields: [
    { kind: 'text', at: 'nameMethod', label: 'field.name', required: true },
    { kind: 'reference', at: 'ownerId', label: 'field.owner', of: 'owners', required: true },
    { kind: 'yesNo', at: 'allowedRefundMethod', label: 'field.refundMethod' },
  ] },
  { name: 'waive-reasons', title: 'kind.waives', path: '/waives', list: 'waivers', permission: 'waives', nameAt: 'nameReason', about: 'description', blank: {}, fields: [{ kind: 'text', at: 'nameReason', label: 'field.name', required: true }, description] },
  { name: 'refund-reasons', title: 'kind.refunds', path: '/refunds', list: 'refunds', permission: 'refunds', nameAt: 'nameReason', about: 'description', blank: {}, fields: [{ kind: 'text', at: 'nameReason', label: 'field.name', required: true }, description] },
  { name: 'transfer-accounts', title: 'kind.transfers', path: '/transfers', list: 'transfers', permission: 'transfers', nameAt: 'accountName', about: 'desc', blank: {}, fields: [
    { kind: 'text', at: 'accountName', label: 'field.name', required: true },
    { kind: 'text', at: 'desc', label: 'field.description', rows: 2 },
    { kind: 'reference', at: 'ownerId', label: 'field.owner', of: 'owners', required: true },
  ] },
  { name: 'block-conditions', title: 'kind.blockConditions', path: '/patron-block-conditions', list: 'patronBlockConditions', permission: 'patron-blocks.patron-block-conditions', nameAt: 'name', about: 'message', blank: {}, fixed: true, fields: [
    name,
    { kind: 'yesNo', at: 'blockBorrowing', label: 'field.blockBorrowing' },
    { kind: 'yesNo', at: 'blockRenewals', label: 'field.blockRenewals' },
    { kind: 'yesNo', at: 'blockRequests', label: 'field.blockRequests' },
    { kind: 'text', at: 'message', label: 'field.blockMessage', rows: 2, required: true, when: (record) => ['blockBorrowing', 'blockRenewals', 'blockRequests'].some((one) => record[one] === true) },
  ] },
  { name: 'service-points', title: 'kind.servicePoints', path: '/service-points', list: 'servicepoints', permission: `${inventory}.service-points`, nameAt: 'name', about: 'code', blank: { pickupLocation: false }, fields: [
    name,
    code,
    { kind: 'text', at: 'discoveryDisplayName', label: 'field.discoveryName', required: true },
    description,
    { kind: 'number', at: 'shelvingLagTime', label: 'field.shelvingLag', whole: true },
    { kind: 'yesNo', at: 'pickupLocation', label: 'field.pickup' },
    { kind: 'period', at: 'holdShelfExpiryPeriod', label: 'field.holdShelf', units: LOAN_UNITS, required: true, when: is('pickupLocation', true) },
    {
      kind: 'choice', at: 'holdShelfClosedLibraryDateManagement', label: 'field.holdShelfClosed', when: is('pickupLocation', true),
      options: ['Keep_the_current_due_date', 'Move_to_the_end_of_the_previous_open_day', 'Move_to_the_end_of_the_next_open_day', 'Keep_the_current_due_date_time', 'Move_to_end_of_current_service_point_hours', 'Move_to_beginning_of_next_open_service_point_hours'],
    },
    { kind: 'choice', at: 'defaultCheckInActionForUseAtLocation', label: 'field.useAtLocationReturn', options: ['Keep_on_hold_shelf', 'Close_loan_and_return_item', 'Ask_for_action'] },
    { kind: 'list', at: 'staffSlips', label: 'field.slipsByDefault', add: 'field.addSlip', blank: { printByDefault: true }, of: [
      { kind: 'reference', at: 'id', label: 'field.slip', of: 'staffSlips', required: true },
      { kind: 'yesNo', at: 'printByDefault', label: 'field.printByDefault' },
    ] },
  ] },
  { name: 'institutions', title: 'kind.institutions', path: '/location-units/institutions', list: 'locinsts', permission: `${inventory}.location-units.institutions`, nameAt: 'name', about: 'code', blank: {}, fields: [name, code] },
  { name: 'campuses', title: 'kind.campuses', path: '/location-units/campuses', list: 'loccamps', permission: `${inventory}.location-units.campuses`, nameAt: 'name', about: 'code', blank: {}, fields: [name, code, { kind: 'reference', at: 'institutionId', label: 'field.institution', of: 'institutions', required: true }] },
  { name: 'libraries', title: 'kind.libraries', path: '/location-units/libraries', list: 'loclibs', permission: `${inventory}.location-units.libraries`, nameAt: 'name', about: 'code', blank: {}, fields: [name, code, { kind: 'reference', at: 'campusId', label: 'field.campus', of: 'campuses', required: true }] },
  { name: 'locations', title: 'kind.locations', path: '/locations', list: 'locations', permission: `${inventory}.locations`, nameAt: 'name', about: 'code', blank: { isActive: true }, fields: [
    name,
    code,
    { kind: 'text', at: 'discoveryDisplayName', label: 'field.discoveryName' },
    description,
    { kind: 'yesNo', at: 'isActive', label: 'field.active' },
    { kind: 'reference', at: 'institutionId', label: 'field.institution', of: 'institutions', required: true },
    { kind: 'reference', at: 'campusId', label: 'field.campus', of: 'campuses', required: true },
    { kind: 'reference', at: 'libraryId', label: 'field.library', of: 'libraries', required: true },
    { kind: 'reference', at: 'primaryServicePoint', label: 'field.primaryPoint', of: 'servicePoints', required: true },
    { kind: 'references', at: 'servicePointIds', label: 'field.points', of: 'servicePoints', required: true },
    { kind: 'yesNo', at: 'isFloatingCollection', label: 'field.floating' },
  ] },
  { name: 'calendars', title: 'kind.calendars', path: '/calendar/calendars', list: 'calendars', permission: 'calendar.endpoint.calendars', nameAt: 'name', blank: { assignments: [], normalHours: [], exceptions: [] }, fields: [
    name,
    { kind: 'date', at: 'startDate', label: 'field.from', required: true },
    { kind: 'date', at: 'endDate', label: 'field.to', required: true },
    { kind: 'references', at: 'assignments', label: 'field.points', of: 'servicePoints' },
    { kind: 'list', at: 'normalHours', label: 'field.hours', add: 'field.addHours', blank: { startDay: 'MONDAY', startTime: '08:00:00', endDay: 'MONDAY', endTime: '18:00:00' }, of: [
      { kind: 'choice', at: 'startDay', label: 'field.day', options: ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'], required: true },
      { kind: 'time', at: 'startTime', label: 'field.opens', required: true },
      { kind: 'choice', at: 'endDay', label: 'field.endDay', options: ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'], required: true },
      { kind: 'time', at: 'endTime', label: 'field.closes', required: true },
    ] },
    { kind: 'list', at: 'exceptions', label: 'field.exceptions', add: 'field.addException', blank: { openings: [] }, of: [
      name,
      { kind: 'date', at: 'startDate', label: 'field.from', required: true },
      { kind: 'date', at: 'endDate', label: 'field.to', required: true },
      { kind: 'list', at: 'openings', label: 'field.exceptionOpenings', add: 'field.addOpening', blank: { startTime: '08:00:00', endTime: '18:00:00' }, of: [
        { kind: 'date', at: 'startDate', label: 'field.from', required: true },
        { kind: 'time', at: 'startTime', label: 'field.opens', required: true },
        { kind: 'date', at: 'endDate', label: 'field.to', required: true },
        { kind: 'time', at: 'endTime', label: 'field.closes', required: true },
      ] },
    ] },
  ] },
  { name: 'patron-groups', title: 'kind.groups', path: '/groups', list: 'usergroups', permission: 'usergroups', nameAt: 'group', about: 'desc', blank: {}, fields: [
    { kind: 'text', at: 'group', label: 'field.group', required: true },
    { kind: 'text', at: 'desc', label: 'field.description', rows: 2 },
    { kind: 'number', at: 'expirationOffsetInDays', label: 'field.expirationOffset', whole: true },
  ] },
];

export type Action = 'list' | 'add' | 'change' | 'delete';

const SUFFIXES: Record<Action, string> = { list: 'collection.get', add: 'item.post', change: 'item.put', delete: 'item.delete' };

/** The permission for an action on records of a kind. */
export function permissionFor(kind: RecordKind, action: Action): string {
  if (kind.name !== 'calendars') return `${kind.permission}.${SUFFIXES[action]}`;
  // Calendars name their permissions by the path.
  const of = { list: 'get', add: 'post', change: 'calendarId.put', delete: 'calendarId.delete' } as const;
  return `${kind.permission}.${of[action]}`;
}
