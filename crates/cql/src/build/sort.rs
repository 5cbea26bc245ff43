//! `sortBy`: each field by the expression that its index has, then the id.

use super::Builder;
use super::target::{Target, known, unknown_order};
use crate::BadQuery;
use crate::tree::SortKey;
use carrel_records::{Index, Kind};

impl Builder<'_> {
    pub(super) fn order(&mut self, keys: &[SortKey]) -> Result<String, BadQuery> {
        let mut order = Vec::new();
        let mut sorted_by_id = false;
        for key in keys {
            let options = Options::of(key)?;
            let direction = if options.descending { " DESC" } else { "" };
            // Fields of other records cannot be sorted by: there may be several such records.
            let found = known(self.record, &key.index).or_else(|| unknown_order(self.record, &key.index));
            let Some(target) = found else { continue };
            sorted_by_id |= target.is_id;
            order.push(format!("{}{direction}", self.sorting(target, options.number)));
            if sorted_by_id {
                break;
            }
        }
        if !sorted_by_id {
            order.push(format!("{}.id", self.record.table));
        }
        Ok(order.join(", "))
    }

    fn sorting(&mut self, target: Target, number: bool) -> String {
        let expression = &target.expression;
        match expression.kind {
            Kind::Text | Kind::Boolean | Kind::Array { .. } if number => {
                self.report(&target, "sortBy", Index::None);
                expression.number()
            }
            Kind::Array { .. } => {
                self.report(&target, "sortBy", Index::None);
                expression.clone().into_text().value()
            }
            Kind::Text | Kind::Boolean | Kind::Uuid | Kind::Number | Kind::Date => {
                if target.sorts {
                    self.served(&target, "sortBy", Index::Value);
                } else {
                    self.report(&target, "sortBy", Index::Value);
                }
                expression.value()
            }
        }
    }
}

#[derive(Default)]
struct Options {
    descending: bool,
    number: bool,
}

impl Options {
    fn of(key: &SortKey) -> Result<Options, BadQuery> {
        let mut options = Options::default();
        for modifier in &key.modifiers {
            match modifier.name.as_str() {
                "sort.ascending" => options.descending = false,
                "sort.descending" => options.descending = true,
                "number" => options.number = true,
                "string" => options.number = false,
                "ignorecase" | "respectcase" | "ignoreaccents" | "respectaccents" | "masked" => {}
                name => {
                    let message = format!("Unsupported modifier {name}");
                    return Err(BadQuery::new(message, key.position.0, &key.to_string()));
                }
            }
        }
        Ok(options)
    }
}
