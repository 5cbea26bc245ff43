//! Sums of a report by category.

use carrel_records::Money;
use serde_json::{Value, json};

/// A list of `{name, totalAmount, totalCount}`, one for each category in the order of appearance, and the sum of all.
pub fn totals<'a>(rows: impl Iterator<Item = (Option<&'a str>, Money)>, name_of_sum: &str) -> Value {
    let mut categories: Vec<(&str, Money, usize)> = Vec::new();
    for (name, amount) in rows {
        let Some(name) = name else { continue };
        match categories.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, sum, count)) => {
                *sum += amount;
                *count += 1;
            }
            None => categories.push((name, amount, 1)),
        }
    }
    let sum = (
        name_of_sum,
        categories.iter().map(|(_, sum, _)| *sum).sum(),
        categories.iter().map(|(.., count)| count).sum(),
    );
    categories.push(sum);
    categories
        .into_iter()
        .map(|(name, sum, count)| {
            json!({"name": name, "totalAmount": sum.to_string(), "totalCount": count.to_string()})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_summed_and_what_has_none_is_left_out() {
        let cents = Money::of_cents;
        let rows = [
            (Some("Cash"), cents(100)),
            (None, cents(5)),
            (Some("Card"), cents(20)),
            (Some("Cash"), cents(1)),
        ];
        assert_eq!(
            totals(rows.into_iter(), "Payment method totals"),
            json!([
                {"name": "Cash", "totalAmount": "1.01", "totalCount": "2"},
                {"name": "Card", "totalAmount": "0.20", "totalCount": "1"},
                {"name": "Payment method totals", "totalAmount": "1.21", "totalCount": "3"},
            ])
        );
    }
}
