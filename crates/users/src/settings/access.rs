//! Who may read and write a setting: permissions name a scope, and cover settings of the tenant, of all users, or of the
//! caller only.

use carrel_platform::http::Caller;
use serde_json::Value;
use uuid::Uuid;

/// An operation on a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
        }
    }
}

/// Whether the caller may do it with a setting of this scope and owner.
pub fn is_allowed(caller: &Caller, operation: Operation, scope: &str, owner: Option<Uuid>) -> bool {
    let holds = |owner: &str| {
        let word = operation.word();
        caller.may(&format!("mod-settings.{owner}.{word}.{scope}"))
            || caller.may(&format!("mod-settings.{owner}.{scope}.{word}"))
    };
    match owner {
        None => holds("global"),
        Some(owner) => holds("users") || (caller.user_id == Some(owner) && holds("owner")),
    }
}

/// The same for a stored setting.
pub fn is_allowed_on(caller: &Caller, operation: Operation, setting: &Value) -> bool {
    let owner = setting.get("userId").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
    setting
        .get("scope")
        .and_then(Value::as_str)
        .is_some_and(|scope| is_allowed(caller, operation, scope, owner))
}

/// The scopes whose settings a caller may list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadableScopes {
    /// Every setting of every scope.
    pub everything: bool,
    /// Scopes in which settings of the tenant may be read.
    pub global: Vec<String>,
    /// Scopes in which settings of all users may be read.
    pub users: Vec<String>,
    /// Scopes in which the caller's own settings may be read.
    pub owner: Vec<String>,
}

impl ReadableScopes {
    pub fn of(caller: &Caller) -> ReadableScopes {
        let mut readable =
            ReadableScopes { everything: caller.may(ANY_SETTING), ..ReadableScopes::default() };
        for name in caller.permissions.names() {
            let Some((part, rest)) = name.strip_prefix("mod-settings.").and_then(|rest| rest.split_once('.'))
            else {
                continue;
            };
            let scopes = match part {
                "global" => &mut readable.global,
                "users" => &mut readable.users,
                "owner" => &mut readable.owner,
                _ => continue,
            };
            let scope = rest.strip_prefix("read.").or_else(|| rest.strip_suffix(".read"));
            scopes.extend(scope.filter(|scope| !scope.is_empty()).map(str::to_owned));
        }
        readable
    }

    pub fn is_empty(&self) -> bool {
        !self.everything && self.global.is_empty() && self.users.is_empty() && self.owner.is_empty()
    }
}

/// No permission has this name, so only callers with all permissions hold it.
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
        assert!(is_allowed(&clerk, Operation::Read, "desk", None));
        assert!(!is_allowed(&clerk, Operation::Write, "desk", None));
        assert!(!is_allowed(&clerk, Operation::Read, "office", None));
        assert!(!is_allowed(&clerk, Operation::Read, "desk", clerk.user_id));
    }

    #[test]
    fn an_owner_permission_covers_only_own_settings() {
        let clerk = caller(&["mod-settings.owner.write.desk"]);
        assert!(is_allowed(&clerk, Operation::Write, "desk", clerk.user_id));
        assert!(!is_allowed(&clerk, Operation::Write, "desk", Some(Uuid::from_u128(8))));
    }

    #[test]
    fn settings_of_all_users_include_those_of_others() {
        let clerk = caller(&["mod-settings.users.desk.write"]);
        assert!(is_allowed(&clerk, Operation::Write, "desk", Some(Uuid::from_u128(8))));
    }

    #[test]
    fn scopes_may_contain_dots() {
        let clerk = caller(&["mod-settings.global.read.stripes-core.prefs.manage", "circulation.rules.get"]);
        assert_eq!(ReadableScopes::of(&clerk).global, ["stripes-core.prefs.manage"]);
    }

    #[test]
    fn a_caller_without_permissions_has_no_readable_scope() {
        assert!(ReadableScopes::of(&caller(&["mod-settings.global.write.desk"])).is_empty());
        assert!(
            ReadableScopes::of(&Caller { permissions: Permissions::all(), ..Caller::default() }).everything
        );
    }
}
