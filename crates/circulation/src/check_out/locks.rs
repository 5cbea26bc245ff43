//! The locks of a check-out: the patron first, then the item, so that limits and queues are exact.

use crate::desk::{item, patron};
use carrel_platform::Pipeline;
use carrel_platform::batcher::bind_texts;
use std::collections::HashSet;
use std::sync::LazyLock;
use tokio_postgres::Row;

/// Adds the statement that locks both, waiting for other transactions.
pub fn lock_patron_and_item(pipeline: &mut Pipeline, patron: &str, item: &str) {
    static BOTH: LazyLock<String> =
        LazyLock::new(|| format!("SELECT ARRAY({}), ARRAY({})", patron_lock_sql(), item::lock("$2::text")));
    pipeline.add(BOTH.as_str(), vec![patron.into(), item.into()]);
}

/// Adds the statement that locks the patron.
pub fn lock_patron(pipeline: &mut Pipeline, patron: &str) {
    static PATRON: LazyLock<String> = LazyLock::new(patron_lock_sql);
    pipeline.add(PATRON.as_str(), vec![patron.into()]);
}

/// Adds the statement that locks the item.
pub fn lock_item(pipeline: &mut Pipeline, item: &str) {
    static ITEM: LazyLock<String> = LazyLock::new(|| item::lock("$1::text"));
    pipeline.add(ITEM.as_str(), vec![item.into()]);
}

/// Adds the statement that locks the patrons and items of one or several scans that no other transaction has locked,
/// without waiting.
pub fn lock_free(pipeline: &mut Pipeline, patrons: Vec<String>, items: Vec<String>) -> usize {
    static ONE: LazyLock<String> = LazyLock::new(|| {
        let (patron, item) = (patron_lock_sql(), item::lock("$2::text"));
        format!("SELECT ARRAY({patron} SKIP LOCKED) AS patrons, ARRAY({item} SKIP LOCKED) AS items")
    });
    static SEVERAL: LazyLock<String> = LazyLock::new(|| {
        format!(
            "SELECT
                ARRAY(SELECT given.number FROM unnest($1::text[]) WITH ORDINALITY given (barcode, number)
                    JOIN users ON {patron}
                    FOR NO KEY UPDATE OF users SKIP LOCKED) AS patrons,
                ARRAY({items}) AS items",
            patron = patron::barcode_is("users", "given.barcode"),
            items = item::lock_free_of("$2::text[]"),
        )
    });
    let statement = if patrons.len() > 1 { SEVERAL.as_str() } else { ONE.as_str() };
    pipeline.add(statement, vec![bind_texts(patrons), bind_texts(items)])
}

/// The locks taken by [`lock_free`], by the scans' numbers from 1 on.
#[derive(Debug, Default)]
pub struct Locked {
    pub patrons: HashSet<i64>,
    pub items: HashSet<i64>,
}

impl Locked {
    pub fn read(row: Option<&Row>) -> Locked {
        let numbers = |column: &str| {
            row.map(|row| row.get::<_, Vec<i64>>(column)).unwrap_or_default().into_iter().collect()
        };
        Locked { patrons: numbers("patrons"), items: numbers("items") }
    }
}

fn patron_lock_sql() -> String {
    format!("SELECT 1::bigint FROM users WHERE {} FOR NO KEY UPDATE", patron::barcode_is("users", "$1::text"))
}
