//! The facts for the decision about a whole loan that a client sends, in one round trip.

use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, queue};
use crate::document::text_at;
use crate::loans::find::{self, LoanAtDesk, id_bind};
use crate::settings::CirculationSettings;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::Failure;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// The facts of the decision.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The stored loan.
    pub existing: Option<Map<String, Value>>,
    pub item: Option<ItemAtDesk>,
    pub patron: Option<Patron>,
    pub proxy_relations: Vec<Value>,
    pub queue: Vec<QueuedRequest>,
    pub amount_remaining: f64,
}

/// Locks patron, queue, item and loan, and reads the facts.
pub async fn gather(
    tenant: &Arc<Tenant>,
    id: Uuid,
    sent: &Map<String, Value>,
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    let [user, item, proxy] = ["userId", "itemId", "proxyUserId"].map(|key| id_bind(text_at(sent, key)));
    // If the item has a queue, the facts are read again with the queue locked.
    let mut held = None;
    loop {
        let (tx, facts, settings) =
            gather_holding(tenant, id, held, [user.clone(), item.clone(), proxy.clone()]).await?;
        if let (false, Some(item)) = (facts.queue.is_empty(), &facts.item) {
            let queue =
                queue::id_of(settings.title_level_requests.enabled(), item.instance_id, Some(item.id));
            if queue != held {
                held = queue;
                continue;
            }
        }
        return Ok((tx, facts, settings));
    }
}

async fn gather_holding(
    tenant: &Arc<Tenant>,
    id: Uuid,
    held: Option<Uuid>,
    [user, item, proxy]: [Bind; 3],
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    static STATEMENTS: LazyLock<[String; 2]> = LazyLock::new(|| [false, true].map(statement));
    let (tx, results, step, settings) = find::gather(tenant, |settings| {
        let mut pipeline = Pipeline::new();
        pipeline.add("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", vec![user.clone()]);
        if let Some(queue) = held {
            queue::lock(&mut pipeline, queue);
        }
        pipeline.add("SELECT 1 FROM item_state WHERE item_id = $1 FOR NO KEY UPDATE", vec![item.clone()]);
        pipeline.add(find::LOCK_LOAN, vec![id.into()]);
        let variant = usize::from(settings.title_level_requests.enabled());
        let binds = vec![id.into(), user.clone(), item.clone(), proxy.clone()];
        let facts = pipeline.add(STATEMENTS[variant].as_str(), binds);
        (pipeline, facts)
    })
    .await?;
    let row = results.first(step).ok_or_else(|| Failure::internal("facts are one row"))?;
    let existing = match row.get::<_, Option<Json>>(1).map(|json| json.parse()) {
        Some(Value::Object(document)) => Some(document),
        _ => None,
    };
    let facts = Facts {
        existing,
        patron: Patron::at(row, 2)?,
        proxy_relations: Json::elements(row.get(3)),
        queue: queue::read(row.get(4))?,
        amount_remaining: row.get(5),
        item: ItemAtDesk::read(row, 6)?,
    };
    Ok((tx, facts, settings))
}

fn statement(title_level: bool) -> String {
    format!(
        "SELECT (SELECT value FROM settings_version WHERE id = 1), existing.doc, patron.doc,
             (SELECT jsonb_agg(p.doc) FROM proxyfor p WHERE p.user_id = $2 AND p.proxy_user_id = $4),
             {queue},
             coalesce((SELECT sum((a.doc->>'remaining')::numeric) FROM accounts a
               WHERE a.loan_id = $1 AND a.doc->'status'->>'name' = 'Open'), 0)::float8,
             {columns}
         FROM (SELECT 1) one
         LEFT JOIN loan existing ON existing.id = $1
         LEFT JOIN users patron ON patron.id = $2
         LEFT JOIN ({tables}) ON item.id = $3",
        queue = queue::sql(title_level),
        columns = item::COLUMNS,
        tables = item::TABLES,
    )
}

impl Facts {
    /// The loan as it will be after the decision.
    pub fn beside(&self, id: Uuid) -> LoanAtDesk {
        LoanAtDesk {
            id,
            document: Map::new(),
            item: self.item.clone(),
            patron: self.patron.clone(),
            amount_remaining: self.amount_remaining,
            queue: Vec::new(),
        }
    }
}
