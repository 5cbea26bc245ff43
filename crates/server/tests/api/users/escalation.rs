//! No user gets more permissions than they or their granter had.

use super::login::user_with_password;
use carrel_testkit::{Client, TestServer};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::runtime::Runtime;
use uuid::Uuid;

/// The permissions for the routes of permissions, and one more to grant.
const EDITOR: [&str; 8] = [
    "perms.permissions.get",
    "perms.permissions.item.post",
    "perms.permissions.item.put",
    "perms.permissions.item.delete",
    "perms.users.get",
    "perms.users.item.post",
    "perms.users.item.put",
    "perms.users.item.delete",
];

#[tokio::test]
async fn objects_among_sub_permissions_are_refused() {
    let server = TestServer::start().await;
    let editor = server.staff_with(&EDITOR).await;
    for contained in [json!([{"permissionName": "carrel.all"}]), json!({"a": 1}), json!("carrel.all")] {
        let set = json!({"permissionName": "desk.all", "subPermissions": contained});
        editor.post("/perms/permissions", &set).await.expect_status(422);
        server.post("/perms/permissions", &set).await.expect_status(422);
    }
    let mut set = server.post("/perms/permissions", &json!({"permissionName": "desk.all"})).await.expect(201);
    set.as_object_mut().expect("an object").remove("metadata");
    set["subPermissions"] = json!([{"permissionName": "carrel.all"}]);
    let path = format!("/perms/permissions/{}", set["id"].as_str().expect("an id"));
    editor.put(&path, &set).await.expect_status(422);
}

#[tokio::test]
async fn a_stored_object_among_sub_permissions_grants_nothing() {
    let server = TestServer::start().await;
    server.post("/perms/permissions", &json!({"permissionName": "desk.all"})).await.expect(201);
    let clerk = server.staff_with(&["desk.all"]).await;
    let database = server.database().await;
    let change = r#"UPDATE permissions SET doc = jsonb_set(doc, '{subPermissions}', '[{"permissionName": "carrel.all"}]')
                    WHERE doc->>'permissionName' = 'desk.all'"#;
    database.execute(change, &[]).await.expect("changed behind the API");
    server.tenant.cache.clear();
    clerk.get("/users?limit=0").await.expect_status(403);
}

#[tokio::test]
async fn a_set_contains_only_permissions_that_its_creator_may_grant() {
    let server = TestServer::start().await;
    let editor = server.staff_with(&[&EDITOR[..], &["users.item.get"]].concat()).await;
    let set = |contained: &str| json!({"permissionName": "desk.all", "subPermissions": [contained]});
    for refused in ["users.item.post", "carrel.all", "okapi.all"] {
        editor.post("/perms/permissions", &set(refused)).await.expect_status(403);
    }
    editor.post("/perms/permissions", &set("users.item.get")).await.expect(201);
}

#[tokio::test]
async fn permissions_with_reserved_names_cannot_be_created() {
    let server = TestServer::start().await;
    let editor = server.staff_with(&EDITOR).await;
    for name in ["mod-settings.global.write.invented", "okapi.invented", "carrel.invented"] {
        editor.post("/perms/permissions", &json!({"permissionName": name})).await.expect_status(403);
    }
}

#[tokio::test]
async fn a_record_of_permissions_cannot_be_moved_to_another_user_without_holding_them() {
    let server = TestServer::start().await;
    let editor = server.staff_with(&EDITOR).await;
    let admin = format!("/perms/users/{}?indexField=userId", server.admin_id);
    let mut record = server.get(&admin).await.expect(200);
    record["userId"] = json!(Uuid::new_v4());
    let path = format!("/perms/users/{}", record["id"].as_str().expect("an id"));
    editor.put(&path, &record).await.expect_status(403);
}

