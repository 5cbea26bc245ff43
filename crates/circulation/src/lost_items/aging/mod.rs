//! Aging to lost: an item that has been overdue for the time in its policy becomes lost.
//!
//! Route: `POST /circulation/scheduled-age-to-lost`; the job `age-to-lost` does the same every thirty minutes. Reads
//! open loans by their due dates; changes each loan and its item in a separate transaction, with a history row;
//! announces `circulation.loan`.

mod decide;

use super::policy_of;
use crate::document::text_at;
use crate::loans::find;
use crate::loans::{log, store};
use crate::patron_notices::{self, About, NoticeEvent};
use crate::records::loans::LOAN;
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log::{self, Action};
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::lost_item_policy::{Loss, LostItemPolicy};
use carrel_platform::jobs::Job;
use carrel_platform::{Answer, Bind, Pipeline, Router, Tenant};
use carrel_records::{Failure, time};
use decide::{aged, ages};
use jiff::Timestamp;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use uuid::Uuid;

/// Ages items to lost.
pub static AGING: Job = Job {
    name: "age-to-lost",
    every: Duration::from_secs(30 * 60),
    deadline: Duration::from_secs(20 * 60),
    run: |run| {
        Box::pin(async move {
            let aged = age_items(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{aged} items aged to lost"))
        })
    },
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/scheduled-age-to-lost", |call| async move {
        age_items(call.tenant()?, call.now).await?;
        Ok::<_, Failure>(Answer::no_content())
    });
}

/// At most this many loans are read at once.
const PAGE: i64 = 1000;

/// Ages the items of overdue loans; returns their number. Loans that another node has aged in the meantime are skipped.
pub async fn age_items(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let settings = CirculationSettings::of(tenant).await?;
    let policies = settings.lost_item_policies.values();
    let shortest = policies.filter_map(|policy| LostItemPolicy::read(policy).shortest_aging()).min();
    // Without an interval no item ever ages.
    let Some(shortest) = shortest else { return Ok(0) };
    let Ok(due_before) = now.checked_sub(shortest) else { return Ok(0) };
    let mut aged = 0;
    let mut after = (super::BEGINNING, Uuid::nil());
    loop {
        let rows = tenant
            .writer()
            .await?
            .query(
                OVERDUE.as_str(),
                vec![
                    due_before.into(),
                    after.0.into(),
                    after.1.into(),
                    PAGE.into(),
                    Bind::Texts(decide::NEVER_AGES.map(|status| status.to_string()).to_vec()),
                ],
            )
            .await?;
        for row in &rows {
            let due = row.get::<_, Option<&str>>("due").and_then(time::parse);
            after = (due.unwrap_or(after.0), row.get("id"));
            if row.get::<_, bool>("may_age") && age(tenant, after.1, now).await? {
                aged += 1;
            }
        }
        if rows.len() < PAGE as usize {
            if aged > 0 {
                patron_notices::process_soon(tenant);
            }
            return Ok(aged);
        }
    }
}

/// Open loans by due date, the earliest first; uses the index of loans on status and due date.
static OVERDUE: LazyLock<String> = LazyLock::new(|| {
    let expression = |name: &str| {
        let field = LOAN.fields.iter().find(|field| field.name == name).expect("loans have such fields");
        carrel_cql::sql::expression(field, "loan")
    };
    let (status, due) = (expression("status.name"), expression("dueDate"));
    format!(
        "SELECT loan.id, loan.doc->>'dueDate' AS due,
             coalesce(loan.doc->>'itemStatus' <> ALL ($5), true) AS may_age
         FROM loan WHERE {status} = 'open' AND {due} < $1 AND ({due}, loan.id) > ($2, $3)
         ORDER BY {due}, loan.id LIMIT $4"
    )
});

/// Ages the item of one loan, if its state still requires it.
async fn age(tenant: &Arc<Tenant>, id: Uuid, now: Timestamp) -> Result<bool, Failure> {
    let (tx, loan, settings) = match find::locked(tenant, id).await {
        Err(Failure::NotFound(_)) => return Ok(false),
        locked => locked?,
    };
    let policy = policy_of(&loan.document, &settings);
    let Some(item) = loan.item.as_ref().filter(|_| ages(&loan, &policy, now)) else { return Ok(false) };
    let changed = store::versioned(aged(&loan.document, &policy, now), None, now);
    let mut pipeline = Pipeline::new();
    store::replace(&mut pipeline, &tenant.id, id, &loan.document, &changed, Some("aged-to-lost"), now);
    let status = Loss::AgedToLost.item_status();
    let change = StateChange { status, in_transit_destination: None, last_check_in: None };
    item_state::change(&mut pipeline, item.id, &change, now);
    let notices = settings.notice_causes(&[NoticeEvent::AgedToLost], About::Loan(id));
    patron_notices::record(&mut pipeline, &notices, now);
    let due = format!("Due date: {}", text_at(&loan.document, "dueDate"));
    circulation_log::write(&mut pipeline, &log::entry(&loan, Action::AgeToLost, due, None), now);
    tx.send_and_commit(pipeline).await?;
    Ok(true)
}
