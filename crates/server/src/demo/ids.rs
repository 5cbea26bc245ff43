//! Ids of the sample library: its own are derived from names, the others are FOLIO's reference data.

use uuid::{Uuid, uuid};

/// The id of a sample record, derived from a unique name.
pub fn id_of(name: &str) -> Uuid {
    const NAMESPACE: Uuid = uuid!("6f0d1c0e-3a56-4a3c-9a3f-6c61727265c1");
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

/// The service point of the branch library.
pub fn branch_desk() -> Uuid {
    id_of("service point branch")
}

/// The service point where the items of a location are checked in.
pub fn home_service_point(location: Uuid) -> Uuid {
    match location {
        science if science == id_of("location science") => CIRC_DESK_2,
        branch if branch == id_of("location branch") => branch_desk(),
        _ => CIRC_DESK_1,
    }
}

pub const CIRC_DESK_1: Uuid = uuid!("3a40852d-49fd-4df2-a1f9-6e2641a6e91f");
pub const CIRC_DESK_2: Uuid = uuid!("c4c90014-c8c9-4ade-8f24-b5e313319f4b");
pub const INTERIM: Uuid = uuid!("32c6f0c7-26e4-4350-8c29-1e11c2e3efc4");
pub const ONLINE: Uuid = uuid!("7c5abc9f-f3d7-4856-b8d7-6712462ca007");

pub const BOOK: Uuid = uuid!("1a54b431-2e4f-452d-9cae-9cee66c9a892");
pub const CAN_CIRCULATE: Uuid = uuid!("2b94c631-fca9-4892-a730-03ee529ffe27");
pub const COURSE_RESERVES: Uuid = uuid!("e8b311a6-3b21-43f2-a269-dd9310cb2d0e");
pub const READING_ROOM: Uuid = uuid!("2e48e713-17f3-4c13-a9f8-23845bb210a4");

pub const FACULTY: Uuid = uuid!("503a81cd-6c26-400f-b620-14c08943697c");
pub const GRADUATE: Uuid = uuid!("ad0bc554-d5bc-463c-85d1-5562127ae91b");
pub const STAFF: Uuid = uuid!("3684a786-6671-4268-8ed0-9db82ebca60b");
pub const UNDERGRAD: Uuid = uuid!("bdc2b6d4-5ceb-4a12-ab46-249b9a68473e");
pub const HOME_ADDRESS: Uuid = uuid!("93d3d88d-499b-45d0-9bc7-ac73c3a19880");

pub const ALLOW_ALL_REQUESTS: Uuid = uuid!("334e5a9e-94f9-4673-8d1d-ab552863886b");
pub const HOLD_ONLY: Uuid = uuid!("4c6e1fb0-2ef1-4666-bd15-f9190ff89060");
pub const SEND_NO_NOTICES: Uuid = uuid!("122b3d2b-4788-4f1e-9117-56daa91cb75c");

pub const SOURCE_FOLIO: Uuid = uuid!("f32d531e-df79-46b3-8932-cdd35f7a2264");
pub const TEXT: Uuid = uuid!("6312d172-f0cf-40f6-b27d-9fa8feaf332f");
pub const VOLUME: Uuid = uuid!("8d511d33-5e85-4c5d-9bce-6e3c9cd0c324");
pub const SINGLE_UNIT: Uuid = uuid!("9d18a02f-5897-4c31-9106-c9abb5c7ae8b");
pub const CATALOGED: Uuid = uuid!("9634a5ab-9228-4703-baf2-4d12ebc77d56");
pub const PERSONAL_NAME: Uuid = uuid!("2b94c631-fca9-4892-a730-03ee529ffe2a");
pub const AUTHOR: Uuid = uuid!("6e09d47d-95e2-4d8a-831b-f777b8ef6d81");
pub const MONOGRAPH: Uuid = uuid!("03c9c400-b9e3-4a07-ac0e-05ab470233ed");
pub const DEWEY_CLASS: Uuid = uuid!("42471af9-7d25-4f3a-bf78-60d29dcf463b");
pub const LC_CLASS: Uuid = uuid!("ce176ace-a53e-4b4d-aa89-725ed7b2edac");
pub const DEWEY_CALL_NUMBER: Uuid = uuid!("03dd64d0-5626-4ecd-8ece-4531e0069f35");
pub const LC_CALL_NUMBER: Uuid = uuid!("95467209-6d7b-468b-94df-0f5d7ad2747d");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn referenced_ids_are_in_the_reference_data() {
        let known = include_str!("../../reference-data.json");
        for id in [
            CIRC_DESK_1,
            CIRC_DESK_2,
            INTERIM,
            ONLINE,
            BOOK,
            CAN_CIRCULATE,
            COURSE_RESERVES,
            READING_ROOM,
            FACULTY,
            GRADUATE,
            STAFF,
            UNDERGRAD,
            HOME_ADDRESS,
            ALLOW_ALL_REQUESTS,
            HOLD_ONLY,
            SEND_NO_NOTICES,
            SOURCE_FOLIO,
            TEXT,
            VOLUME,
            SINGLE_UNIT,
            CATALOGED,
            PERSONAL_NAME,
            AUTHOR,
            MONOGRAPH,
            DEWEY_CLASS,
            LC_CLASS,
            DEWEY_CALL_NUMBER,
            LC_CALL_NUMBER,
        ] {
            assert!(known.contains(&id.to_string()), "{id} is not in reference-data.json");
        }
    }
}
