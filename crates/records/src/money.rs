//! Amounts of money: decimal numbers of two places, as FOLIO's fees/fines have them.

use rust_decimal::{Decimal, RoundingStrategy};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

/// An amount of at most a thousand billion, positive or negative, rounded to two places (half to even).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(Decimal);

/// A text or number that is not an amount, or is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnAmount;

/// Up to this number, two decimal places are exact in a JSON number.
const MAX_AMOUNT: i64 = 1_000_000_000_000;

impl Money {
    pub const ZERO: Money = Money(Decimal::ZERO);

    /// An amount in cents.
    pub fn of_cents(cents: i64) -> Money {
        Money(Decimal::new(cents, 2))
    }

    fn rounded(amount: Decimal) -> Result<Money, NotAnAmount> {
        if amount.abs() > Decimal::from(MAX_AMOUNT) {
            return Err(NotAnAmount);
        }
        Ok(Money(amount.round_dp_with_strategy(2, RoundingStrategy::MidpointNearestEven)))
    }

    /// The amount of a JSON number.
    pub fn read(number: &Value) -> Option<Money> {
        match number {
            Value::Number(number) => number.to_string().parse().ok(),
            _ => None,
        }
    }

    /// The amount as a JSON number: `2.5`, `10.0`.
    pub fn to_json(self) -> Value {
        let number = self.0.to_string().parse().ok().and_then(Number::from_f64);
        number.map_or(Value::Null, Value::Number)
    }

    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }
    pub fn is_positive(self) -> bool {
        self.0 > Decimal::ZERO
    }

    /// The amount divided into this many parts, rounded down to cents; zero for zero parts.
    pub fn split_evenly(self, parts: usize) -> Money {
        match u32::try_from(parts) {
            Ok(parts) if parts > 0 => Money(
                (self.0 / Decimal::from(parts))
                    .round_dp_with_strategy(2, RoundingStrategy::ToNegativeInfinity),
            ),
            _ => Money::ZERO,
        }
    }
}

impl FromStr for Money {
    type Err = NotAnAmount;
    /// Reads `12`, `12.50`, `-0.5` or `1.25e1`; more than two places are rounded.
    fn from_str(text: &str) -> Result<Money, NotAnAmount> {
        decimal(text).and_then(Money::rounded)
    }
}

impl<'de> Deserialize<'de> for Money {
    /// Reads a JSON number.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Money, D::Error> {
        let number = Number::deserialize(from)?.to_string();
        number.parse().map_err(|_| D::Error::custom(format!("{number} is no amount of money")))
    }
}

fn decimal(text: &str) -> Result<Decimal, NotAnAmount> {
    // Rust's parser accepts digit separators, which are not part of an amount.
    if text.len() > 60 || text.contains('_') {
        return Err(NotAnAmount);
    }
    text.parse().or_else(|_| Decimal::from_scientific(text)).map_err(|_| NotAnAmount)
}

/// The price of one unit, with all its decimal places: it is rounded only after multiplication. At most a thousand
/// billion, positive or negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct UnitPrice(Decimal);

impl UnitPrice {
    /// The price of this many units, rounded to two places (half away from zero); at most the largest amount of money.
    pub fn times(self, units: u64) -> Money {
        let limit = Decimal::from(MAX_AMOUNT);
        let cost = self.0.checked_mul(Decimal::from(units)).unwrap_or(limit).clamp(-limit, limit);
        Money(cost.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero))
    }
}

impl<'de> Deserialize<'de> for UnitPrice {
    /// Reads a JSON number.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<UnitPrice, D::Error> {
        let number = Number::deserialize(from)?.to_string();
        match decimal(&number) {
            Ok(price) if price.abs() <= Decimal::from(MAX_AMOUNT) => Ok(UnitPrice(price)),
            _ => Err(D::Error::custom(format!("{number} is no price"))),
        }
    }
}

impl fmt::Display for Money {
    /// Always with two places: `10.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.0)
    }
}

impl Add for Money {
    type Output = Money;
    fn add(self, other: Money) -> Money {
        Money(self.0 + other.0)
    }
}
impl Sub for Money {
    type Output = Money;
    fn sub(self, other: Money) -> Money {
        Money(self.0 - other.0)
    }
}
impl AddAssign for Money {
    fn add_assign(&mut self, other: Money) {
        *self = *self + other;
    }
}
impl SubAssign for Money {
    fn sub_assign(&mut self, other: Money) {
        *self = *self - other;
    }
}
impl Sum for Money {
    fn sum<I: Iterator<Item = Money>>(amounts: I) -> Money {
        amounts.fold(Money::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn money(text: &str) -> Money {
        text.parse().expect("an amount")
    }

    #[test]
    fn amounts_are_read_as_people_and_programs_write_them() {
        for (text, expected) in [
            ("12", "12.00"),
            ("12.5", "12.50"),
            ("-0.5", "-0.50"),
            ("1.25e1", "12.50"),
            ("0.005", "0.00"),
            ("0.015", "0.02"),
            ("2.345", "2.34"),
        ] {
            assert_eq!(money(text).to_string(), expected, "{text}");
        }
        for text in ["", " 1", "1,5", "ten", "1_000", "0x10", "1e13", "NaN", "1000000000001"] {
            assert_eq!(text.parse::<Money>(), Err(NotAnAmount), "{text}");
        }
    }

    #[test]
    fn an_amount_is_unchanged_after_conversion_to_json_and_back() {
        for cents in [0, 1, 29, 250, 1000, 123_456_789_012_345 / 2, -75] {
            let amount = Money::of_cents(cents);
            let text = json!({"amount": amount.to_json()}).to_string();
            let read: Value = serde_json::from_str(&text).expect("our own JSON");
            assert_eq!(Money::read(&read["amount"]), Some(amount), "{text}");
        }
        assert_eq!(Money::of_cents(1000).to_json().to_string(), "10.0");
    }

    #[test]
    fn a_unit_price_is_rounded_after_it_is_multiplied() {
        let price = |text: &str| serde_json::from_str::<UnitPrice>(text).expect("a price");
        assert_eq!(price("0.005").times(3), money("0.02"));
        assert_eq!(price("0.1").times(3), money("0.30"));
        assert_eq!(price("5.0").times(u64::MAX), Money(Decimal::from(MAX_AMOUNT)));
        assert!(serde_json::from_str::<UnitPrice>("1e300").is_err());
        assert!(serde_json::from_str::<UnitPrice>("\"1\"").is_err());
    }

    #[test]
    fn a_split_is_rounded_down() {
        assert_eq!(money("10").split_evenly(3), money("3.33"));
        assert_eq!(money("0.01").split_evenly(2), Money::ZERO);
        assert_eq!(money("1").split_evenly(0), Money::ZERO);
    }
}
