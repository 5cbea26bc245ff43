/*
 * Bodies that the OpenAPI document does not describe yet: composed responses and the requests of desk actions. They are
 * written by hand, with only the fields that the desk uses; use the generated types where the document has them.
 */
import type { CheckInRequest, ServicePoint, User } from './schema.ts';

export interface Named {
  id?: string;
  name?: string | null;
}

export interface CallNumberComponents {
  prefix?: string | null;
  callNumber?: string | null;
  suffix?: string | null;
}

/** An item as returned by `/inventory/items`. */
export interface Item {
  id: string;
  hrid?: string;
  barcode?: string;
  title?: string;
  status: { name: string; date?: string };
  holdingsRecordId: string;
  materialType?: Named;
  permanentLoanType?: Named;
  temporaryLoanType?: Named;
  permanentLocation?: Named;
  temporaryLocation?: Named;
  administrativeNotes?: string[];
  chronology?: string | null;
  effectiveLocation?: Named;
  effectiveCallNumberComponents?: CallNumberComponents;
  contributorNames?: { name: string }[];
  circulationNotes?: CirculationNote[];
  numberOfPieces?: string | null;
  descriptionOfPieces?: string | null;
  numberOfMissingPieces?: string | null;
  missingPieces?: string | null;
  discoverySuppress?: boolean | null;
  volume?: string | null;
  enumeration?: string | null;
  copyNumber?: string | null;
  lastCheckIn?: { dateTime: string; servicePointId: string };
  metadata?: { createdDate?: string; updatedDate?: string };
}

export interface CirculationNote {
  id?: string;
  noteType: 'Check in' | 'Check out';
  note: string;
  staffOnly?: boolean;
  date?: string;
  source?: { personal?: { firstName?: string | null; lastName?: string | null } };
}

/** The item inside a loan, a request or a check-in response. */
export interface ItemSummary {
  id: string;
  instanceId?: string;
  holdingsRecordId?: string;
  title?: string;
  barcode?: string;
  primaryContributor?: string;
  callNumber?: string | null;
  callNumberComponents?: CallNumberComponents;
  status?: { name: string };
  location?: Named;
  materialType?: Named;
  inTransitDestinationServicePointId?: string;
  inTransitDestinationServicePoint?: { id: string; name: string };
}

export interface Borrower {
  firstName?: string | null;
  lastName?: string | null;
  middleName?: string | null;
  preferredFirstName?: string | null;
  barcode?: string | null;
  patronGroup?: string | null;
}

export interface Loan {
  id: string;
  userId?: string;
  itemId: string;
  status: { name: string };
  action: string;
  actionComment?: string;
  loanDate: string;
  dueDate: string;
  returnDate?: string;
  systemReturnDate?: string;
  renewalCount?: number;
  dueDateChangedByRecall?: boolean;
  loanPolicyId?: string;
  claimedReturnedDate?: string;
  item: ItemSummary;
  borrower?: Borrower;
  loanPolicy?: Named;
  feesAndFines?: { amountRemainingToPay: number };
  proxyUserId?: string;
  /** Of a loan for use at the location. */
  forUseAtLocation?: { status: 'In use' | 'Held' | 'Returned'; holdShelfExpirationDate?: string };
  metadata?: { createdDate?: string; updatedDate?: string };
}

export interface HoldRequest {
  id: string;
  requestType: 'Hold' | 'Recall' | 'Page';
  requestLevel?: 'Item' | 'Title';
  requestDate: string;
  requesterId: string;
  instanceId?: string;
  itemId?: string;
  status: string;
  position?: number;
  fulfillmentPreference?: string;
  pickupServicePointId?: string;
  pickupServicePoint?: { name: string };
  deliveryAddressTypeId?: string;
  requestExpirationDate?: string;
  holdShelfExpirationDate?: string;
  patronComments?: string;
  cancellationReasonId?: string;
  item?: { barcode?: string; status?: string; callNumber?: string | null; location?: Named };
  instance?: { title?: string };
  requester?: Borrower;
  printDetails?: { printCount?: number; printEventDate?: string; isPrinted?: boolean; lastPrintRequester?: Borrower };
  tags?: { tagList?: string[] };
}

export type { CheckInRequest, CheckOutRequest, OverrideBlocks } from './schema.ts';
export type ClaimedReturnedResolution = NonNullable<CheckInRequest['claimedReturnedResolution']>;

/** Values for the tokens of a staff slip. */
export type SlipPart = Record<string, string | null | undefined>;
export interface StaffSlipContext {
  item?: SlipPart;
  request?: SlipPart;
  requester?: SlipPart;
  currentDateTime?: string;
}

export interface CheckInAnswer {
  loan?: Loan;
  item: ItemSummary;
  staffSlipContext?: StaffSlipContext;
  inHouseUse: boolean;
}

export interface AutomatedBlock {
  patronBlockConditionId: string;
  blockBorrowing: boolean;
  blockRenewals: boolean;
  blockRequests: boolean;
  message: string;
}

/** A charge, payment, waiver, transfer, refund or cancellation of a fee/fine. */
export interface FeeFineAction {
  id?: string;
  accountId: string;
  userId?: string;
  dateAction?: string;
  typeAction?: string;
  amountAction?: number;
  balance?: number;
  comments?: string;
  notify?: boolean;
  transactionInformation?: string;
  /** The service point. */
  createdAt?: string;
  source?: string;
  paymentMethod?: string;
}

/** `/bl-users/_self`. */
export interface Self {
  user: User;
  permissions?: { permissions: string[] };
  servicePointsUser?: { defaultServicePointId?: string; servicePoints?: ServicePoint[] };
}

export interface OpeningDay {
  date: string;
  allDay: boolean;
  open: boolean;
  exceptional: boolean;
  exceptionName?: string;
  openings: { startTime: string; endTime: string }[];
}

export interface Instance {
  id: string;
  hrid?: string;
  title: string;
  contributors?: { name: string }[];
  publication?: { dateOfPublication?: string; publisher?: string }[];
}
