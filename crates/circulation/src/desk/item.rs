//! An item with its holdings record and instance, read in one row.

use crate::settings::{CirculationSettings, RuleInputs};
use carrel_inventory::item_state::StateChange;
pub use carrel_inventory::items::barcode_is;
use carrel_platform::Json;
use carrel_records::{Failure, ItemStatus};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_postgres::Row;
use uuid::Uuid;

macro_rules! state_of {
    () => {
        "item.id AS item_id, item.doc AS item_doc, item_state.status AS item_status, \
        item_state.in_transit_destination AS item_destination, item_state.version AS item_version, \
        item_state.last_check_in AS item_last_check_in, holdings_record.id AS item_holdings_id, \
        holdings_record.instance_id AS item_instance_id"
    };
}

macro_rules! rest_of {
    () => {
        ", item_state.status_date AS item_status_date, \
        holdings_record.doc->>'copyNumber' AS item_holdings_copy_number"
    };
}

/// The column of the table `instance` from which a [`Title`] is read. It is the whole document: PostgreSQL decompresses
/// a long document again for each selected field, which costs more than sending it.
pub const TITLE: &str = "instance.doc";
/// Columns that [`ItemAtDesk::read`] takes from a row.
pub const COLUMNS: &str = concat!(state_of!(), ", instance.doc AS item_title", rest_of!());
/// [`COLUMNS`] without the instance, for the many items of one instance.
pub const COLUMNS_WITHOUT_TITLE: &str = concat!(state_of!(), ", NULL::jsonb AS item_title", rest_of!());
/// Number of those columns.
pub const WIDTH: usize = 11;

/// Tables that the columns come from.
pub const TABLES: &str = "item JOIN item_state ON item_state.item_id = item.id \
    LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id \
    LEFT JOIN instance ON instance.id = holdings_record.instance_id";

/// SQL that locks the row in `item_state` of the item with the barcode given as an expression; its row has the column
/// `number`.
pub fn lock(barcode: &str) -> String {
    format!(
        "SELECT 1::bigint AS number FROM item_state
         WHERE item_id = ANY (ARRAY(SELECT item.id FROM item WHERE {})) FOR NO KEY UPDATE",
        barcode_is(barcode)
    )
}

/// SQL that locks the items with the barcodes of an array, except those that are locked already; its rows have the
/// column `number`, the index of the barcode from 1 on.
pub fn lock_free_of(barcodes: &str) -> String {
    format!(
        "SELECT given.number FROM unnest({barcodes}) WITH ORDINALITY given (barcode, number)
         JOIN item ON {} JOIN item_state ON item_state.item_id = item.id
         FOR NO KEY UPDATE OF item_state SKIP LOCKED",
        barcode_is("given.barcode")
    )
}

/// One row for each scan, in the order of the scans: if several items have the barcode, which is possible in a tenant
/// behind a gateway, every action uses the one with the lowest id. Rows have the columns `number` and [`COLUMNS`].
pub fn one_row_each(rows: &[Row]) -> Vec<&Row> {
    let key = |row: &&Row| (row.get::<_, i64>("number"), row.get::<_, Option<Uuid>>("item_id"));
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(key);
    rows.dedup_by_key(|row| row.get::<_, i64>("number"));
    rows
}

/// An item at the desk.
#[derive(Debug, Clone, Default)]
pub struct ItemAtDesk {
    pub id: Uuid,
    pub record: ItemRecord,
    pub status: ItemStatus,
    pub status_date: Option<String>,
    pub in_transit_destination: Option<Uuid>,
    pub last_check_in: Option<Value>,
    pub holdings_id: Option<Uuid>,
    pub instance_id: Option<Uuid>,
    pub title: Title,
    /// Copy number of the holdings record, for items without a copy number.
    pub holdings_copy_number: Option<String>,
}

/// The properties of an item's document for decisions and answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ItemRecord {
    pub barcode: Option<String>,
    pub holdings_record_id: Option<Uuid>,
    pub material_type_id: Option<Uuid>,
    pub permanent_loan_type_id: Option<Uuid>,
    pub temporary_loan_type_id: Option<Uuid>,
    pub effective_location_id: Option<Uuid>,
    pub permanent_location_id: Option<Uuid>,
    pub temporary_location_id: Option<Uuid>,
    pub effective_call_number_components: Option<Value>,
    pub effective_shelving_order: Option<String>,
    pub enumeration: Option<String>,
    pub chronology: Option<String>,
    pub volume: Option<String>,
    pub copy_number: Option<String>,
    pub display_summary: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub year_caption: Vec<String>,
    pub number_of_pieces: Option<String>,
    pub description_of_pieces: Option<String>,
    pub number_of_missing_pieces: Option<String>,
    pub missing_pieces: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub circulation_notes: Vec<CirculationNote>,
    pub accession_number: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub administrative_notes: Vec<String>,
    pub discovery_suppress: Option<bool>,
    pub tags: Option<Value>,
    /// A virtual item of another library in direct consortial borrowing: title and library are in its document.
    pub dcb_item: Option<bool>,
    pub instance_title: Option<String>,
    pub lending_library_code: Option<String>,
}

