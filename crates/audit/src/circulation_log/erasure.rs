//! Removes patrons from the circulation log.

use carrel_platform::Pipeline;
use uuid::Uuid;

/// Removes the patron, a patron who acted themselves, and a proxy's barcode in a description; the rest of the entry
/// stays.
macro_rules! forget {
    ($condition:literal) => {
        concat!(
            "UPDATE circulation_log SET user_id = NULL, user_barcode = NULL,
                 by_user_id = CASE WHEN by_user_id = user_id THEN NULL ELSE by_user_id END,
                 description = CASE WHEN description LIKE 'Checked out to proxy: %' THEN 'Checked out to proxy: -.'
                     ELSE description END
             WHERE ",
            $condition
        )
    };
}

/// The statements that remove the patrons of loans from the log and add the entries that report it.
///
/// `loans` is a query for `id`, `item_id` and `service_point_id` of the loans; the statements share its parameters, and
/// the last statement has one more, the time, in the placeholder `time`.
pub fn forgetting_loans(loans: &str, time: &str) -> [String; 3] {
    [
        format!(forget!("loan_id IN (SELECT id FROM ({}) AS gone)"), loans),
        // A notice about several loans contains the patron of all of them.
        format!(
            forget!(
                "doc ? 'items' AND doc->'items' @> ANY (
                     SELECT jsonb_build_array(jsonb_build_object('loanId', id)) FROM ({}) AS gone)"
            ),
            loans
        ),
        format!(
            "INSERT INTO circulation_log (id, doc, at, object, action, item_id, item_barcode, holdings_id, instance_id,
                 loan_id, service_point_id, source)
             SELECT gen_random_uuid(), '{{}}', {time}, 'Loan', 'Anonymize', gone.item_id, item.doc->>'barcode',
                 holdings_record.id, holdings_record.instance_id, gone.id, gone.service_point_id, 'System'
             FROM ({loans}) AS gone LEFT JOIN item ON item.id = gone.item_id
                 LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id"
        ),
    ]
}

/// Adds the statement that removes the patrons of these loans from the log.
pub fn forget_loans(pipeline: &mut Pipeline, loans: Vec<Uuid>) {
    pipeline.add(forget!("loan_id = ANY ($1)"), vec![loans.into()]);
}

/// Adds the statement that removes the requester of a request from the log.
pub fn forget_request(pipeline: &mut Pipeline, request: Uuid) {
    pipeline.add(forget!("request_id = $1"), vec![request.into()]);
}
