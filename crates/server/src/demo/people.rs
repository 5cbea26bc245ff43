//! The sample library's patrons.

use super::ids::*;
use jiff::civil::Date;
use serde_json::{Value, json};

const PEOPLE: &str = include_str!("../../../../sample/people.tsv");

/// User records with consecutive barcodes.
pub fn users(today: Date) -> Vec<Value> {
    let expires = today.saturating_add(jiff::Span::new().years(3));
    PEOPLE
        .lines()
        .skip(1)
        .enumerate()
        .map(|(place, line)| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [last, first, middle, group, email, street, city, postal_code, phone] = cells[..] else {
                panic!("people.tsv has nine columns: {line:?}")
            };
            let mut personal = json!({
                "lastName": last, "firstName": first, "email": format!("{email}@example.org"), "phone": phone,
                "preferredContactTypeId": "002",
                "addresses": [{
                    "addressTypeId": HOME_ADDRESS, "addressLine1": street, "city": city, "postalCode": postal_code,
                    "countryId": "US", "primaryAddress": true,
                }],
            });
            if !middle.is_empty() {
                personal["middleName"] = middle.into();
            }
            json!({
                "id": id_of(&format!("user {email}")),
                "username": email,
                "barcode": format!("2900000{:05}", place + 1),
                "active": true,
                "type": "patron",
                "patronGroup": group_id(group),
                "enrollmentDate": format!("{today}T00:00:00.000+00:00"),
                "expirationDate": format!("{expires}T23:59:59.000+00:00"),
                "personal": personal,
            })
        })
        .collect()
}

fn group_id(name: &str) -> uuid::Uuid {
    match name {
        "faculty" => FACULTY,
        "graduate" => GRADUATE,
        "staff" => STAFF,
        "undergrad" => UNDERGRAD,
        other => panic!("people.tsv names a group {other:?} that is not there"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_three_hundred_patrons_of_several_groups_with_barcodes_of_their_own() {
        let users = users(jiff::civil::date(2026, 1, 31));
        let distinct =
            |key: &str| users.iter().filter_map(|user| user[key].as_str()).collect::<BTreeSet<_>>().len();
        assert!(users.len() >= 300);
        assert_eq!((distinct("barcode"), distinct("username")), (users.len(), users.len()));
        assert!(distinct("patronGroup") >= 4);
    }
}
