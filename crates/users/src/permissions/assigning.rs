//! Who may give which permission: one may not give what one does not hold, unless one may assign all of a kind.

use crate::permissions::{Name, PermissionCatalog};
use carrel_platform::http::Caller;
use carrel_platform::surface::EVERYTHING;
use carrel_records::Failure;
use std::collections::HashSet;

/// Refuses to give permissions that the caller neither holds nor may assign. Names that are no permission are
/// left to the check that tells about those.
pub fn refuse_more_than_held(
    caller: &Caller,
    catalog: &PermissionCatalog,
    added: &[&str],
) -> Result<(), Failure> {
    let holds = |name: &str| caller.may(name);
    let (mut okapi, mut immutable, mut mutable) = (Vec::new(), Vec::new(), Vec::new());
    for name in added.iter().copied().filter(|name| !holds(name)) {
        let Some(set) = catalog.find(name) else { continue };
        let of_gateway = name.starts_with("okapi.") || name == "perms.users.assign.okapi";
        if of_gateway && !holds("perms.users.assign.okapi") {
            okapi.push(name);
        }
        if set.mutable && !holds("perms.users.assign.mutable") {
            mutable.push(name);
        }
        // The set of everything is given only by those who have it.
        if !set.mutable && (!holds("perms.users.assign.immutable") || name == EVERYTHING) {
            immutable.push(name);
        }
    }
    let user = caller.user_id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    for (kind, names) in [("okapi", okapi), ("immutable", immutable), ("mutable", mutable)] {
        if !names.is_empty() {
            let noun = if names.len() > 1 { "permissions" } else { "permission" };
            return Err(Failure::Forbidden(format!(
                "Cannot add {kind} {noun} {} not owned by operating user {user}",
                names.join(", ")
            )));
        }
    }
    // A set of one's own making may hold what one does not; everything is the exception.
    let wanted: Vec<Name> = added.iter().map(|name| (*name).into()).collect();
    let contained: HashSet<Name> = catalog.expand(&wanted);
    if contained.contains(EVERYTHING) && !holds(EVERYTHING) {
        return Err(Failure::Forbidden(format!(
            "Cannot add immutable permission {EVERYTHING} not owned by operating user {user}"
        )));
    }
    Ok(())
}
