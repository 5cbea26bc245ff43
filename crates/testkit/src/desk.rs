//! Test helpers named after the actions of a desk: patrons, items, service points, check-out and check-in.

use crate::client::{Client, Reply};
use crate::server::TestServer;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use uuid::Uuid;

/// A server with locations, types, groups, policies and rules, and two service points.
///
/// The main desk serves the location of the items, the other desk serves none. Loans are for three weeks; all request
/// types are allowed.
pub struct LendingServer {
    pub server: TestServer,
    pub main_desk: Desk,
    pub other_desk: Desk,
    pub location: Uuid,
    pub material_type: Uuid,
    pub loan_type: Uuid,
    pub group: Uuid,
    pub loan_policy: Uuid,
    pub request_policy: Uuid,
    pub notice_policy: Uuid,
    pub overdue_fine_policy: Uuid,
    pub lost_item_policy: Uuid,
    instance_type: Uuid,
    holdings_source: Uuid,
    count: AtomicU64,
}

/// A service point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Desk(pub Uuid);

/// A patron with a barcode.
#[derive(Debug, Clone)]
pub struct TestPatron {
    pub id: Uuid,
    pub barcode: String,
}

/// An item with its holdings record and instance.
#[derive(Debug, Clone)]
pub struct TestItem {
    pub id: Uuid,
    pub barcode: String,
    pub instance: Uuid,
    pub holdings: Uuid,
}

impl LendingServer {
    /// A new server ready for check-outs.
    pub async fn open() -> LendingServer {
        LendingServer::on(TestServer::start().await).await
    }

    /// Prepares a running server for check-outs.
    pub async fn on(server: TestServer) -> LendingServer {
        let admin = &server.admin;
        let [institution, campus, building, location, main, other] = [(); 6].map(|()| Uuid::new_v4());
        for (path, record) in [
            ("/location-units/institutions", json!({"id": institution, "name": "Institution", "code": "I"})),
            (
                "/location-units/campuses",
                json!({"id": campus, "name": "Campus", "code": "C", "institutionId": institution}),
            ),
            (
                "/location-units/libraries",
                json!({"id": building, "name": "Library", "code": "L", "campusId": campus}),
            ),
            ("/service-points", desk(main, "Main desk")),
            ("/service-points", desk(other, "Other desk")),
            (
                "/locations",
                json!({"id": location, "name": "Stacks", "code": "S", "institutionId": institution,
                    "campusId": campus, "libraryId": building, "primaryServicePoint": main, "servicePointIds": [main]}),
            ),
        ] {
            admin.post(path, &record).await.expect(201);
        }
        let first = |path: &'static str, key: &'static str| async move {
            let id = admin.get(&format!("{path}?limit=1")).await.expect(200)[key][0]["id"].clone();
            serde_json::from_value::<Uuid>(id).expect("reference data has one")
        };
        let mut lending = LendingServer {
            main_desk: Desk(main),
            other_desk: Desk(other),
            location,
            material_type: first("/material-types", "mtypes").await,
            loan_type: first("/loan-types", "loantypes").await,
            group: first("/groups", "usergroups").await,
            instance_type: first("/instance-types", "instanceTypes").await,
            holdings_source: first("/holdings-sources", "holdingsRecordsSources").await,
            request_policy: Uuid::new_v4(),
            notice_policy: first(
                "/patron-notice-policy-storage/patron-notice-policies",
                "patronNoticePolicies",
            )
            .await,
            overdue_fine_policy: first("/overdue-fines-policies", "overdueFinePolicies").await,
            lost_item_policy: first("/lost-item-fees-policies", "lostItemFeePolicies").await,
            loan_policy: Uuid::nil(),
            count: AtomicU64::new(1),
            server,
        };
        let request_policy = json!({"id": lending.request_policy, "name": "Ask for anything",
            "requestTypes": ["Hold", "Page", "Recall"]});
        lending.create("/request-policy-storage/request-policies", &request_policy).await;
        lending.loan_policy = lending.loan_policy_with(json!({})).await;
        let policy = lending.loan_policy;
        lending.lends_by(&format!("fallback-policy: {}", lending.policies(policy))).await;
        lending
    }

    /// The administrator.
    pub fn admin(&self) -> &Client {
        &self.server.admin
    }

