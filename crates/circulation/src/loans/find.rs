//! A loan with its item, patron, open fees/fines and request queue, read in one row.

use super::view::{LoanContext, extended};
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, queue};
use crate::document::text_at;
use crate::patron_blocks::Action;
use crate::settings::CirculationSettings;
use carrel_loan_rules::LoanStatus;
use carrel_platform::database::{Connection, Results};
use carrel_platform::record_store::read::numbered;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::{Failure, ItemStatus};
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};
use tokio_postgres::Row;
use uuid::Uuid;

/// A loan with its related records.
#[derive(Debug, Clone, Default)]
pub struct LoanAtDesk {
    pub id: Uuid,
    /// The whole stored record.
    pub document: Map<String, Value>,
    pub item: Option<ItemAtDesk>,
    pub patron: Option<Patron>,
    /// The remaining amount of the loan's open fees/fines.
    pub amount_remaining: f64,
    /// The open requests of the item; empty unless they were read.
    pub queue: Vec<QueuedRequest>,
}

impl LoanAtDesk {
    fn text(&self, pointer: &str) -> &str {
        text_at(&self.document, pointer)
    }
    pub fn is_closed(&self) -> bool {
        LoanStatus::of(&self.document) == Some(LoanStatus::Closed)
    }
    /// Status of the item, or the one stored with the loan if the item is deleted.
    pub fn item_status(&self) -> ItemStatus {
        let stored = || ItemStatus::from(self.text("itemStatus"));
        self.item.as_ref().map_or_else(stored, |item| item.status.clone())
    }

    /// The loan in the form of circulation, with `document` instead of the stored record.
    pub fn shown(
        &self,
        document: &Map<String, Value>,
        item_status: Option<&ItemStatus>,
        settings: &CirculationSettings,
    ) -> Value {
        let beside = LoanContext {
            item: self.item.as_ref(),
            item_status,
            patron: self.patron.as_ref(),
            amount_remaining: self.amount_remaining,
            reminders_block_renewal: reminders_block_renewal(document, settings),
        };
        extended(document, &beside, settings)
    }
}

/// Whether the overdue fine policy blocks renewals of loans with billed reminders; `None` if it has no reminders.
pub fn reminders_block_renewal(
    document: &Map<String, Value>,
    settings: &CirculationSettings,
) -> Option<bool> {
    let id = Uuid::parse_str(text_at(document, "overdueFinePolicyId")).ok()?;
    let reminders = settings.overdue_fine_policies.get(&id)?.get("reminderFeesPolicy")?;
    let schedule = reminders.get("reminderSchedule").and_then(Value::as_array);
    if schedule.is_none_or(Vec::is_empty) {
        return None;
    }
    Some(reminders.get("allowRenewalOfItemsWithReminderFees") != Some(&Value::Bool(true)))
}

/// SQL of the remaining amount of the loan in the row `loan`.
const REMAINING: &str = "coalesce((SELECT sum((a.doc->>'remaining')::numeric) FROM accounts a \
    WHERE a.loan_id = loan.id AND a.doc->'status'->>'name' = 'Open'), 0)::float8";

/// Number of [`open_loan_columns`] before the item's columns.
pub const BEFORE_ITEM: usize = 5;

/// Columns from `loan.id` on that [`read`] reads; the first is the queue's.
fn columns(queue: &str) -> String {
    format!("{queue}, loan.id, loan.doc, patron.doc, {REMAINING}, {}", item::COLUMNS)
}

fn read(row: &Row, first: usize) -> Result<Option<LoanAtDesk>, Failure> {
    let Some(id) = row.get::<_, Option<Uuid>>(first + 1) else { return Ok(None) };
    let document = match row.get::<_, Json>(first + 2).parse() {
        Value::Object(document) => document,
        _ => return Err(Failure::internal("a stored loan is an object")),
    };
    Ok(Some(LoanAtDesk {
        id,
        document,
        queue: queue::read(row.get(first))?,
        patron: Patron::at(row, first + 3)?,
        amount_remaining: row.get(first + 4),
        item: ItemAtDesk::read(row, first + BEFORE_ITEM)?,
    }))
}

/// One loan, not locked.
pub async fn one(connection: &Connection, id: Uuid) -> Result<LoanAtDesk, Failure> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        format!(
            "SELECT {} FROM loan LEFT JOIN users patron ON patron.id = loan.user_id
             LEFT JOIN ({}) ON item.id = loan.item_id WHERE loan.id = $1",
            columns("NULL::jsonb"),
            item::TABLES
        )
    });
    let rows = connection.query(SQL.as_str(), vec![id.into()]).await?;
    match rows.first() {
        Some(row) => read(row, 0)?.ok_or_else(|| not_found(id)),
        None => Err(not_found(id)),
    }
}