/// A note for staff who scan the item; its type determines at which desk it is shown.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CirculationNote {
    pub note_type: Option<String>,
}

/// The properties of an instance for decisions and answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Title {
    pub title: Option<String>,
    pub hrid: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub contributors: Vec<Contributor>,
    #[serde(deserialize_with = "null_is_empty")]
    pub editions: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub series: Vec<Value>,
    #[serde(deserialize_with = "null_is_empty")]
    pub publication: Vec<Publication>,
    #[serde(deserialize_with = "null_is_empty")]
    pub physical_descriptions: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub identifiers: Vec<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Contributor {
    pub name: Option<String>,
    pub primary: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Publication {
    pub publisher: Option<String>,
    pub place: Option<String>,
    pub date_of_publication: Option<String>,
    pub role: Option<String>,
}

impl Title {
    /// The title in a column selected by [`TITLE`], if there is one.
    pub fn at(row: &Row, place: usize) -> Result<Option<Title>, Failure> {
        row.get::<_, Option<Json>>(place).map(|json| json.read()).transpose().map_err(|error| {
            Failure::Internal { context: "reading a title".into(), cause: Some(error.into()) }
        })
    }
}

fn null_is_empty<'de, D, T>(reader: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Vec<T>>::deserialize(reader)?.unwrap_or_default())
}

impl ItemAtDesk {
    /// Reads [`COLUMNS`] by their names; `None` if the row has no item.
    pub fn of(row: &Row) -> Result<Option<ItemAtDesk>, Failure> {
        let first = row.columns().iter().position(|column| column.name() == "item_id");
        let first = first.ok_or_else(|| Failure::internal("the statement selects an item's columns"))?;
        ItemAtDesk::read(row, first)
    }

    /// Reads [`COLUMNS`] from the column `first` on; `None` if the row has no item.
    pub fn read(row: &Row, first: usize) -> Result<Option<ItemAtDesk>, Failure> {
        let Some(id) = row.get::<_, Option<Uuid>>(first) else { return Ok(None) };
        let broken = |what: &str, error: serde_json::Error| Failure::Internal {
            context: format!("reading {what} of item {id}"),
            cause: Some(error.into()),
        };
        let record: Json = row.get(first + 1);
        let title: Option<Json> = row.get(first + 8);
        Ok(Some(ItemAtDesk {
            id,
            record: record.read().map_err(|error| broken("the record", error))?,
            status: row.get::<_, &str>(first + 2).into(),
            in_transit_destination: row.get(first + 3),
            last_check_in: row.get::<_, Option<Json>>(first + 5).map(|json| json.parse()),
            holdings_id: row.get(first + 6),
            instance_id: row.get(first + 7),
            title: match title {
                Some(json) => json.read().map_err(|error| broken("the title", error))?,
                None => Title::default(),
            },
            status_date: row.get(first + 9),
            holdings_copy_number: row.get(first + 10),
        }))
    }

    pub fn barcode(&self) -> &str {
        self.record.barcode.as_deref().unwrap_or("")
    }

    pub fn title(&self) -> &str {
        self.own_title().unwrap_or("")
    }

    /// The title of the instance; for an item of another library the one in its document.
    pub fn own_title(&self) -> Option<&str> {
        if self.is_of_another_library() { &self.record.instance_title } else { &self.title.title }.as_deref()
    }

    /// Whether the item is borrowed from another library by direct consortial borrowing.
    pub fn is_of_another_library(&self) -> bool {
        self.record.dcb_item == Some(true)
    }

    /// The temporary loan type takes precedence over the permanent one.
    pub fn loan_type(&self) -> Option<Uuid> {
        self.record.temporary_loan_type_id.or(self.record.permanent_loan_type_id)
    }

    /// The inputs of the circulation rules for this item and a patron of the group.
    pub fn rule_inputs(&self, patron_group: Option<Uuid>) -> RuleInputs {
        RuleInputs {
            material_type: self.record.material_type_id,
            loan_type: self.loan_type(),
            patron_group,
            location: self.record.effective_location_id,
        }
    }

