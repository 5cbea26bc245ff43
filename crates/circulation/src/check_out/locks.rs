//! The locks of a check-out: the patron first, then the item, so that limits and queues are exact.

use crate::desk::{item, patron};
use carrel_platform::{Bind, Flight};
use std::collections::HashSet;
use std::sync::LazyLock;
use tokio_postgres::Row;

/// Adds the statement that locks both, however long others hold them.
pub fn hold_both(flight: &mut Flight, patron: &str, item: &str) {
    static BOTH: LazyLock<String> =
        LazyLock::new(|| format!("SELECT ARRAY({}), ARRAY({})", lock_patron(), lock_item("$2::text")));
    flight.add(BOTH.as_str(), vec![patron.into(), item.into()]);
}

/// Adds the statement that locks the patron.
pub fn hold_patron(flight: &mut Flight, patron: &str) {
    static PATRON: LazyLock<String> = LazyLock::new(lock_patron);
    flight.add(PATRON.as_str(), vec![patron.into()]);
}

/// Adds the statement that locks the item.
pub fn hold_item(flight: &mut Flight, item: &str) {
    static ITEM: LazyLock<String> = LazyLock::new(|| lock_item("$1::text"));
    flight.add(ITEM.as_str(), vec![item.into()]);
}

/// Adds the statement that locks those patrons and items of several scans, or of one, that nobody else holds; it
/// waits for none.
pub fn hold_those_free(flight: &mut Flight, patrons: Vec<String>, items: Vec<String>) -> usize {
    static ONE: LazyLock<String> = LazyLock::new(|| {
        let (patron, item) = (lock_patron(), lock_item("$2::text"));
        format!("SELECT ARRAY({patron} SKIP LOCKED), ARRAY({item} SKIP LOCKED)")
    });
    static SEVERAL: LazyLock<String> = LazyLock::new(|| {
        format!(
            "SELECT
                ARRAY(SELECT given.number FROM unnest($1::text[]) WITH ORDINALITY given (barcode, number)
                    JOIN users ON {patron}
                    FOR NO KEY UPDATE OF users SKIP LOCKED),
                ARRAY(SELECT given.number FROM unnest($2::text[]) WITH ORDINALITY given (barcode, number)
                    JOIN item ON {item} JOIN item_state ON item_state.item_id = item.id
                    FOR NO KEY UPDATE OF item_state SKIP LOCKED)",
            patron = patron::barcode_is("users", "given.barcode"),
            item = item::barcode_is("given.barcode"),
        )
    });
    let several = patrons.len() > 1;
    let barcodes = |mut barcodes: Vec<String>| -> Bind {
        if several { barcodes.into() } else { barcodes.swap_remove(0).into() }
    };
    let statement = if several { SEVERAL.as_str() } else { ONE.as_str() };
    flight.add(statement, vec![barcodes(patrons), barcodes(items)])
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

fn lock_item(barcode: &str) -> String {
    format!(
        "SELECT 1::bigint FROM item_state
         WHERE item_id = ANY (ARRAY(SELECT item.id FROM item WHERE {})) FOR NO KEY UPDATE",
        item::barcode_is(barcode)
    )
}