/// FOLIO's message for an unknown loan id.
pub fn not_found(id: Uuid) -> Failure {
    Failure::NotFound(format!("loan record with ID \"{id}\" cannot be found"))
}

/// The statement that reads a page of loans with their related records; [`of_page`] reads its rows.
pub fn page_sql(page: &str) -> String {
    format!(
        "SELECT {} FROM {} loan
         LEFT JOIN users patron ON patron.id = loan.user_id
         LEFT JOIN ({}) ON item.id = loan.item_id ORDER BY loan.place",
        columns("NULL::jsonb"),
        numbered("loan.id, loan.doc, loan.user_id, loan.item_id", page),
        item::TABLES
    )
}

/// A loan of a page.
pub fn of_page(row: &Row) -> Result<LoanAtDesk, Failure> {
    read(row, 0)?.ok_or_else(|| Failure::internal("a page is made of loans"))
}

/// Locks item and loan, reads the loan with its related records, and settings that are at least as new.
///
/// Every change of a loan locks the item first, like check-out and check-in.
pub async fn locked(
    tenant: &Arc<Tenant>,
    id: Uuid,
) -> Result<(Tx, LoanAtDesk, Arc<CirculationSettings>), Failure> {
    static STATEMENTS: LazyLock<[String; 2]> = LazyLock::new(|| {
        [false, true].map(|title_level| {
            format!(
                "SELECT (SELECT value FROM settings_version WHERE id = 1), {}
                 FROM loan LEFT JOIN users patron ON patron.id = loan.user_id
                 LEFT JOIN ({}) ON item.id = loan.item_id WHERE loan.id = $1",
                columns(queue::sql(title_level)),
                item::TABLES
            )
        })
    });
    let gathered = gather(tenant, |settings| {
        let mut pipeline = Pipeline::new();
        pipeline.add(LOCK_ITEM_OF_LOAN, vec![id.into()]);
        pipeline.add(LOCK_LOAN, vec![id.into()]);
        let variant = usize::from(settings.title_level_requests.enabled());
        let facts = pipeline.add(STATEMENTS[variant].as_str(), vec![id.into()]);
        (pipeline, facts)
    })
    .await?;
    let (tx, results, facts, settings) = gathered;
    match results.first(facts) {
        Some(row) => Ok((tx, read(row, 1)?.ok_or_else(|| not_found(id))?, settings)),
        None => Err(not_found(id)),
    }
}

pub const LOCK_ITEM_OF_LOAN: &str = "SELECT 1 FROM item_state WHERE item_id = (SELECT loan.item_id FROM loan WHERE loan.id = $1) \
     FOR NO KEY UPDATE";
pub const LOCK_LOAN: &str = "SELECT 1 FROM loan WHERE id = $1 FOR NO KEY UPDATE";

/// Reads the facts of a decision; reads them again if changed settings need another statement. The first column of the
/// first row is the settings version.
///
/// Without rows nothing was found, and there is nothing to decide.
pub async fn gather(
    tenant: &Arc<Tenant>,
    actor: impl Fn(&CirculationSettings) -> (Pipeline, usize),
) -> Result<(Tx, Results, usize, Arc<CirculationSettings>), Failure> {
    let variant = |settings: &CirculationSettings| {
        (settings.title_level_requests.enabled(), Action::Renewing.is_limited(settings))
    };
    let mut cached = CirculationSettings::cached(tenant).await?;
    loop {
        let mut tx = tenant.begin().await?;
        let gathered = variant(&cached.settings);
        let (pipeline, facts) = actor(&cached.settings);
        let results = tx.send(pipeline).await?;
        if let Some(row) = results.first(facts) {
            cached.refresh(tenant, &mut tx, row).await?;
            if variant(&cached.settings) != gathered {
                continue;
            }
        }
        return Ok((tx, results, facts, cached.settings));
    }
}

/// Columns and joins of an item's open loan, for facts that begin with the item; read by [`open_loan`].
pub fn open_loan_columns(title_level: bool) -> String {
    columns(queue::sql(title_level))
}

/// The loan of [`open_loan_columns`]; `None` if the item has no open loan.
pub fn open_loan(row: &Row, first: usize) -> Result<Option<LoanAtDesk>, Failure> {
    read(row, first)
}

/// An id as a value of a statement; a malformed id finds nothing.
pub fn id_bind(text: &str) -> Bind {
    Uuid::parse_str(text).ok().into()
}
