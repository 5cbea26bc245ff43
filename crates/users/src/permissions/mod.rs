//! Permissions of users; permissions contain others, and so form sets.
//!
//! Routes: `/perms/users…` (`permission_users`), `/perms/permissions…` and `/perms/purge-deprecated` (`sets`). The
//! permissions of FOLIO's modules are records that come with the tenant and cannot be changed; libraries add their own
//! sets.

mod assigning;
mod catalog;
mod permission_users;
mod sets;

pub(crate) use assigning::refuse_if_account_has_more;
pub use catalog::{Name, PermissionCatalog};
pub use sets::full_of;

use carrel_platform::Router;
use carrel_platform::surface::{EVERYTHING, PERMISSIONS};
use carrel_records::{PLAIN, RecordType, array, boolean, mentions, text, unique};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A permission or a set of them.
pub static PERMISSION: RecordType = RecordType {
    name: "permission",
    module: "mod-permissions",
    table: "permissions",
    path: "/perms/permissions",
    collection: "permissions",
    shape: "id:string; permissionName:string; displayName:string; description:string; tags:array<string>; \
            subPermissions:array<any>; childOf:array<any>; grantedTo:array<any>; mutable:boolean; visible:boolean; \
            dummy:boolean; deprecated:boolean; moduleName:string; moduleVersion:string",
    fields: &[
        text("permissionName").indexed(),
        text("displayName"),
        boolean("mutable"),
        boolean("visible"),
        array("subPermissions"),
        // Computed on reading, so that a query sees what the answer shows.
        array("childOf").sql(
            "(SELECT coalesce(jsonb_agg(parent.doc->>'permissionName'), '[]') FROM permissions parent \
              WHERE parent.doc->'subPermissions' ? (permissions.doc->>'permissionName'))",
        ),
        array("grantedTo").sql(
            "(SELECT coalesce(jsonb_agg(holder.id), '[]') FROM permissions_users holder \
              WHERE holder.doc->'permissions' ? (permissions.doc->>'permissionName'))",
        ),
    ],
    unique: &[unique(&["permissionName"]).exact()],
    ..PLAIN
};

/// The permissions given to one user.
pub static PERMISSION_USER: RecordType = RecordType {
    name: "permissionUser",
    module: "mod-permissions",
    table: "permissions_users",
    path: "/perms/users",
    collection: "permissionUsers",
    shape: "id:string; userId:string(uuid)*; permissions:array<string>",
    fields: &[array("permissions")],
    unique: &[unique(&["userId"])],
    belongs_to: &[mentions("userId", "users")],
    result_info: true,
    ..PLAIN
};

pub fn connect(router: &mut Router) {
    permission_users::connect(router);
    sets::connect(router);
}

/// Id of a module's permission, the same in every tenant.
pub fn id_of(name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("carrel:permission:{name}").as_bytes())
}

/// The permissions of modules as records of a new tenant.
pub fn first_records() -> Vec<(String, Value)> {
    let own = [
        (EVERYTHING, vec![], "Everything"),
        ("carrel.admin.read", vec![], "See how the server performs"),
        ("carrel.admin.jobs", vec![], "Start and stop background jobs"),
        ("carrel.patron-notices.get", vec![], "See which notices a patron got, and why not"),
        ("carrel.printed-notices.get", vec![], "Read notices that are to be printed"),
        ("carrel.printed-notices.mark", vec![], "Mark notices as printed"),
    ];
    let surface = PERMISSIONS.iter().map(|permission| {
        json!({
            "id": id_of(&permission.name),
            "permissionName": &*permission.name,
            "displayName": &*permission.name,
            "subPermissions": permission.contains.iter().map(|name| &**name).collect::<Vec<_>>(),
            "mutable": false, "visible": permission.name.ends_with(".all"), "dummy": false, "deprecated": false,
            "moduleName": permission.module,
        })
    });
    let own = own.into_iter().map(|(name, inner, display): (&str, Vec<&str>, &str)| {
        json!({"id": id_of(name), "permissionName": name, "displayName": display, "subPermissions": inner,
               "mutable": false, "visible": true, "dummy": false, "deprecated": false, "moduleName": "carrel"})
    });
    surface.chain(own).map(|document| (PERMISSION.path.to_owned(), document)).collect()
}

/// The strings in an array of a document.
fn texts(document: &Map<String, Value>, key: &str) -> Vec<String> {
    let names = document.get(key).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// FOLIO's older names of limit and offset, the first record being number 1.
fn page_of(query: &carrel_platform::http::Query) -> Result<(i64, i64), carrel_records::Failure> {
    let most = i64::from(i32::MAX);
    let limit = query.number("limit", 10, 0, most)?;
    let offset = query.number("offset", 0, 0, most)?;
    let (length, start) = (query.number("length", 10, 0, most)?, query.number("start", 1, 1, most)?);
    Ok((if length == 10 { limit } else { length }, if start == 1 { offset } else { start - 1 }))
}

#[cfg(test)]
mod tests {
    use carrel_platform::http::Query;

    #[test]
    fn length_and_start_are_older_names_of_limit_and_offset() {
        let page = |text| super::page_of(&Query::read(text)).expect("numbers");
        assert_eq!(page("length=10000&start=1"), (10_000, 0));
        assert_eq!(page("limit=3&offset=6"), (3, 6));
        assert_eq!(page("length=3&start=7"), (3, 6));
    }
}
