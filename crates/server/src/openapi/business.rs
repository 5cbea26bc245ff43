//! Names, request bodies and responses of business operations; those of records follow from their declarations.
//!
//! Schemas are written in the notation of record declarations. Answers may contain further properties.

use carrel_records::shape::Shape;
use serde_json::{Map, Value, json};

/// An operation: its name, request schema, and status and schema of its success. An empty schema is none;
/// `loans:circulationLoan[]` is a list named `loans` with `totalRecords`.
pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub name: &'static str,
    pub sent: &'static str,
    pub status: &'static str,
    pub answered: &'static str,
}

const fn operation(
    method: &'static str,
    path: &'static str,
    name: &'static str,
    sent: &'static str,
    status: &'static str,
    answered: &'static str,
) -> Operation {
    Operation { method, path, name, sent, status, answered }
}

/// The operations, by area.
pub const OPERATIONS: &[Operation] = &[
    // Log-in.
    operation("POST", "/authn/login", "logIn", "credentials", "201", "token"),
    operation("POST", "/authn/login-with-expiry", "logInWithExpiry", "credentials", "201", "tokenExpiration"),
    operation("POST", "/bl-users/login", "logInAsUser", "credentials", "201", "compositeUser"),
    operation(
        "POST",
        "/bl-users/login-with-expiry",
        "logInAsUserWithExpiry",
        "credentials",
        "201",
        "compositeUser",
    ),
    operation("POST", "/authn/refresh", "refreshToken", "", "201", "tokenExpiration"),
    operation("POST", "/authn/logout", "logOut", "", "204", ""),
    operation("POST", "/authn/logout-all", "logOutEverywhere", "", "204", ""),
    operation("GET", "/bl-users/_self", "findCurrentUser", "", "200", "compositeUser"),
    operation("GET", "/bl-users/by-id/{id}", "findCompositeUser", "", "200", "compositeUser"),
    operation("GET", "/bl-users/by-username/{id}", "findCompositeUserByUsername", "", "200", "compositeUser"),
    operation(
        "GET",
        "/bl-users/by-id/{id}/open-transactions",
        "findOpenTransactions",
        "",
        "200",
        "openTransactions",
    ),
    operation("GET", "/bl-users", "listCompositeUsers", "", "200", "compositeUserList"),
    // The desk.
    operation(
        "POST",
        "/circulation/check-out-by-barcode",
        "checkOutByBarcode",
        "checkOutRequest",
        "201",
        "circulationLoan",
    ),
    operation(
        "POST",
        "/circulation/check-out-by-barcode-dry-run",
        "checkOutByBarcodeDryRun",
        "checkOutRequest",
        "201",
        "appliedPolicies",
    ),
    operation(
        "POST",
        "/circulation/check-in-by-barcode",
        "checkInByBarcode",
        "checkInRequest",
        "200",
        "checkInResult",
    ),
    operation(
        "POST",
        "/circulation/renew-by-barcode",
        "renewByBarcode",
        "renewByBarcodeRequest",
        "200",
        "circulationLoan",
    ),
    operation("POST", "/circulation/renew-by-id", "renewById", "renewByIdRequest", "200", "circulationLoan"),
    operation(
        "POST",
        "/circulation/end-patron-action-session",
        "endPatronActionSessions",
        "endSessionsRequest",
        "204",
        "",
    ),
    // Loans.
    operation("GET", "/circulation/loans", "listLoans", "", "200", "loans:circulationLoan[]"),
    operation("GET", "/circulation/loans/{id}", "findLoan", "", "200", "circulationLoan"),
    operation("POST", "/circulation/loans", "createLoan", "circulationLoan", "201", "circulationLoan"),
    operation("PUT", "/circulation/loans/{id}", "replaceLoan", "circulationLoan", "204", ""),
    operation(
        "POST",
        "/circulation/loans/{id}/claim-item-returned",
        "claimItemReturned",
        "claimItemReturnedRequest",
        "204",
        "",
    ),
    operation(
        "POST",
        "/circulation/loans/{id}/declare-claimed-returned-item-as-missing",
        "declareClaimedReturnedItemAsMissing",
        "commentRequest",
        "204",
        "",
    ),
    operation(
        "POST",
        "/circulation/loans/{id}/declare-item-lost",
        "declareItemLost",
        "declareItemLostRequest",
        "204",
        "",
    ),
    operation(
        "POST",
        "/circulation/loans/{id}/change-due-date",
        "changeDueDate",
        "changeDueDateRequest",
        "204",
        "",
    ),
    operation("POST", "/circulation/loans/{id}/add-info", "addInfoToLoan", "addInfoRequest", "204", ""),
    // Requests.
    operation("GET", "/circulation/requests", "listRequests", "", "200", "requests:circulationRequest[]"),
    operation("GET", "/circulation/requests/{id}", "findRequest", "", "200", "circulationRequest"),
    operation("POST", "/circulation/requests", "createRequest", "request", "201", "circulationRequest"),
    operation(
        "POST",
        "/circulation/requests/instances",
        "createInstanceRequest",
        "instanceRequest",
        "201",
        "circulationRequest",
    ),
    operation("PUT", "/circulation/requests/{id}", "replaceRequest", "request", "204", ""),
    operation("DELETE", "/circulation/requests/{id}", "deleteRequest", "", "204", ""),
    operation(
        "POST",
        "/circulation/requests/{id}/move",
        "moveRequest",
        "moveRequest",
        "200",
        "circulationRequest",
    ),
    operation(
        "GET",
        "/circulation/requests/queue/item/{id}",
        "listQueueOfItem",
        "",
        "200",
        "requests:circulationRequest[]",
    ),
    operation(
        "GET",
        "/circulation/requests/queue/instance/{id}",
        "listQueueOfInstance",
        "",
        "200",
        "requests:circulationRequest[]",
    ),
    operation(
        "POST",
        "/circulation/requests/queue/item/{id}/reorder",
        "reorderQueueOfItem",
        "reorderRequest",
        "200",
        "requests:circulationRequest[]",
    ),
    operation(
        "POST",
        "/circulation/requests/queue/instance/{id}/reorder",
        "reorderQueueOfInstance",
        "reorderRequest",
        "200",
        "requests:circulationRequest[]",
    ),
    operation(
        "GET",
        "/circulation/requests/allowed-service-points",
        "listAllowedServicePoints",
        "",
        "200",
        "allowedServicePoints",
    ),
    // Items and titles with what belongs to them.
    operation("GET", "/inventory/items", "listInventoryItems", "", "200", "items:inventoryItem[]"),
    operation("GET", "/inventory/items/{id}", "findInventoryItem", "", "200", "inventoryItem"),
    operation(
        "GET",
        "/inventory/instances",
        "listInventoryInstances",
        "",
        "200",
        "instances:inventoryInstance[]",
    ),
    operation("GET", "/inventory/instances/{id}", "findInventoryInstance", "", "200", "inventoryInstance"),
    // The server.
    operation("GET", "/admin/health", "checkHealth", "", "200", "health"),
    operation("GET", "/openapi.json", "findApiDocument", "", "200", ""),
];

