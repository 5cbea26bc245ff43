//! The refusals in their order, and the changes of a placed request.

use super::*;
use crate::fixtures::*;
use carrel_circulation::desk::override_blocks::{Empty, MayOverride, OverrideBlocks};
use carrel_records::RefusalCode;
use serde_json::json;

fn decided(
    facts: &Facts,
    command: &PlaceRequest,
    settings: &CirculationSettings,
) -> Result<Placement, Failure> {
    decide(facts, command, &staff(), settings)
}

fn refusals(facts: &Facts, command: &PlaceRequest, titles: bool) -> Vec<Refusal> {
    refusals_in(facts, command, &settings_with(titles))
}

fn refusals_in(facts: &Facts, command: &PlaceRequest, settings: &CirculationSettings) -> Vec<Refusal> {
    match decided(facts, command, settings) {
        Err(Failure::Refused(refusals)) => refusals,
        other => unreachable!("refusals were expected: {other:?}"),
    }
}

fn messages(facts: &Facts, command: &PlaceRequest, titles: bool) -> Vec<String> {
    refusals(facts, command, titles).into_iter().map(|refusal| refusal.message).collect()
}

fn placed(facts: &Facts, command: &PlaceRequest, titles: bool) -> Placement {
    decided(facts, command, &settings_with(titles)).expect("a request")
}

/// An item on loan to another patron.
fn out() -> Facts {
    facts(vec![on_loan(ITEM, NEIGHBOR, "20")])
}

/// The only refusal, with its code and the keys of its parameters.
fn the_one(refusals: Vec<Refusal>) -> (String, Option<RefusalCode>, Vec<String>) {
    let [refusal] = <[Refusal; 1]>::try_from(refusals).expect("one refusal");
    let keys = refusal.parameters.into_iter().map(|(key, _)| key).collect();
    (refusal.message, refusal.code, keys)
}

fn one(
    message: &str,
    code: Option<RefusalCode>,
    keys: &[&str],
) -> (String, Option<RefusalCode>, Vec<String>) {
    (message.to_owned(), code, keys.iter().map(|key| (*key).to_owned()).collect())
}

#[test]
fn an_unknown_status_is_not_understood() {
    let text = decided(&out(), &request_with(json!({"status": "Open"})), &settings_with(false))
        .expect_err("no")
        .to_string();
    assert!(
        text.contains("Request status must be one of the following: \"Open - Not yet filled\", "),
        "{text}"
    );
    assert!(text.ends_with("\"Closed - Pickup expired\""), "{text}");
}

#[test]
fn level_and_way_of_delivery_are_refused_alone_and_at_once() {
    let nothing = Facts::default();
    let level = |level: &str, titles| {
        the_one(refusals(&nothing, &request_with(json!({"requestLevel": level})), titles))
    };
    let code = Some(RefusalCode::RequestLevelIsNotAllowed);
    let item_only = "Request level must be one of the following: \"Item\"";
    assert_eq!(level("Title", false), one(item_only, code, &["requestLevel"]));
    let both = "Request level must be one of the following: \"Item\", \"Title\"";
    assert_eq!(level("Shelf", true), one(both, code, &["requestLevel"]));
    let command = request_with(json!({"fulfillmentPreference": "Pigeon"}));
    assert_eq!(
        the_one(refusals(&nothing, &command, false)),
        one(
            "Fulfillment preference must be one of the following: Hold Shelf, Delivery",
            Some(RefusalCode::FulfillmentPreferenceIsNotAllowed),
            &["fulfillmentPreference"]
        )
    );
}

#[test]
fn all_that_is_missing_is_reported_together() {
    let command = request_with(json!({"instanceId": null, "itemId": null, "requestDate": null,
        "pickupServicePointId": null, "requesterId": null}));
    assert_eq!(
        messages(&Facts::default(), &command, false),
        [
            "Cannot create a request with no instance ID",
            "Cannot create an item level request with no item ID",
            "Cannot create a request with no requestDate",
            "Hold shelf fulfillment requests require a Pickup service point",
            "A valid user and patron group are required. User is null",
        ]
    );
}

#[test]
fn an_item_is_named_with_its_holdings_record() {
    assert_eq!(
        messages(&out(), &request_with(json!({"holdingsRecordId": null})), false),
        ["Cannot create a request with item ID but no holdings record ID"]
    );
}

#[test]
fn a_title_is_asked_for_without_naming_a_item() {
    let command = request_with(json!({"requestLevel": "Title"}));
    let refusal = the_one(refusals(&out(), &command, true));
    let text = "Cannot create a title level page request for this instance ID with no item ID";
    let keys = ["itemId", "holdingsRecordId"];
    assert_eq!(refusal, one(text, Some(RefusalCode::CannotCreatePageTlrWithoutItemId), &keys));
}

