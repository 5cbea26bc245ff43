//! Barcodes of generated records; the floor's tables use the same ones, so that both sides compare keys of the
//! same length.

/// The barcode of item number `number`, counted from 1.
pub fn item(number: u64) -> String {
    format!("item-{number:06}")
}

/// The barcode of item number `number` of the instances with many requests.
pub fn popular_item(number: u64) -> String {
    format!("wanted-{number:06}")
}

/// The barcode of user number `number`, counted from 1.
pub fn user(number: u64) -> String {
    format!("user-{number:06}")
}
