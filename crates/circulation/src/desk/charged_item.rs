//! The copy of an item in a fee/fine.

use super::item::ItemAtDesk;
use crate::settings::CirculationSettings;
use carrel_fees_fines::charge::ChargedItem;

/// The item's values in an account.
pub fn charged_item(item: &ItemAtDesk, settings: &CirculationSettings) -> ChargedItem {
    let location = item.record.effective_location_id.and_then(|id| settings.locations.get(&id));
    ChargedItem {
        id: item.id,
        title: item.title().to_owned(),
        barcode: item.record.barcode.clone(),
        call_number: item.call_number().map(str::to_owned),
        location: location.map(|location| location.name.clone()),
        material_type: item
            .record
            .material_type_id
            .map(|id| (id, item.material_type_name(settings).to_owned())),
        contributors: item.contributor_names().map(str::to_owned).collect(),
    }
}
