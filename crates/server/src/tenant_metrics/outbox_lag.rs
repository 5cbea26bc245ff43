//! Metrics of those who read events: how many each has not read yet, and the age of the oldest of them.
//!
//! Readers are the Kafka bridge, each module that subscribes by pub-sub, the change histories, and patron notices, whose
//! causes are rows of a separate table.

use super::{MAX_TENANTS, Sample, by_database};
use carrel_platform::Tenant;
use carrel_platform::tenant::schema_of;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio_postgres::SimpleQueryMessage;

/// Unread events that are counted for a reader, at most.
const MAX_COUNTED: usize = 10_000;

/// The number of unread events of each reader, and the age of the oldest one in seconds.
pub(super) async fn samples(tenants: &[Arc<Tenant>]) -> (Vec<Sample>, Vec<Sample>) {
    let of_databases = by_database(&tenants[..tenants.len().min(MAX_TENANTS)]);
    let tasks: JoinSet<_> = of_databases.into_iter().map(of_database).collect();
    tasks.join_all().await.into_iter().flatten().flatten().unzip()
}

/// The readers of tenants in one database; none if it does not answer.
async fn of_database(tenants: Vec<Arc<Tenant>>) -> Option<Vec<(Sample, Sample)>> {
    let all: Vec<String> =
        tenants.iter().map(|tenant| query_for(&tenant.id, &schema_of(&tenant.id))).collect();
    let connection = tenants.first()?.upkeep().await.ok()?;
    // The text depends on the set of tenants, so it is not prepared.
    let answers = connection.client().simple_query(&all.join(" UNION ALL ")).await.ok()?;
    let sample = |answer: &SimpleQueryMessage| match answer {
        SimpleQueryMessage::Row(row) => {
            let labels = format!("tenant=\"{}\",reader=\"{}\"", row.get(0)?, label(row.get(1)?));
            let (unread, age) = (row.get(2)?.parse().ok()?, row.get(3)?.parse().ok()?);
            Some(((labels.clone(), unread), (labels, age)))
        }
        _ => None,
    };
    Some(answers.iter().filter_map(sample).collect())
}

/// Name, unread events and age for each reader of a tenant. The names contain only characters of tenant ids.
fn query_for(tenant: &str, schema: &str) -> String {
    format!(
        "SELECT '{tenant}', reader.name, count(unread.created)::text,
             greatest(coalesce(extract(epoch FROM clock_timestamp() - min(unread.created)), 0), 0)::text
         FROM (SELECT name, position FROM {schema}.outbox_reader
             UNION ALL SELECT 'pub-sub ' || module_id, min(position) FROM {schema}.pubsub_module
                 WHERE role = 'SUBSCRIBER' GROUP BY module_id
             UNION ALL SELECT 'change histories', position FROM {schema}.audit_position) reader
         LEFT JOIN LATERAL (SELECT created FROM {schema}.outbox WHERE id > reader.position
             ORDER BY id LIMIT {MAX_COUNTED}) unread ON true
         GROUP BY reader.name
         UNION ALL SELECT '{tenant}', 'notices', count(happened)::text,
             greatest(coalesce(extract(epoch FROM clock_timestamp() - min(happened)), 0), 0)::text
         FROM (SELECT happened FROM {schema}.notice_event LIMIT {MAX_COUNTED}) cause"
    )
}

/// Text as the value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn the_name_of_a_subscriber_cannot_end_a_label() {
        assert_eq!(label("mod\"x\\y\n"), "mod\\\"x\\\\y\\n");
    }
}
