//! E-mails under `kill -9`: each accepted one arrives, and one that arrives twice has the same Message-ID.

use crate::desks::log_in;
use crate::running::Running;
use carrel_testkit::{Client, MailServer};
use serde_json::json;
use std::collections::HashMap;
use std::time::{Duration, Instant};

const EMAILS: usize = 1_000;
/// E-mails that one kill may cause to be sent twice: those being sent, and those sent whose outcome is not stored yet.
const TWICE_PER_KILL: usize = 8;
const LONGEST: Duration = Duration::from_secs(120);

#[test]
fn every_accepted_email_survives_kill_9() {
    let kills: usize = std::env::var("CARREL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let mut running = Running::sample_library();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime for the clients can be started");
    runtime.block_on(async {
        let client = log_in(running.address()).await;
        accept(&client).await;
        let mail_server = MailServer::start().await;
        let configuration = json!({"host": "127.0.0.1", "port": mail_server.address.port(), "username": "desk",
            "password": "secret", "startTlsOptions": "DISABLED", "from": "library@example.org"});
        client.post("/smtp-configuration", &configuration).await.expect(201);
        client.post("/delayedTask/retryFailedEmails", &json!({})).await.expect_status(202);
        for round in 0..kills {
            let sent = mail_server.mails().len();
            arrived(&running, &mail_server, (sent + 50).min(EMAILS)).await;
            running.kill_server();
            if round % 2 == 1 {
                running.kill_postmaster_unseen();
            }
            running.start_server();
            release(&running).await;
        }
        let mut subjects: HashMap<String, Vec<String>> = HashMap::new();
        arrived(&running, &mail_server, EMAILS).await;
        let ended = Instant::now() + LONGEST;
        while subjects.len() < EMAILS {
            assert!(Instant::now() < ended, "{} of {EMAILS} arrived\n{}", subjects.len(), running.end_of_log());
            tokio::time::sleep(Duration::from_millis(200)).await;
            subjects.clear();
            for mail in mail_server.mails() {
                let header = |name: &str| {
                    let line = mail.text.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_else(|| panic!("a mail has {name} {}", mail.text)).trim().to_owned()
                };
                subjects.entry(header("Subject:")).or_default().push(header("Message-ID:"));
            }
        }
        let mut twice = 0;
        for (subject, ids) in &subjects {
            assert!(ids.iter().all(|id| *id == ids[0]), "{subject} has several Message-IDs: {ids:?}");
            twice += ids.len() - 1;
        }
        assert!(twice <= kills * TWICE_PER_KILL, "{twice} e-mails were sent twice by {kills} kills");
    });
    running.stops_when_asked();
}

/// Without a mail server, e-mails are stored and wait.
async fn accept(client: &Client) {
    for number in 0..EMAILS {
        let email = json!({"notificationId": "1", "to": "ada@example.org", "header": format!("Mail {number}"),
            "outputFormat": "text/plain", "body": "Due soon"});
        client.post("/email", &email).await.expect_status(200);
    }
}

async fn arrived(running: &Running, mail_server: &MailServer, number: usize) {
    let ended = Instant::now() + LONGEST;
    while mail_server.mails().len() < number {
        let arrived = mail_server.mails().len();
        assert!(Instant::now() < ended, "{arrived} of {number} e-mails arrived\n{}", running.end_of_log());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Ends the leases of the dead node, for which the test would otherwise wait a minute and a half.
async fn release(running: &Running) {
    let database = running.database().await;
    database
        .batch_execute(
            "UPDATE library_diku.email_delivery SET next_attempt = clock_timestamp();
             UPDATE platform.job SET due = clock_timestamp(), owner = NULL, lease_ends = NULL
             WHERE name = 'email-delivery'",
        )
        .await
        .expect("the database has recovered");
}