#[test]
fn a_title_must_be_there() {
    let nowhere = Facts { title: None, ..out() };
    assert_eq!(messages(&nowhere, &request_with(json!({})), false), ["Instance does not exist"]);
}

#[test]
fn an_item_must_be_there() {
    assert_eq!(messages(&facts(vec![]), &request_with(json!({})), false), ["Item does not exist"]);
}

#[test]
fn a_proxy_acts_for_somebody_else_and_only_with_a_valid_relation() {
    let by = |proxy: Uuid| request_with(json!({"proxyUserId": proxy}));
    assert_eq!(
        the_one(refusals(&out(), &by(PATRON), false)),
        one(
            "User cannot be proxy for themselves",
            Some(RefusalCode::UserCannotBeProxyForThemselves),
            &["proxyUserId"]
        )
    );
    assert_eq!(messages(&out(), &by(NEIGHBOR), false), ["proxyUserId is not valid"]);
    let related = |relation| Facts { proxy_relations: vec![relation], ..out() };
    let over = json!({"status": "Active", "expirationDate": "2024-05-09T00:00:00Z"});
    assert_eq!(messages(&related(over), &by(NEIGHBOR), false), ["proxyUserId is not valid"]);
    placed(&related(json!({"status": "Active"})), &by(NEIGHBOR), false);
}

#[test]
fn what_is_picked_up_needs_a_place_that_gives_out_items() {
    let at =
        |desk: Value| the_one(refusals(&out(), &request_with(json!({"pickupServicePointId": desk})), false));
    assert_eq!(
        at(json!(OFFICE)),
        one(
            "Service point is not a pickup location",
            Some(RefusalCode::ServicePointIsNotPickupLocation),
            &["pickupServicePointId"]
        )
    );
    assert_eq!(at(json!(NEIGHBOR)).0, "Pickup service point does not exist");
    assert_eq!(at(Value::Null).1, Some(RefusalCode::HoldShelfRequestsRequirePickupServicePoint));
    placed(
        &out(),
        &request_with(json!({"pickupServicePointId": null, "fulfillmentPreference": "Delivery"})),
        false,
    );
}

#[test]
fn only_active_patrons_of_a_group_may_ask() {
    let with = |change: fn(&mut carrel_circulation::desk::Patron)| {
        let mut facts = out();
        facts.requester.as_mut().into_iter().for_each(change);
        messages(&facts, &request_with(json!({})), false)
    };
    assert_eq!(
        with(|patron| patron.patron_group = None),
        ["A valid patron group is required. PatronGroup ID is null"]
    );
    assert_eq!(with(|patron| patron.active = Some(false)), ["Inactive users cannot make requests"]);
    let expired = with(|patron| patron.expiration_date = Some("2024-05-09T00:00:00Z".into()));
    assert_eq!(expired, ["Inactive users cannot make requests"]);
}

#[test]
fn who_waits_already_does_not_queue_up_twice() {
    let waits = |level: &str, status: &str| Facts { own: vec![own(level, status)], ..out() };
    let again = |facts: &Facts, command: &PlaceRequest, titles| the_one(refusals(facts, command, titles));
    for status in ["Open - Not yet filled", "Open - Awaiting pickup", "Open - In transit"] {
        assert_eq!(
            again(&waits("Item", status), &request_with(json!({"id": ITEM})), false),
            one(
                "This requester already has an open request for this item",
                Some(RefusalCode::ItemAlreadyRequested),
                &["itemId", "requesterId", "requestId"]
            )
        );
    }
    let title = asks_for_title("Hold");
    assert_eq!(
        again(&waits("Title", "Open - Not yet filled"), &title, true),
        one(
            "This requester already has an open request for this instance",
            Some(RefusalCode::InstanceAlreadyRequested),
            &["requesterId", "instanceId"]
        )
    );
    assert_eq!(
        again(&waits("Item", "Open - Not yet filled"), &title, true),
        one(
            "This requester already has an open request for one of the instance's items",
            Some(RefusalCode::ItemOfThisInstanceAlreadyRequested),
            &["requesterId", "instanceId"]
        )
    );
    placed(&waits("Item", "Open - Awaiting delivery"), &request_with(json!({})), false);
}

fn blocked() -> Facts {
    let block = |request: &str, more: Value| {
        let block = json!({"desc": request, "requests": true});
        Value::Object(crate::fixtures::with(block, more))
    };
    Facts {
        manual_blocks: vec![
            block("Wet books", json!({})),
            block("Loud", json!({"requests": false})),
            block("Long ago", json!({"expirationDate": "2024-05-09T00:00:00Z"})),
            block("Owes a pen", json!({"expirationDate": "2024-06-09T00:00:00Z"})),
        ],
        ..out()
    }
}

