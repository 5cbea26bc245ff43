//! Who may read and write a setting: permissions that name the scope, and whether they reach the settings of the
//! tenant, of all users, or of the caller alone.

use carrel_platform::http::Caller;
use serde_json::Value;
use uuid::Uuid;

/// What is done to a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Read,
    Write,
}

impl Deed {
    fn word(self) -> &'static str {
        match self {
            Deed::Read => "read",
            Deed::Write => "write",
        }
    }
}

/// Whether the caller may do it to a setting of this scope and owner.
pub fn may(caller: &Caller, deed: Deed, scope: &str, owner: Option<Uuid>) -> bool {
    let holds = |reach: &str| {
        let word = deed.word();
        caller.may(&format!("mod-settings.{reach}.{word}.{scope}"))
            || caller.may(&format!("mod-settings.{reach}.{scope}.{word}"))
    };
    match owner {
        None => holds("global"),
        Some(owner) => holds("users") || (caller.user_id == Some(owner) && holds("owner")),
    }
}

/// The same for a stored setting.
pub fn may_touch(caller: &Caller, deed: Deed, setting: &Value) -> bool {
    let owner = setting.get("userId").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
    setting.get("scope").and_then(Value::as_str).is_some_and(|scope| may(caller, deed, scope, owner))
}

/// The settings that a caller may list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Every setting of every scope.
    pub everything: bool,
    /// Scopes of whose settings those of the tenant may be read.
    pub global: Vec<String>,
    /// Scopes of whose settings those of all users may be read.
    pub users: Vec<String>,
    /// Scopes of whose settings the caller's own may be read.
    pub owner: Vec<String>,
}

impl Reach {
    pub fn of(caller: &Caller) -> Reach {
        let mut reach = Reach { everything: caller.may(ANY_SETTING), ..Reach::default() };
        for name in caller.permissions.names() {
            let Some((part, rest)) = name.strip_prefix("mod-settings.").and_then(|rest| rest.split_once('.'))
            else {
                continue;
            };
            let scopes = match part {
                "global" => &mut reach.global,
                "users" => &mut reach.users,
                "owner" => &mut reach.owner,
                _ => continue,
            };
            let scope = rest.strip_prefix("read.").or_else(|| rest.strip_suffix(".read"));
            scopes.extend(scope.filter(|scope| !scope.is_empty()).map(str::to_owned));
        }
        reach
    }

    pub fn is_nothing(&self) -> bool {
        !self.everything && self.global.is_empty() && self.users.is_empty() && self.owner.is_empty()
    }
}

/// No permission has this name, so only a caller who may do everything holds it.
const ANY_SETTING: &str = "mod-settings.*.read.*";

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_platform::http::Permissions;

    fn caller(names: &[&str]) -> Caller {
        let permissions = Permissions::new(names.iter().map(|name| (*name).into()).collect());
        Caller { user_id: Some(Uuid::from_u128(7)), permissions, ..Caller::default() }
    }

    #[test]
    fn a_setting_of_the_tenant_needs_the_global_permission_of_its_scope() {
        let clerk = caller(&["mod-settings.global.read.desk"]);
        assert!(may(&clerk, Deed::Read, "desk", None));
        assert!(!may(&clerk, Deed::Write, "desk", None));
        assert!(!may(&clerk, Deed::Read, "office", None));
        assert!(!may(&clerk, Deed::Read, "desk", clerk.user_id));
    }

    #[test]
    fn an_owner_reaches_only_his_own_settings() {
        let clerk = caller(&["mod-settings.owner.write.desk"]);
        assert!(may(&clerk, Deed::Write, "desk", clerk.user_id));
        assert!(!may(&clerk, Deed::Write, "desk", Some(Uuid::from_u128(8))));
    }

    #[test]
    fn settings_of_all_users_include_those_of_others() {
        let clerk = caller(&["mod-settings.users.desk.write"]);
        assert!(may(&clerk, Deed::Write, "desk", Some(Uuid::from_u128(8))));
    }

    #[test]
    fn scopes_may_hold_dots() {
        let clerk = caller(&["mod-settings.global.read.stripes-core.prefs.manage", "circulation.rules.get"]);
        assert_eq!(Reach::of(&clerk).global, ["stripes-core.prefs.manage"]);
    }

    #[test]
    fn without_a_permission_nothing_is_listed() {
        assert!(Reach::of(&caller(&["mod-settings.global.write.desk"])).is_nothing());
        assert!(Reach::of(&Caller { permissions: Permissions::all(), ..Caller::default() }).everything);
    }
}
