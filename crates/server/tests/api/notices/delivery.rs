//! Delivery of notices by e-mail, through a real SMTP session.

use super::rendering::template;
use carrel_platform::jobs::{self, Pace};
use carrel_testkit::{LendingServer, MailServer, TestServer};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

async fn configure(server: &TestServer, mail_server: &MailServer) {
    let configuration = json!({"host": "127.0.0.1", "port": mail_server.address.port(), "username": "desk",
        "password": "secret", "startTlsOptions": "DISABLED", "from": "library@example.org"});
    server.post("/smtp-configuration", &configuration).await.expect(201);
}

fn email(to: &str) -> Value {
    json!({"notificationId": "1", "to": to, "header": "Due soon", "outputFormat": "text/html", "body": "<b>Emma</b>"})
}

/// The only stored e-mail, once it satisfies the condition.
async fn stored(server: &TestServer, holds: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..600 {
        let emails = server.get("/email").await.expect(200);
        if emails["totalRecords"] == 1 && holds(&emails["emailEntity"][0]) {
            return emails["emailEntity"][0].clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no e-mail came to be so: {}", server.get("/email").await.expect(200));
}

#[tokio::test]
async fn a_delivered_email_is_reported_as_delivered() {
    let (server, mail_server) = (TestServer::start().await, MailServer::start().await);
    configure(&server, &mail_server).await;
    let answer = server.post("/email", &email("ada@example.org")).await;
    assert_eq!(answer.text(), "The message has been delivered to ada@example.org");
    let [mail] = &mail_server.mails()[..] else { panic!("one mail: {:?}", mail_server.mails()) };
    assert_eq!(mail.to, ["ada@example.org"]);
    let email = stored(&server, |email| email["status"] == "DELIVERED").await;
    let id = email["id"].as_str().expect("an id");
    assert!(mail.text.contains(&format!("Message-ID: <{id}@carrel>")), "{}", mail.text);
    assert!(mail.text.contains("Subject: Due soon") && mail.text.contains("<b>Emma</b>"), "{}", mail.text);
    assert_eq!((&email["attemptCount"], &email["shouldRetry"]), (&json!(1), &json!(false)));
}

#[tokio::test]
async fn an_email_without_a_mail_server_waits_until_there_is_one() {
    let (server, mail_server) = (TestServer::start().await, MailServer::start().await);
    let answer = server.post("/email", &email("ada@example.org")).await;
    assert!(answer.text().contains("doesn't have a minimum config for SMTP server"), "{}", answer.text());
    stored(&server, |email| email["status"] == "FAILURE" && email["shouldRetry"] == true).await;
    configure(&server, &mail_server).await;
    server.post("/delayedTask/retryFailedEmails", &json!({})).await.expect_status(202);
    let email = stored(&server, |email| email["status"] == "DELIVERED").await;
    assert_eq!(email["attemptCount"], 2);
    assert_eq!(mail_server.mails().len(), 1);
}

#[tokio::test]
async fn a_temporarily_refused_mail_is_sent_again_once() {
    let (server, mail_server) = (TestServer::start().await, MailServer::start().await);
    configure(&server, &mail_server).await;
    mail_server.refuse_next(1);
    let answer = server.post("/email", &email("ada@example.org")).await;
    assert!(answer.text().contains("try again later"), "{}", answer.text());
    for _ in 0..2 {
        server.post("/delayedTask/retryFailedEmails", &json!({})).await.expect_status(202);
    }
    stored(&server, |email| email["status"] == "DELIVERED").await;
    assert_eq!(mail_server.mails().len(), 1);
}

#[tokio::test]
async fn an_invalid_address_is_not_retried() {
    let (server, mail_server) = (TestServer::start().await, MailServer::start().await);
    configure(&server, &mail_server).await;
    let answer = server.post("/email", &email("nobody at all")).await;
    assert!(answer.text().contains("nobody at all"), "{}", answer.text());
    let email = stored(&server, |email| email["status"] == "FAILURE").await;
    assert_eq!(email["shouldRetry"], false);
}

#[tokio::test]
async fn a_patron_notice_is_rendered_and_arrives_once_from_two_nodes() {
    let (lending, mail_server) = (LendingServer::open().await, MailServer::start().await);
    let server = &lending.server;
    configure(server, &mail_server).await;
    let patron = lending.patron_with(json!({"personal": {"lastName": "Lovelace", "email": "ada@example.org", "preferredContactTypeId": "002"}})).await;
    let id = template(server, "Due", "<p>{{item.title}}</p>").await;
    let deliveries =
        || server.node.jobs().into_iter().filter(|job| job.name == "email-delivery").collect::<Vec<_>>();
    let pace = Pace { poll: Duration::from_millis(20), ..Pace::default() };
    let runners = [(); 2].map(|()| jobs::start_with(&server.node, deliveries(), pace));
    for title in 1..=20 {
        let notice = json!({"recipientId": patron.id, "deliveryChannel": "email", "templateId": id,
            "outputFormat": "text/html", "lang": "en", "context": {"item": {"title": format!("Title {title}.")}}});
        server.post("/patron-notice", &notice).await.expect_status(200);
    }
    for _ in 0..600 {
        if mail_server.mails().len() >= 20 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(runners);
    let mut texts: Vec<String> = mail_server.mails().into_iter().map(|mail| mail.text).collect();
    assert_eq!(texts.len(), 20);
    for title in 1..=20 {
        let text = format!("<p>Title {title}.</p>");
        assert!(texts.iter().any(|mail| mail.contains(&text)), "{text}");
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 20, "no mail arrived twice");
}

#[tokio::test]
async fn a_notice_that_cannot_be_sent_is_refused_with_the_reason() {
    let lending = LendingServer::open().await;
    let server = &lending.server;
    let patron = lending.patron().await;
    let notice = |template: &str, channel: &str, recipient: Uuid| {
        json!({"recipientId": recipient, "deliveryChannel": channel, "templateId": template,
            "outputFormat": "text/html", "context": {}})
    };
    let unknown = Uuid::new_v4().to_string();
    let refused = server.post("/patron-notice", &notice(&unknown, "email", patron.id)).await.expect(422);
    assert_eq!(refused["errors"][0]["message"], format!("Template with id {unknown} does not exist"));
    let known = template(server, "Due", "Due").await;
    server.post("/patron-notice", &notice(&known, "email", Uuid::new_v4())).await.expect_status(422);
    server.post("/patron-notice", &notice(&known, "pigeon", patron.id)).await.expect_status(422);
    // There is no address, and that is not an error.
    server.post("/patron-notice", &notice(&known, "email", patron.id)).await.expect_status(200);
    assert_eq!(server.get("/email").await.expect(200)["totalRecords"], 0);
}

#[tokio::test]
async fn delivered_emails_are_deleted_by_date_and_status() {
    let (server, mail_server) = (TestServer::start().await, MailServer::start().await);
    configure(&server, &mail_server).await;
    server.post("/email", &email("ada@example.org")).await.expect_status(200);
    let path = "/delayedTask/expiredMessages";
    let refused = server.delete(&format!("{path}?expirationDate=3.5.2024")).await.expect(400);
    assert_eq!(refused, "Invalid date value, the parameter must be in the format: yyyy-MM-dd");
    server.delete(&format!("{path}?expirationDate=2020-01-01")).await.expect_status(204);
    server.delete(&format!("{path}?expirationDate=2999-01-01&emailStatus=FAILURE")).await.expect_status(204);
    server.delete(path).await.expect_status(204);
    assert_eq!(server.get("/email").await.expect(200)["totalRecords"], 1);
    server.delete(&format!("{path}?expirationDate=2999-01-01")).await.expect_status(204);
    assert_eq!(server.get("/email").await.expect(200)["totalRecords"], 0);
}

#[tokio::test]
async fn a_delivery_has_its_properties_and_no_others() {
    let server = TestServer::start().await;
    let delivery = json!({"notificationId": "1", "recipientUserId": server.admin_id,
        "messages": [{"deliveryChannel": "email", "subject": "Hello"}]});
    for (path, body, texts) in [
        ("/message-delivery", json!({}), vec!["must not be null"; 2]),
        ("/message-delivery", delivery, vec!["Unrecognized field \"messages[0].subject\""]),
        ("/patron-notice", json!({"lang": "en"}), vec!["must not be null"; 3]),
    ] {
        assert_eq!(server.post(path, &body).await.refusals(), texts, "{path} {body}");
    }
}