    pub fn material_type_name<'a>(&self, settings: &'a CirculationSettings) -> &'a str {
        self.record
            .material_type_id
            .and_then(|id| settings.material_types.get(&id))
            .map_or("", |named| &named.name)
    }

    /// The name of the contributor that is marked as primary.
    pub fn primary_contributor(&self) -> Option<&str> {
        let primary = self.title.contributors.iter().find(|contributor| contributor.primary == Some(true))?;
        primary.name.as_deref()
    }

    pub fn contributor_names(&self) -> impl Iterator<Item = &str> {
        self.title.contributors.iter().filter_map(|contributor| contributor.name.as_deref())
    }

    pub fn dates_of_publication(&self) -> impl Iterator<Item = &str> {
        self.title.publication.iter().filter_map(|published| published.date_of_publication.as_deref())
    }

    /// The item's copy number, else that of its holdings record.
    pub fn copy_number(&self) -> Option<&str> {
        let own = self.record.copy_number.as_deref().filter(|number| !number.trim().is_empty());
        own.or(self.holdings_copy_number.as_deref())
    }

    /// The item after a change of its state.
    pub fn after(&self, change: &StateChange) -> ItemAtDesk {
        ItemAtDesk {
            status: change.status.clone(),
            status_date: None,
            in_transit_destination: change.in_transit_destination,
            last_check_in: change.last_check_in.clone().or_else(|| self.last_check_in.clone()),
            ..self.clone()
        }
    }

    /// `series` holds texts in old records and objects with `value` in newer ones.
    pub fn series_statements(&self) -> Vec<&str> {
        self.title
            .series
            .iter()
            .filter_map(|series| series.as_str().or_else(|| series.get("value")?.as_str()))
            .collect()
    }

    /// `callNumber`, `prefix`, `suffix`, those that the item has.
    pub fn call_number_components(&self) -> Option<Value> {
        let components = self.record.effective_call_number_components.as_ref()?.as_object()?;
        let mut shown = Map::new();
        for key in ["callNumber", "prefix", "suffix"] {
            if let Some(value) = components.get(key).filter(|value| !value.is_null()) {
                shown.insert(key.into(), value.clone());
            }
        }
        Some(Value::Object(shown))
    }

    pub fn call_number(&self) -> Option<&str> {
        self.record.effective_call_number_components.as_ref()?.get("callNumber")?.as_str()
    }

    /// The item as loans show it.
    pub fn summary(&self, settings: &CirculationSettings, status: &ItemStatus) -> Value {
        let mut summary = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                summary.insert(key.to_owned(), value);
            }
        };
        let text =
            |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty()).map(Value::from);
        let list = |values: Vec<&str>| (!values.is_empty()).then(|| Value::from(values));
        let own = |values: &[String]| (!values.is_empty()).then(|| Value::from(values.to_vec()));
        put("id", Some(self.id.to_string().into()));
        put("holdingsRecordId", self.holdings_id.map(|id| id.to_string().into()));
        put("instanceId", self.instance_id.map(|id| id.to_string().into()));
        put("instanceHrid", text(&self.title.hrid));
        put("title", self.own_title().filter(|title| !title.trim().is_empty()).map(Value::from));
        put("barcode", text(&self.record.barcode));
        let contributors: Vec<Value> = self.contributor_names().map(|name| json!({"name": name})).collect();
        put("contributors", (!contributors.is_empty()).then(|| contributors.into()));
        put("primaryContributor", self.primary_contributor().map(Value::from));
        put("callNumber", self.call_number().map(Value::from));
        put("enumeration", text(&self.record.enumeration));
        put("chronology", text(&self.record.chronology));
        put("displaySummary", text(&self.record.display_summary));
        put("volume", text(&self.record.volume));
        put("copyNumber", self.copy_number().map(Value::from));
        put("editions", own(&self.title.editions));
        put("seriesStatements", list(self.series_statements()));
        put("datesOfPublication", list(self.dates_of_publication().collect()));
        put("physicalDescriptions", own(&self.title.physical_descriptions));
        put("administrativeNotes", own(&self.record.administrative_notes));
        put("accessionNumber", text(&self.record.accession_number));
        put("callNumberComponents", self.call_number_components());
        let mut shown = json!({"name": status});
        if let Some(date) = &self.status_date
            && *status == self.status
        {
            shown["date"] = date.as_str().into();
        }
        put("status", Some(shown));
        if let Some(destination) = self.in_transit_destination.filter(|_| *status == ItemStatus::InTransit) {
            put("inTransitDestinationServicePointId", Some(destination.to_string().into()));
            let mut shown = json!({"id": destination});
            if let Some(point) = settings.service_points.get(&destination) {
                shown["name"] = point.name.as_str().into();
            }
            put("inTransitDestinationServicePoint", Some(shown));
        }
        let location = self.record.effective_location_id.and_then(|id| settings.locations.get(&id));
        put("location", location.map(|location| json!({"name": location.name})));
        let material = self.record.material_type_id.and_then(|id| settings.material_types.get(&id));
        put("materialType", material.map(|material| json!({"name": material.name})));
        Value::Object(summary)
    }
}