/// Schemas: name, record whose properties are included (or none), own properties.
const SCHEMAS: &[(&str, &str, &str)] = &[
    ("credentials", "", "username:string; userId:string(uuid); password:string*"),
    ("token", "", "okapiToken:string*; refreshToken:string*"),
    (
        "tokenExpiration",
        "",
        "accessTokenExpiration:string(date-time)*; refreshTokenExpiration:string(date-time)*",
    ),
    ("overrideBlocks", "", "itemNotLoanableBlock:object; itemNotLoanableBlock.dueDate:string(date-time)*
        itemLimitBlock:object; patronBlock:object; renewalBlock:object; renewalDueDateRequiredBlock:object
        renewalDueDateRequiredBlock.dueDate:string(date-time)*; comment:string*"),
    (
        "checkOutRequest",
        "",
        "itemBarcode:string*; userBarcode:string*; servicePointId:string(uuid)*; proxyUserBarcode:string
         loanDate:string(date-time); forceLoanPolicyId:string(uuid); sessionId:string(uuid); overrideBlocks:object",
    ),
    (
        "checkInRequest",
        "",
        "itemBarcode:string*; servicePointId:string(uuid)*; checkInDate:string(date-time)*; sessionId:string(uuid)
         claimedReturnedResolution:string(enum=Found by library|Returned by patron)",
    ),
    ("renewByBarcodeRequest", "", "itemBarcode:string*; userBarcode:string*; servicePointId:string(uuid); overrideBlocks:object"),
    ("renewByIdRequest", "", "itemId:string(uuid)*; userId:string(uuid)*; servicePointId:string(uuid); overrideBlocks:object"),
    ("endSessionsRequest", "", "endSessions[].patronId:string(uuid)*; endSessions[].actionType:string(enum=Check-in|Check-out)*"),
    ("claimItemReturnedRequest", "", "itemClaimedReturnedDateTime:string(date-time)*; comment:string"),
    ("commentRequest", "", "comment:string*"),
    ("declareItemLostRequest", "", "declaredLostDateTime:string(date-time)*; servicePointId:string(uuid)*; comment:string"),
    ("changeDueDateRequest", "", "dueDate:string(date-time)*"),
    ("addInfoRequest", "", "action:string(enum=patronInfoAdded|staffInfoAdded)*; actionComment:string*"),
    ("moveRequest", "", "destinationItemId:string(uuid)*; requestType:string(enum=Hold|Recall|Page)"),
    ("reorderRequest", "", "reorderedQueue[].id:string(uuid)*; reorderedQueue[].newPosition:integer*"),
    (
        "instanceRequest",
        "",
        "instanceId:string(uuid)*; requesterId:string(uuid)*; pickupServicePointId:string(uuid)*; requestDate:string(date-time)*
         requestExpirationDate:string(date-time); patronComments:string",
    ),
    (
        "itemSummary",
        "",
        "id:string(uuid); holdingsRecordId:string(uuid); instanceId:string(uuid); instanceHrid:string; title:string
         barcode:string; contributors[].name:string; primaryContributor:string; callNumber:string; enumeration:string
         chronology:string; volume:string; copyNumber:string; displaySummary:string; callNumberComponents:object
         status:object; status.name:string*; status.date:string; inTransitDestinationServicePointId:string(uuid)
         inTransitDestinationServicePoint:object; location:object; location.name:string; materialType:object
         materialType.name:string",
    ),
    (
        "patronSummary",
        "",
        "firstName:string; lastName:string; middleName:string; barcode:string; preferredFirstName:string; patronGroup:string",
    ),
    ("servicePointSummary", "", "name:string; code:string; discoveryDisplayName:string; description:string; shelvingLagTime:integer; pickupLocation:boolean"),
    ("policyName", "", "name:string"),
    (
        "circulationLoan",
        "loan",
        "feesAndFines:object; feesAndFines.amountRemainingToPay:number; patronGroupAtCheckout:object
         patronGroupAtCheckout.id:string; patronGroupAtCheckout.name:string",
    ),
    ("checkInResult", "", "inHouseUse:boolean*"),
    (
        "staffSlipContext",
        "",
        "item:object; request:object; requester:object; currentDateTime:string(date-time)",
    ),
    (
        "appliedPolicies",
        "",
        "loanPolicyId:string; overdueFinePolicyId:string; lostItemPolicyId:string; patronNoticePolicyId:string",
    ),
    ("circulationRequest", "request", "loan:object; loan.dueDate:string"),
    ("openTransactions", "", "hasOpenTransactions:boolean*; loans:integer; requests:integer; feesFines:integer; proxies:integer; blocks:integer; userId:string(uuid); userBarcode:string"),
    ("namedServicePoints", "", "id:string(uuid)*; name:string*"),
    ("inventoryItem", "item", ""),
    ("inventoryInstance", "instance", ""),
    ("health", "", "status:string(enum=UP|DOWN)*; reason:string; version:string*; uptimeSeconds:integer*; tenants:integer*"),
];

/// Properties that refer to other schemas: schema, property, schema referred to.
const REFERENCES: &[(&str, &str, &str)] = &[
    ("checkOutRequest", "overrideBlocks", "overrideBlocks"),
    ("renewByBarcodeRequest", "overrideBlocks", "overrideBlocks"),
    ("renewByIdRequest", "overrideBlocks", "overrideBlocks"),
    ("circulationLoan", "item", "itemSummary"),
    ("circulationLoan", "borrower", "patronSummary"),
    ("circulationLoan", "checkoutServicePoint", "servicePointSummary"),
    ("circulationLoan", "checkinServicePoint", "servicePointSummary"),
    ("circulationLoan", "loanPolicy", "policyName"),
    ("circulationLoan", "overdueFinePolicy", "policyName"),
    ("circulationLoan", "lostItemPolicy", "policyName"),
    ("checkInResult", "loan", "circulationLoan"),
    ("checkInResult", "item", "itemSummary"),
    ("checkInResult", "staffSlipContext", "staffSlipContext"),
    ("circulationRequest", "pickupServicePoint", "servicePointSummary"),
];

/// Schemas whose properties may be `null`.
const NULLABLE: &[&str] =
    &["itemSummary", "patronSummary", "servicePointSummary", "policyName", "appliedPolicies"];

/// Adds the schemas to those of the records.
pub fn add_schemas(schemas: &mut Map<String, Value>) {
    for (name, record, notation) in SCHEMAS {
        let mut schema = super::object(&Shape::parse(notation, false));
        if let Some(record) = schemas.get(*record).and_then(|record| record["properties"].as_object()) {
            let mut properties = record.clone();
            if let Some(own) = schema["properties"].as_object() {
                properties.extend(own.clone());
            }
            schema["properties"] = properties.into();
        }
        if schema.get("properties").is_none() {
            schema["properties"] = json!({});
        }
        for (of, property, what) in REFERENCES {
            if of == name {
                schema["properties"][*property] = reference(what);
            }
        }
        if NULLABLE.contains(name)
            && let Some(properties) = schema["properties"].as_object_mut()
        {
            for property in properties.values_mut().filter(|property| property.get("$ref").is_none()) {
                property["nullable"] = true.into();
            }
        }
        schemas.insert((*name).to_owned(), schema);
    }
    // What is shown has other properties than the snapshots of the stored request.
    for property in ["item", "instance", "requester", "proxy"] {
        schemas["circulationRequest"]["properties"][property] = json!({"type": "object"});
    }
    let point = json!({"type": "array", "items": reference("namedServicePoints")});
    schemas.insert(
        "allowedServicePoints".into(),
        json!({"type": "object", "properties": {"Hold": point, "Page": point, "Recall": point}}),
    );
    let composite = |user: &str, group: &str| {
        json!({"type": "object", "required": [user], "properties": {
            user: reference("user"),
            group: reference("usergroup"),
            "permissions": {"type": "object", "properties": {
                "id": {"type": "string", "format": "uuid"},
                "userId": {"type": "string", "format": "uuid"},
                "permissions": {"type": "array", "items": {}},
            }},
            "proxiesFor": {"type": "array", "items": reference("proxiesFor")},
            "servicePointsUser": {"type": "object"},
            "tokenExpiration": reference("tokenExpiration"),
            "tenant": {"type": "string"},
        }})
    };
    schemas.insert("compositeUser".into(), composite("user", "patronGroup"));
    schemas.insert("listedCompositeUser".into(), composite("users", "groups"));
    schemas.insert(
        "compositeUserList".into(),
        json!({"type": "object", "required": ["compositeUsers", "totalResults"], "properties": {
            "compositeUsers": {"type": "array", "items": reference("listedCompositeUser")},
            "totalResults": {"type": "integer"},
            "recordCount": {"type": "integer"},
        }}),
    );
}

/// The table's operation of a route.
pub fn operation_of(method: &str, path: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.method == method && operation.path == path)
}