    /// A loan policy: three weeks, kept to the minute, renewable; `differs` replaces parts of `loansPolicy`.
    pub async fn loan_policy_with(&self, differs: Value) -> Uuid {
        let id = Uuid::new_v4();
        let mut policy = json!({
            "id": id, "name": format!("Policy {id}"), "loanable": true, "renewable": true,
            "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"},
                "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
            "renewalsPolicy": {"unlimited": true, "renewFromId": "SYSTEM_DATE", "differentPeriod": false},
        });
        alter(&mut policy["loansPolicy"], &differs);
        self.create("/loan-policy-storage/loan-policies", &policy).await;
        id
    }

    /// The five policies as circulation rules write them.
    pub fn policies(&self, loan_policy: Uuid) -> String {
        format!(
            "l {loan_policy} r {} n {} o {} i {}",
            self.request_policy, self.notice_policy, self.overdue_fine_policy, self.lost_item_policy
        )
    }

    /// Sets the circulation rules.
    pub async fn lends_by(&self, rules: &str) {
        let text = format!("priority: t, s, c, b, a, m, g\n{rules}\n");
        self.admin().put("/circulation/rules", &json!({"rulesAsText": text})).await.expect(204);
    }

    /// A new patron of the default group.
    pub async fn patron(&self) -> TestPatron {
        self.patron_with(json!({})).await
    }

    /// A new patron; `differs` replaces parts of the record.
    pub async fn patron_with(&self, differs: Value) -> TestPatron {
        let (id, number) = (Uuid::new_v4(), self.count.fetch_add(1, Relaxed));
        let barcode = format!("card-{number}");
        let mut user = json!({
            "id": id, "username": format!("reader{number}"), "barcode": barcode, "active": true, "type": "patron",
            "patronGroup": self.group,
            "personal": {"lastName": format!("Reader{number}"), "firstName": "Some", "preferredContactTypeId": "002"},
        });
        alter(&mut user, &differs);
        self.create("/users", &user).await;
        TestPatron { id, barcode }
    }

    /// A new available item with a new instance.
    pub async fn item(&self) -> TestItem {
        let (instance, holdings, number) = (Uuid::new_v4(), Uuid::new_v4(), self.count.fetch_add(1, Relaxed));
        let title = json!({"id": instance, "title": format!("Book {number}"), "source": "FOLIO",
            "instanceTypeId": self.instance_type});
        self.create("/instance-storage/instances", &title).await;
        let record = json!({"id": holdings, "instanceId": instance, "permanentLocationId": self.location,
            "sourceId": self.holdings_source, "callNumber": format!("PR {number}")});
        self.create("/holdings-storage/holdings", &record).await;
        self.copy_in(instance, holdings).await
    }

    /// Another item of the same instance.
    pub async fn copy_of(&self, test_item: &TestItem) -> TestItem {
        self.copy_in(test_item.instance, test_item.holdings).await
    }

    async fn copy_in(&self, instance: Uuid, holdings: Uuid) -> TestItem {
        let id = Uuid::new_v4();
        let barcode = format!("book-{}", self.count.fetch_add(1, Relaxed));
        let item = json!({"id": id, "barcode": barcode, "holdingsRecordId": holdings,
            "materialTypeId": self.material_type, "permanentLoanTypeId": self.loan_type,
            "status": {"name": "Available"}});
        self.create("/item-storage/items", &item).await;
        TestItem { id, barcode, instance, holdings }
    }

    /// A new item that is checked out.
    pub async fn item_on_loan(&self) -> TestItem {
        let test_item = self.item().await;
        self.check_out(&test_item, &self.patron().await).await.expect(201);
        test_item
    }

    /// Stores a record, which must succeed.
    pub async fn create(&self, path: &str, record: &Value) -> Value {
        self.admin().post(path, record).await.expect(201)
    }

    /// The item's view.
    pub async fn look_at(&self, test_item: &TestItem) -> Value {
        self.admin().get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200)
    }

    /// The item's status.
    pub async fn status_of(&self, test_item: &TestItem) -> String {
        self.look_at(test_item).await["status"]["name"].as_str().unwrap_or_default().to_owned()
    }

    /// Checks out at the main desk.
    pub async fn check_out(&self, test_item: &TestItem, patron: &TestPatron) -> Reply {
        self.check_out_with(test_item, patron, json!({})).await
    }

    /// Checks out with more in the body: proxy, overrides, another desk.
    pub async fn check_out_with(&self, test_item: &TestItem, patron: &TestPatron, more: Value) -> Reply {
        let mut order = json!({"itemBarcode": test_item.barcode, "userBarcode": patron.barcode,
            "servicePointId": self.main_desk.0});
        alter(&mut order, &more);
        self.admin().post("/circulation/check-out-by-barcode", &order).await
    }

    /// Checks in at a desk, now.
    pub async fn check_in(&self, test_item: &TestItem, desk: Desk) -> Reply {
        let order = json!({"itemBarcode": test_item.barcode, "servicePointId": desk.0,
            "checkInDate": jiff::Timestamp::now().to_string()});
        self.admin().post("/circulation/check-in-by-barcode", &order).await
    }

    /// The patron's open loans, as stored.
    pub async fn open_loans_of(&self, patron: &TestPatron) -> Vec<Value> {
        let path =
            format!("/loan-storage/loans?limit=1000&query=userId=={}%20and%20status.name==Open", patron.id);
        self.admin().get(&path).await.expect(200)["loans"].as_array().cloned().unwrap_or_default()
    }
}

/// Replaces parts of a record by those of another object.
pub fn alter(record: &mut Value, differs: &Value) {
    for (key, value) in differs.as_object().expect("an object of differences") {
        record[key] = value.clone();
    }
}

fn desk(id: Uuid, name: &str) -> Value {
    json!({"id": id, "name": name, "code": name, "discoveryDisplayName": name, "pickupLocation": true,
        "holdShelfExpiryPeriod": {"duration": 3, "intervalId": "Weeks"}})
}
