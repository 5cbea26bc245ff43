/** Sample values of an item and a patron. */
export const SAMPLE = {
  item: {
    title: 'Culture and Anarchy',
    primaryContributor: 'Arnold, Matthew, 1822-1888',
    allContributors: 'Arnold, Matthew, 1822-1888',
    barcode: '390000002084',
    callNumber: '306 ARN',
    materialType: 'book',
    loanType: 'Can circulate',
    fromServicePoint: 'Circ Desk 1',
    toServicePoint: 'Circ Desk 2',
    effectiveLocationSpecific: 'Main Stacks',
    effectiveLocationLibrary: 'Main Library',
    lastCheckedInDateTime: '2026-11-22T10:00:00Z',
  },
  request: { servicePointPickup: 'Circ Desk 2', requestDate: '2026-11-20T10:00:00Z', holdShelfExpirationDate: '2026-12-04T23:59:59Z', requestID: 'b2b1a6b4', patronComments: 'I come on Friday.' },
  requester: { firstName: 'Alma', preferredFirstName: 'Alma', lastName: 'Reading', barcode: '290000000001', patronGroup: 'faculty', addressLine1: '1 Folio Avenue', city: 'Vellumton', postalCode: '00112' },
};
