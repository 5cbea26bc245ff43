//! Parts of entries of the circulation log.

use crate::desk::{ItemAtDesk, Patron, QueuedRequest};
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log::{
    Action, Links, LogEntry, LogObject, LoggedItem, LoggedPatron, description,
};
use carrel_loan_rules::request::RequestStatus;
use uuid::Uuid;

/// The patron in an entry of the log.
pub fn patron(patron: &Patron) -> LoggedPatron {
    LoggedPatron { id: Some(patron.id), barcode: patron.barcode.clone() }
}

/// The item in an entry of the log, with its loan.
pub fn item(item: &ItemAtDesk, loan: Option<Uuid>) -> LoggedItem {
    LoggedItem {
        id: Some(item.id),
        barcode: item.record.barcode.clone(),
        holdings: item.holdings_id,
        instance: item.instance_id,
        loan,
    }
}

/// The request whose status a scan changes; patron, item and service point are those of the scan.
pub fn request_moved(
    scan: &LogEntry,
    request: &QueuedRequest,
    status: RequestStatus,
    settings: &CirculationSettings,
) -> LogEntry {
    let point = request.pickup_service_point().and_then(|id| settings.service_points.get(&id));
    let address = request.id_at("deliveryAddressTypeId").and_then(|id| settings.address_types.get(&id));
    let names = description::RequestNames {
        kind: Some(request.text("requestType")),
        pickup_service_point: point.map(|point| point.name.as_str()),
        address_type: address.map(|address| address.name.as_str()),
    };
    LogEntry {
        object: LogObject::Request,
        action: Action::RequestStatusChanged,
        description: Some(description::request_status_changed(
            &names,
            status.as_str(),
            request.text("status"),
        )),
        links: Links { request: Some(request.id), ..Links::default() },
        ..scan.clone()
    }
}