#[tokio::test]
async fn the_password_of_an_account_with_more_permissions_cannot_be_set() {
    let server = TestServer::start().await;
    let help_desk = server
        .staff_with(&[
            "login.item.post",
            "login.password-reset-action.post",
            "users-bl.password-reset-link.generate",
        ])
        .await;
    let chief = user_with_password(&server, "chief", "secret").await;
    let patron = user_with_password(&server, "patron", "secret").await;
    server
        .post("/perms/users", &json!({"userId": chief, "permissions": ["users.item.get"]}))
        .await
        .expect(201);
    let attempts = |user: Uuid| {
        let action = json!({"id": Uuid::new_v4(), "userId": user, "expirationTime": "2100-01-01T00:00:00Z"});
        [
            ("/bl-users/password-reset/link", json!({"userId": user})),
            ("/authn/password-reset-action", action),
            ("/authn/credentials", json!({"userId": user, "password": "mine"})),
        ]
    };
    for (path, body) in attempts(chief) {
        help_desk.post(path, &body).await.expect_status(403);
    }
    for (path, body) in attempts(patron) {
        let status = help_desk.post(path, &body).await.status;
        assert!([200, 201, 422].contains(&status), "{path}: {status}");
    }
}

/// Permission names in the sequences: those that the editor has, those that nobody in the test has, and new sets.
const NAMES: [&str; 9] = [
    "users.item.get",
    "users.item.post",
    "carrel.all",
    "perms.users.assign.mutable",
    "perms.users.assign.immutable",
    "okapi.all",
    "set-0",
    "set-1",
    "set-2",
];

/// A call to the routes of permissions.
#[derive(Debug, Clone)]
enum Step {
    CreateSet { set: usize, contains: Vec<(usize, bool)> },
    ReplaceSet { set: usize, contains: Vec<(usize, bool)> },
    DeleteSet { set: usize },
    CreateRecord { user: usize, names: Vec<usize> },
    ReplaceRecord { of: usize, user: usize, names: Vec<usize> },
    Give { to: usize, name: usize },
    DeleteRecord { of: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let set = 0..3_usize;
    let user = 0..3_usize;
    let names = || proptest::collection::vec(0..NAMES.len(), 0..3);
    let contains = || proptest::collection::vec((0..NAMES.len(), any::<bool>()), 0..3);
    let step = prop_oneof![
        (set.clone(), contains()).prop_map(|(set, contains)| Step::CreateSet { set, contains }),
        (set.clone(), contains()).prop_map(|(set, contains)| Step::ReplaceSet { set, contains }),
        set.prop_map(|set| Step::DeleteSet { set }),
        (user.clone(), names()).prop_map(|(user, names)| Step::CreateRecord { user, names }),
        (user.clone(), user.clone(), names()).prop_map(|(of, user, names)| Step::ReplaceRecord {
            of,
            user,
            names
        }),
        (user.clone(), 0..NAMES.len()).prop_map(|(to, name)| Step::Give { to, name }),
        user.prop_map(|of| Step::DeleteRecord { of }),
    ];
    proptest::collection::vec(step, 1..12)
}

/// One case: an editor of permissions, a bystander, and a user with more permissions.
struct Case<'a> {
    server: &'a TestServer,
    editor: Client,
    users: [Uuid; 3],
    suffix: String,
}

