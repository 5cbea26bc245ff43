//! How many notices a second go from their causes to a mail server on this machine.

use super::{number_from, reach, resident_mib};
use carrel_circulation::patron_notices::PROCESSING;
use carrel_notices::email::DELIVERY;
use carrel_platform::jobs::{self, Pace};
use carrel_testkit::{LendingServer, MailServer};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Loans whose renewals are notified.
const LOANS: usize = 100;

/// `CARREL_NOTICES` notices (five thousand): each is planned, rendered, stored and sent by SMTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notices_arrive_at_the_mail_server() {
    let notices = number_from("CARREL_NOTICES", 5_000);
    let (mut lending, mail_server) = (LendingServer::open().await, MailServer::start().await);
    let smtp = json!({"host": "127.0.0.1", "port": mail_server.address.port(), "username": "desk",
        "password": "secret", "startTlsOptions": "DISABLED", "from": "library@example.org"});
    lending.create("/smtp-configuration", &smtp).await;
    let (template, policy) = (Uuid::new_v4(), Uuid::new_v4());
    let text = "Dear {{user.firstName}} {{user.lastName}}, {{item.title}} is due on {{loan.dueDate}}.";
    let record = json!({"id": template, "outputFormats": ["text/html"], "templateResolver": "mustache",
        "localizedTemplates": {"en": {"header": "Renewed", "body": text}}});
    lending.create("/templates", &record).await;
    let notice = json!({"templateId": template, "format": "Email", "realTime": true,
        "sendOptions": {"sendWhen": "Renewed"}});
    let record = json!({"id": policy, "name": "Renewals", "active": true, "loanNotices": [notice]});
    lending.create("/patron-notice-policy-storage/patron-notice-policies", &record).await;
    lending.notice_policy = policy;
    let policies = lending.policies(lending.loan_policy);
    lending.lends_by(&format!("fallback-policy: {policies}")).await;
    let personal = json!({"lastName": "Byron", "firstName": "Ada", "email": "ada@example.org"});
    let patron = lending.patron_with(json!({"personal": personal})).await;
    for _ in 0..LOANS {
        let item = lending.item().await;
        let lent: Value = lending.check_out(&item, &patron).await.expect(201);
        assert!(lent["id"].is_string());
    }
    let database = lending.server.database().await;
    database
        .batch_execute(&format!(
            "INSERT INTO notice_event (id, event, loan_id, happened)
             SELECT gen_random_uuid(), 'Renewed', numbered.id, clock_timestamp()
             FROM generate_series(1, {notices}) n
             JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM loan) numbered
                 ON numbered.number = 1 + n % {LOANS}"
        ))
        .await
        .expect("causes of notices");
    let platform = lending.server.node.platform().await.expect("a connection");
    for job in [&PROCESSING, &DELIVERY] {
        jobs::soon(&platform, &lending.server.tenant.id, job.name).await.expect("a job can be wanted soon");
    }
    drop(platform);
    let begun = Instant::now();
    let pace = Pace { poll: Duration::from_millis(50), ..Pace::default() };
    let runner = jobs::start_with(&lending.server.node, vec![&PROCESSING, &DELIVERY], pace);
    for tenth in 1..=10 {
        let share = notices * tenth / 10;
        reach(share, || mail_server.count()).await;
        let rate = share as f64 / begun.elapsed().as_secs_f64();
        println!("{share} notices arrived, {rate:.0} a second, {} MiB resident", resident_mib());
    }
    runner.stop().await;
    assert_eq!(mail_server.count(), notices, "each arrives once");
}
