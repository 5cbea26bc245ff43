//! The owners of the fees/fines of service points, and the types of automatic fees/fines.

use serde::Deserialize;
use std::collections::HashMap;
use uuid::Uuid;

/// Owners and automatic types of fees/fines.
#[derive(Debug, Clone, Default)]
pub struct FeeSettings {
    /// By id.
    owners: Vec<(Uuid, FeeOwner)>,
    /// By id; automatic ones only.
    types: Vec<(Uuid, FeeType)>,
}

/// An owner of fees/fines.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeeOwner {
    #[serde(rename = "owner")]
    name: Option<String>,
    #[serde(rename = "servicePointOwner")]
    service_points: Option<Vec<OwnedServicePoint>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct OwnedServicePoint {
    value: String,
}

/// A type of fees/fines.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeeType {
    #[serde(rename = "feeFineType")]
    name: String,
    automatic: Option<bool>,
}

/// One owner, and the automatic type of overdue fines.
#[cfg(test)]
pub fn fees_of(owner: serde_json::Value) -> FeeSettings {
    let id = Uuid::from_u128(1);
    let kind = serde_json::json!({"feeFineType": "Overdue fine", "automatic": true});
    FeeSettings::new(
        HashMap::from([(id, serde_json::from_value(owner).expect("an owner"))]),
        HashMap::from([(id, serde_json::from_value(kind).expect("a type"))]),
    )
}

impl FeeSettings {
    pub fn new(owners: HashMap<Uuid, FeeOwner>, types: HashMap<Uuid, FeeType>) -> FeeSettings {
        let mut owners: Vec<_> = owners.into_iter().collect();
        owners.sort_by_key(|(id, _)| *id);
        let mut types: Vec<_> = types.into_iter().filter(|(_, kind)| kind.automatic == Some(true)).collect();
        types.sort_by_key(|(id, _)| *id);
        FeeSettings { owners, types }
    }

    /// Id and name of the owner that has the service point.
    pub fn owner_at(&self, service_point: Uuid) -> Option<(Uuid, String)> {
        let wanted = service_point.to_string();
        let has_it =
            |owner: &FeeOwner| owner.service_points.iter().flatten().any(|point| point.value == wanted);
        let found = self.owners.iter().find(|(_, owner)| has_it(owner));
        found.map(|(id, owner)| (*id, owner.name.clone().unwrap_or_default()))
    }

    /// Id and name of the automatic type of this name.
    pub fn automatic_type(&self, name: &str) -> Option<(Uuid, String)> {
        let found = self.types.iter().find(|(_, kind)| kind.name == name);
        found.map(|(id, kind)| (*id, kind.name.clone()))
    }
}