impl Case<'_> {
    fn name(&self, index: usize) -> String {
        match NAMES[index].strip_prefix("set-") {
            Some(_) => format!("{}-{}", NAMES[index], self.suffix),
            None => NAMES[index].to_owned(),
        }
    }

    fn names(&self, indexes: &[usize]) -> Vec<String> {
        indexes.iter().map(|index| self.name(*index)).collect()
    }

    fn contained(&self, contains: &[(usize, bool)]) -> Value {
        let value = |(index, as_object): &(usize, bool)| match as_object {
            true => json!({"permissionName": self.name(*index)}),
            false => json!(self.name(*index)),
        };
        contains.iter().map(value).collect()
    }

    async fn set(&self, set: usize) -> Option<Value> {
        let path = format!("/perms/permissions?query=permissionName==\"set-{set}-{}\"", self.suffix);
        self.server.get(&path).await.expect(200)["permissions"].as_array()?.first().cloned()
    }

    async fn record(&self, user: usize) -> Option<Value> {
        let path = format!("/perms/users?query=userId=={}", self.users[user]);
        self.server.get(&path).await.expect(200)["permissionUsers"].as_array()?.first().cloned()
    }

    async fn take(&self, step: &Step) {
        let id = |record: &Value| record["id"].as_str().unwrap_or_default().to_owned();
        match step {
            Step::CreateSet { set, contains } => {
                let name = format!("set-{set}-{}", self.suffix);
                let set = json!({"permissionName": name, "subPermissions": self.contained(contains)});
                self.editor.post("/perms/permissions", &set).await;
            }
            Step::ReplaceSet { set, contains } => {
                let Some(mut set) = self.set(*set).await else { return };
                set["subPermissions"] = self.contained(contains);
                set.as_object_mut().expect("an object").remove("metadata");
                self.editor.put(&format!("/perms/permissions/{}", id(&set)), &set).await;
            }
            Step::DeleteSet { set } => {
                let Some(set) = self.set(*set).await else { return };
                self.editor.delete(&format!("/perms/permissions/{}", id(&set))).await;
            }
            Step::CreateRecord { user, names } => {
                let record = json!({"userId": self.users[*user], "permissions": self.names(names)});
                self.editor.post("/perms/users", &record).await;
            }
            Step::ReplaceRecord { of, user, names } => {
                let Some(mut record) = self.record(*of).await else { return };
                record["userId"] = json!(self.users[*user]);
                if !names.is_empty() {
                    record["permissions"] = json!(self.names(names));
                }
                record.as_object_mut().expect("an object").remove("metadata");
                self.editor.put(&format!("/perms/users/{}", id(&record)), &record).await;
            }
            Step::Give { to, name } => {
                let path = format!("/perms/users/{}/permissions?indexField=userId", self.users[*to]);
                self.editor.post(&path, &json!({"permissionName": self.name(*name)})).await;
            }
            Step::DeleteRecord { of } => {
                let Some(record) = self.record(*of).await else { return };
                self.editor.delete(&format!("/perms/users/{}", id(&record))).await;
            }
        }
    }

    /// All permissions of the user, except sets of this case.
    async fn may(&self, user: usize) -> BTreeSet<String> {
        let path = format!("/perms/users/{}/permissions?indexField=userId&expanded=true", self.users[user]);
        let reply = self.server.get(&path).await;
        if reply.status == 404 {
            return BTreeSet::new();
        }
        let names = reply.expect(200)["permissionNames"].clone();
        let names = names.as_array().expect("an array").iter().filter_map(Value::as_str);
        names.filter(|name| !name.starts_with("set-")).map(str::to_owned).collect()
    }
}

async fn play(server: &TestServer, steps: &[Step]) -> Result<(), String> {
    let suffix = Uuid::new_v4().simple().to_string();
    let users = [Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4()];
    let permissions =
        [[&EDITOR[..], &["users.item.get"]].concat(), vec!["users.item.get"], vec!["users.item.post"]];
    for (user, permissions) in users.iter().zip(&permissions) {
        server.post("/perms/users", &json!({"userId": user, "permissions": permissions})).await.expect(201);
    }
    let case = Case { server, editor: server.client_of(users[0], "editor"), users, suffix };
    let before = [case.may(0).await, case.may(1).await, case.may(2).await];
    for step in steps {
        case.take(step).await;
    }
    for (user, own) in before.iter().enumerate() {
        let after = case.may(user).await;
        if let Some(gained) = after.iter().find(|name| !own.contains(*name) && !before[0].contains(*name)) {
            return Err(format!("user {user} has gained {gained}"));
        }
    }
    Ok(())
}

#[test]
fn no_sequence_of_calls_grants_more_than_the_caller_had() {
    let runtime = Runtime::new().expect("a runtime can be started");
    let server = runtime.block_on(TestServer::start());
    let cases = std::env::var("CARREL_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome =
        runner.run(&steps(), |steps| runtime.block_on(play(&server, &steps)).map_err(TestCaseError::fail));
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // Dropped inside the runtime, like its server.
    runtime.block_on(async move { drop(server) });
}