#[test]
fn a_blocked_patron_hears_why_and_who_could_insist() {
    let [refusal] =
        <[Refusal; 1]>::try_from(refusals(&blocked(), &request_with(json!({})), false)).expect("one");
    assert_eq!(
        refusal,
        Refusal::new("Patron blocked from requesting")
            .with("reason", "Wet books;Loud;Long ago;Owes a pen")
            .code(RefusalCode::UserIsBlockedManually)
            .overridable("patronBlock", vec!["circulation.override-patron-block.post"])
    );
}

#[test]
fn a_block_is_overridden_by_who_may() {
    let overrides = OverrideBlocks { patron_block: Some(Empty {}), ..OverrideBlocks::default() };
    let command = PlaceRequest { overrides, ..request_with(json!({})) };
    assert_eq!(
        the_one(refusals(&blocked(), &command, false)).1,
        Some(RefusalCode::InsufficientOverridePermissions),
        "reported once for both kinds of blocks"
    );
    let actor = Actor { may: MayOverride::all(), ..staff() };
    assert!(decide(&blocked(), &command, &actor, &settings_with(false)).is_ok());
}

#[test]
fn the_type_must_suit_the_status_and_the_policy_and_is_refused_once() {
    let kind = |kind: &str| {
        one(
            &format!("{kind} requests are not allowed for this patron and item combination"),
            Some(RefusalCode::RequestNotAllowedForPatronItemCombination),
            &["requestType"],
        )
    };
    let page = request_with(json!({"requestType": "Page"}));
    assert_eq!(the_one(refusals(&out(), &page, false)), kind("Page"));
    let reference = facts(vec![for_reference(item_as(ITEM, "Available"))]);
    assert_eq!(the_one(refusals(&reference, &page, false)), kind("Page"));
    let both = facts(vec![for_reference(item_as(ITEM, "Checked out"))]);
    assert_eq!(the_one(refusals(&both, &page, false)), kind("Page"));
}

#[test]
fn nobody_waits_for_what_they_has() {
    let his = facts(vec![on_loan(ITEM, PATRON, "20")]);
    assert_eq!(
        the_one(refusals(&his, &request_with(json!({})), false)),
        one(
            "This requester already has this item on loan",
            Some(RefusalCode::RequesterAlreadyHasThisItemOnLoan),
            &["itemId", "userId", "loanId"]
        )
    );
    assert_eq!(
        the_one(refusals(&his, &asks_for_title("Hold"), true)),
        one(
            "This requester already has a loan for one of the instance's items",
            Some(RefusalCode::RequesterAlreadyHasLoanForOneOfInstancesItems),
            &["itemId", "userId"]
        )
    );
}

#[test]
fn a_policy_may_narrow_where_a_type_is_picked_up() {
    let recall = |desk: Uuid| request_with(json!({"requestType": "Recall", "pickupServicePointId": desk}));
    assert_eq!(
        the_one(refusals(&out(), &recall(BRANCH_DESK), false)),
        one(
            "One or more Pickup locations are no longer available",
            Some(RefusalCode::RequestPickupServicePointIsNotAllowed),
            &["pickupServicePointId", "requestType", "requestPolicyId"]
        )
    );
    placed(&out(), &recall(MAIN_DESK), false);
}

#[test]
fn a_hold_of_a_title_asks_the_policy_only_where_the_library_wants_it() {
    let reference = facts(vec![for_reference(item_as(ITEM, "Checked out"))]);
    placed(&reference, &asks_for_title("Hold"), true);
    let mut settings = settings_with(true);
    settings.title_level_requests.tlr_hold_should_follow_circulation_rules = true;
    assert_eq!(
        the_one(refusals_in(&reference, &asks_for_title("Hold"), &settings)),
        one(
            "Hold requests are not allowed for this patron and title combination",
            Some(RefusalCode::RequestNotAllowedForPatronTitleCombination),
            &["requesterId", "instanceId"]
        )
    );
}

#[test]
fn nobody_waits_for_a_title_that_stands_on_the_shelf() {
    let facts = facts(vec![on_loan(ITEM, NEIGHBOR, "20"), item_as(OTHER_ITEM, "Available")]);
    for kind in ["Hold", "Recall"] {
        assert_eq!(
            the_one(refusals(&facts, &asks_for_title(kind), true)),
            one(
                "Hold/Recall title level request not allowed: pageable available item found for instance",
                Some(RefusalCode::HoldAndRecallTlrNotAllowedPageableAvailableItemFound),
                &["instanceId", "itemId"]
            )
        );
    }
}

