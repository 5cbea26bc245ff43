//! Slowly changing records, reduced to the fields that decisions and answers use.

use serde::Deserialize;
use uuid::Uuid;

/// A record with a name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Named {
    #[serde(alias = "group", alias = "addressType")]
    pub name: String,
    pub code: Option<String>,
    /// The text for patrons in a cancellation reason.
    pub public_description: Option<String>,
    #[serde(rename = "desc")]
    pub description: Option<String>,
}

/// A location of items.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Location {
    pub name: String,
    pub code: Option<String>,
    pub discovery_display_name: Option<String>,
    pub institution_id: Option<Uuid>,
    pub campus_id: Option<Uuid>,
    pub library_id: Option<Uuid>,
    pub primary_service_point: Option<Uuid>,
    pub service_point_ids: Vec<Uuid>,
    pub is_floating_collection: Option<bool>,
    /// The service point from which items at another library's location are actually fetched.
    pub effective_location_primary_service_point_name: Option<String>,
}

/// A service point.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServicePoint {
    pub name: String,
    pub code: Option<String>,
    pub discovery_display_name: Option<String>,
    pub description: Option<String>,
    pub shelving_lag_time: Option<i64>,
    pub pickup_location: Option<bool>,
    /// Whether it routes requests between libraries.
    pub ecs_request_routing: Option<bool>,
    pub hold_shelf_expiry_period: Option<carrel_loan_rules::loan_policy::Period>,
    pub hold_shelf_closed_library_date_management: Option<String>,
}