/// The JSON schema of a table entry.
pub fn schema(text: &str) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    let Some((list, element)) = text.split_once(':') else { return Some(reference(text)) };
    let element = element.trim_end_matches("[]");
    Some(json!({"type": "object", "required": [list, "totalRecords"], "properties": {
        list: {"type": "array", "items": reference(element)},
        "totalRecords": {"type": "integer", "minimum": 0},
    }}))
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// A name for an operation that the table does not name: `listGroups`, `findGroup`, `createGroup`.
pub fn generated_name(method: &str, path: &str, is_list: bool) -> String {
    let verb = match (method, is_list) {
        ("GET", true) => "list",
        ("GET", false) => "find",
        ("POST", _) => "create",
        ("PUT", _) => "replace",
        ("PATCH", _) => "change",
        _ => "delete",
    };
    let levels: Vec<&str> = path.split('/').filter(|level| !level.is_empty()).collect();
    let mut name = verb.to_owned();
    for (index, level) in levels.iter().enumerate() {
        if let Some(parameter) = level.strip_prefix('{') {
            let before = index.checked_sub(1).map_or("", |before| levels[before]);
            if index + 1 < levels.len() || index == 0 {
                name.push_str("Of");
                name.push_str(&pascal(parameter));
            } else if method == "POST" || singular(before) == before {
                // Else the singular expresses the last parameter.
                name.push_str("By");
                name.push_str(&pascal(parameter));
            }
            continue;
        }
        let next_is_parameter = levels.get(index + 1).is_some_and(|next| next.starts_with('{'));
        let is_last_name = index + 2 == levels.len() && next_is_parameter;
        let makes_one = index + 1 == levels.len() && method == "POST";
        name.push_str(&pascal(&if is_last_name || makes_one {
            singular(level)
        } else {
            (*level).to_owned()
        }));
    }
    name
}

fn pascal(text: &str) -> String {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]))
        .collect()
}

fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}