#[test]
fn without_an_available_item_a_page_has_no_other_refusal() {
    let inactive = {
        let mut facts = out();
        facts.requester.iter_mut().for_each(|patron| patron.active = Some(false));
        facts
    };
    assert_eq!(
        messages(&inactive, &asks_for_title("Page"), true),
        ["Cannot create page TLR for this instance ID - no pageable available items found"]
    );
}

#[test]
fn refusals_of_patron_and_item_come_together_in_the_order_of_the_checks() {
    let mut facts = Facts { own: vec![own("Item", "Open - Not yet filled")], ..blocked() };
    facts.candidates = vec![on_loan(ITEM, PATRON, "20")];
    facts.requester.iter_mut().for_each(|patron| patron.active = Some(false));
    let command =
        request_with(json!({"requestType": "Page", "proxyUserId": NEIGHBOR, "pickupServicePointId": OFFICE}));
    assert_eq!(
        messages(&facts, &command, false),
        [
            "proxyUserId is not valid",
            "Service point is not a pickup location",
            "Inactive users cannot make requests",
            "This requester already has an open request for this item",
            "Patron blocked from requesting",
            "Page requests are not allowed for this patron and item combination",
            "This requester already has this item on loan",
        ]
    );
}

#[test]
fn a_page_takes_the_item_from_the_shelf() {
    let page = placed(
        &facts(vec![item_as(ITEM, "Available")]),
        &request_with(json!({"requestType": "Page"})),
        false,
    );
    assert_eq!((page.item_becomes, page.queue), (Some(ItemStatus::Paged), Some(ITEM)));
    assert_eq!(page.document["status"], "Open - Not yet filled");
}

#[test]
fn a_request_stands_last_in_its_queue() {
    let request = placed(&Facts { last_position: 4, ..out() }, &request_with(json!({})), true);
    assert_eq!((request.document["position"].as_i64(), request.queue), (Some(5), Some(TITLE)));
}

#[test]
fn a_recall_shortens_the_loan_and_a_hold_leaves_it() {
    let recall = placed(&out(), &request_with(json!({"requestType": "Recall"})), false);
    let loan = recall.recalled.expect("a recalled loan");
    assert_eq!(
        (&loan["dueDate"], &loan["action"], &loan["dueDateChangedByRecall"]),
        (&json!("2024-05-12T10:00:00.000+00:00"), &json!("recallrequested"), &json!(true))
    );
    assert!(placed(&out(), &request_with(json!({})), false).recalled.is_none());
}

#[test]
fn a_loan_is_recalled_once() {
    let mut facts = out();
    for loan in facts.candidates.iter_mut().filter_map(|item_as| item_as.loan.as_mut()) {
        loan.document.insert("dueDateChangedByRecall".into(), true.into());
    }
    assert!(placed(&facts, &request_with(json!({"requestType": "Recall"})), false).recalled.is_none());
}

#[test]
fn a_request_expires_at_the_end_of_the_day_and_keeps_nothing_of_what_it_was_shown_with() {
    let command =
        request_with(json!({"requestExpirationDate": "2024-06-01T08:00:00Z", "loan": {"dueDate": "soon"},
        "deliveryAddress": {}, "unknown": 1}));
    let document = placed(&out(), &command, false).document;
    assert_eq!(document["requestExpirationDate"], "2024-06-01T23:59:59.000Z");
    assert_eq!(document["unknown"], 1);
    assert!(!document.contains_key("loan") && !document.contains_key("deliveryAddress"));
}

#[test]
fn a_page_of_a_title_names_the_item_that_will_be_fetched() {
    let page = placed(&facts(vec![item_as(OTHER_ITEM, "Available")]), &asks_for_title("Page"), true);
    assert_eq!(page.document["itemId"], OTHER_ITEM.to_string());
    assert_eq!(page.document["holdingsRecordId"], HOLDINGS.to_string());
    let hold = placed(&out(), &asks_for_title("Hold"), true);
    assert!(hold.item.is_none() && !hold.document.contains_key("itemId"));
}

#[test]
fn a_request_keeps_its_own_id_or_gets_one_and_what_is_no_id_is_not_replaced() {
    let id = |sent: Value| placed(&out(), &request_with(json!({"id": sent})), false).document["id"].clone();
    assert_eq!(id(json!(OTHER_ITEM)), json!(OTHER_ITEM));
    assert_eq!(id(Value::Null), json!(staff().request_id));
    assert_eq!(id(json!("abc")), json!("abc"));
}
