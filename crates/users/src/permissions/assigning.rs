//! Which permissions users may grant: those that they have, and all of a kind that they may assign.

use crate::permissions::{Name, PermissionCatalog};
use carrel_platform::Call;
use carrel_platform::http::Caller;
use carrel_platform::surface::{EVERYTHING, ROUTES};
use carrel_records::Failure;
use std::collections::HashSet;
use std::sync::LazyLock;
use uuid::Uuid;

/// The operating user, with the permissions of the call and those of their account: behind a gateway a call carries
/// only some of them.
struct Granter<'a> {
    caller: &'a Caller,
    account: HashSet<Name>,
}

impl<'a> Granter<'a> {
    fn of(caller: &'a Caller, catalog: &PermissionCatalog) -> Granter<'a> {
        Granter { caller, account: caller.user_id.map(|user| catalog.of_user(user)).unwrap_or_default() }
    }

    fn holds(&self, name: &str) -> bool {
        self.caller.may(name) || self.account.contains(name) || self.account.contains(EVERYTHING)
    }

    /// The user's id as messages name it.
    fn id(&self) -> String {
        self.caller.user_id.map_or_else(|| "null".to_owned(), |id| id.to_string())
    }
}

/// Refuses to grant permissions that the caller neither has nor may assign. Unknown names are left to the check that
/// reports them.
pub fn refuse_more_than_held(
    caller: &Caller,
    catalog: &PermissionCatalog,
    added: &[&str],
) -> Result<(), Failure> {
    let granter = Granter::of(caller, catalog);
    let (mut okapi, mut immutable, mut mutable) = (Vec::new(), Vec::new(), Vec::new());
    for name in added.iter().copied().filter(|name| !granter.holds(name)) {
        let Some(set) = catalog.find(name) else { continue };
        let of_gateway = name.starts_with("okapi.") || name == "perms.users.assign.okapi";
        if of_gateway && !granter.holds("perms.users.assign.okapi") {
            okapi.push(name);
        }
        if set.mutable && !granter.holds("perms.users.assign.mutable") {
            mutable.push(name);
        }
        // The set of all permissions can be granted only by users who have it.
        if !set.mutable && (!granter.holds("perms.users.assign.immutable") || name == EVERYTHING) {
            immutable.push(name);
        }
    }
    for (kind, names) in [("okapi", okapi), ("immutable", immutable), ("mutable", mutable)] {
        if !names.is_empty() {
            let noun = if names.len() > 1 { "permissions" } else { "permission" };
            return Err(Failure::Forbidden(format!(
                "Cannot add {kind} {noun} {} not owned by operating user {}",
                names.join(", "),
                granter.id()
            )));
        }
    }
    // A mutable set may contain permissions that its granter lacks; the set of all permissions is the exception.
    let wanted: Vec<Name> = added.iter().map(|name| (*name).into()).collect();
    if catalog.expand(&wanted).contains(EVERYTHING) && !granter.holds(EVERYTHING) {
        return Err(Failure::Forbidden(format!(
            "Cannot add immutable permission {EVERYTHING} not owned by operating user {}",
            granter.id()
        )));
    }
    Ok(())
}

/// Refuses a new permission with a name that the server itself checks, unless the caller has all permissions: its
/// creator could otherwise grant permissions that no module has declared.
pub fn refuse_reserved_name(caller: &Caller, catalog: &PermissionCatalog, name: &str) -> Result<(), Failure> {
    static CHECKED_BY_ROUTES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        ROUTES.iter().flat_map(|route| route.permissions.iter().map(String::as_str)).collect()
    });
    let is_reserved = CHECKED_BY_ROUTES.contains(name)
        || ["okapi.", "carrel.", "mod-settings."].iter().any(|prefix| name.starts_with(prefix));
    let granter = Granter::of(caller, catalog);
    if is_reserved && !granter.holds(EVERYTHING) {
        return Err(Failure::Forbidden(format!(
            "Cannot create permission {name}: the name is reserved, and operating user {} does not hold {EVERYTHING}",
            granter.id()
        )));
    }
    Ok(())
}

/// Refuses to set the password of an account that has permissions the caller lacks, since the caller could then log in
/// with it.
pub async fn refuse_if_account_has_more(call: &Call, user: Uuid) -> Result<(), Failure> {
    if call.caller.profile.unlimited_permissions {
        return Ok(());
    }
    let catalog = PermissionCatalog::of(call.tenant()?).await?;
    let granter = Granter::of(&call.caller, &catalog);
    if catalog.of_user(user).iter().all(|name| granter.holds(name)) {
        return Ok(());
    }
    Err(Failure::Forbidden(format!(
        "Cannot set the password of user {user}: the account has permissions not owned by operating user {}",
        granter.id()
    )))
}
