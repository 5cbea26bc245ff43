//! The locks of a check-out: the patron first, then the item, so that limits and queues are exact.

use crate::desk::{company, item, patron};
use carrel_platform::Flight;
use std::collections::HashSet;
use std::sync::LazyLock;
use tokio_postgres::Row;

/// Adds the statement that locks both, however long others hold them.
pub fn hold_both(flight: &mut Flight, patron: &str, item: &str) {
    static BOTH: LazyLock<String> =
        LazyLock::new(|| format!("SELECT ARRAY({}), ARRAY({})", lock_patron(), item::lock("$2::text")));
    flight.add(BOTH.as_str(), vec![patron.into(), item.into()]);
}

/// Adds the statement that locks the patron.
pub fn hold_patron(flight: &mut Flight, patron: &str) {
    static PATRON: LazyLock<String> = LazyLock::new(lock_patron);
    flight.add(PATRON.as_str(), vec![patron.into()]);
}

/// Adds the statement that locks the item.
pub fn hold_item(flight: &mut Flight, item: &str) {
    static ITEM: LazyLock<String> = LazyLock::new(|| item::lock("$1::text"));
    flight.add(ITEM.as_str(), vec![item.into()]);
}

/// Adds the statement that locks those patrons and items of several scans, or of one, that nobody else holds; it
/// waits for none.
pub fn hold_those_free(flight: &mut Flight, patrons: Vec<String>, items: Vec<String>) -> usize {
    static ONE: LazyLock<String> = LazyLock::new(|| {
        let (patron, item) = (lock_patron(), item::lock("$2::text"));
        format!("SELECT ARRAY({patron} SKIP LOCKED), ARRAY({item} SKIP LOCKED)")
    });
    static SEVERAL: LazyLock<String> = LazyLock::new(|| {
        format!(
            "SELECT
                ARRAY(SELECT given.number FROM unnest($1::text[]) WITH ORDINALITY given (barcode, number)
                    JOIN users ON {patron}
                    FOR NO KEY UPDATE OF users SKIP LOCKED),
                ARRAY({items})",
            patron = patron::barcode_is("users", "given.barcode"),
            items = item::lock_free_of("$2::text[]"),
        )
    });
    let statement = if patrons.len() > 1 { SEVERAL.as_str() } else { ONE.as_str() };
    flight.add(statement, vec![company::given(patrons), company::given(items)])
}

/// What [`hold_those_free`] has locked, by the scans' numbers from 1 on.
#[derive(Debug, Default)]
pub struct Held {
    pub patrons: HashSet<i64>,
    pub items: HashSet<i64>,
}

impl Held {
    pub fn read(row: Option<&Row>) -> Held {
        let numbers =
            |place| row.map(|row| row.get::<_, Vec<i64>>(place)).unwrap_or_default().into_iter().collect();
        Held { patrons: numbers(0), items: numbers(1) }
    }
}

fn lock_patron() -> String {
    format!("SELECT 1::bigint FROM users WHERE {} FOR NO KEY UPDATE", patron::barcode_is("users", "$1::text"))
}
