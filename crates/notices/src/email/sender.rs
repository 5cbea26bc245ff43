//! Sending e-mails through the tenant's mail server.

use super::configuration::{Configuration, Transport};
use super::store::{self, Outcome};
use super::{Email, message};
use carrel_platform::Tenant;
use carrel_records::Failure;
use futures_util::future::join_all;
use jiff::Timestamp;
use lettre::AsyncTransport;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// E-mails taken from the queue at once.
const BATCH: i64 = 50;
/// E-mails sent at once.
const CONCURRENT: usize = 4;
/// A longer attempt is aborted and repeated later.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(30);

/// mod-email's text for a tenant without a mail server.
pub const NOT_CONFIGURED: &str = "The 'mod-config' module doesn't have a minimum config for SMTP server, the min config \
    is: [EMAIL_SMTP_PORT, EMAIL_PASSWORD, EMAIL_SMTP_HOST, EMAIL_USERNAME]";

/// Connections to the mail server of a tenant, until its configuration changes.
#[derive(Default)]
pub struct MailServer(Mutex<Option<(Configuration, Transport)>>);

/// Sends all due e-mails. Returns the numbers of delivered e-mails and of failed attempts.
///
/// E-mails are taken for [`store::LEASE`]; those that are not finished within it are taken again, so that no e-mail is
/// sent by two nodes at the same time.
pub async fn send_due(tenant: &Arc<Tenant>) -> Result<(u64, u64), Failure> {
    let (mut delivered, mut failed) = (0, 0);
    loop {
        let taken = Instant::now();
        let emails = store::take_due(tenant, Timestamp::now(), BATCH).await?;
        if emails.is_empty() {
            return Ok((delivered, failed));
        }
        let configuration = store::configuration(tenant).await?;
        for emails in emails.chunks(CONCURRENT) {
            if taken.elapsed() > store::LEASE - LONGEST_ATTEMPT {
                break;
            }
            let attempts = emails.iter().map(|email| send(tenant, configuration.as_ref(), email));
            let outcomes: Vec<(&Email, Outcome)> = emails.iter().zip(join_all(attempts).await).collect();
            store::report_all(tenant, &outcomes, Timestamp::now()).await?;
            for (_, outcome) in &outcomes {
                match outcome {
                    Outcome::Delivered => delivered += 1,
                    Outcome::Failed(_) | Outcome::Refused(_) => failed += 1,
                }
            }
        }
    }
}

/// One attempt, which takes at most [`LONGEST_ATTEMPT`].
pub async fn send(tenant: &Tenant, configuration: Option<&Configuration>, email: &Email) -> Outcome {
    match tokio::time::timeout(LONGEST_ATTEMPT, attempt(tenant, configuration, email)).await {
        Ok(outcome) => outcome,
        Err(_) => Outcome::Failed("the mail server did not answer in time".into()),
    }
}

async fn attempt(tenant: &Tenant, configuration: Option<&Configuration>, email: &Email) -> Outcome {
    let Some(configuration) = configuration else { return Outcome::Failed(NOT_CONFIGURED.into()) };
    let message = match message::message(email, configuration) {
        Ok(message) => message,
        Err(reason) => return Outcome::Refused(reason),
    };
    let server = tenant.state.of::<MailServer>();
    let transport = match server.transport(configuration, true) {
        Ok(transport) => transport,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let error = match transport.send(message.clone()).await {
        Ok(_) => return Outcome::Delivered,
        Err(error) => error,
    };
    // A server without login is used anonymously, unless the configuration requires a login.
    if error.is_client() && !configuration.requires_login() {
        match server.transport(configuration, false) {
            Ok(transport) => return outcome(transport.send(message).await.map(|_| ())),
            Err(error) => return Outcome::Failed(error.to_string()),
        }
    }
    outcome(Err(error))
}

fn outcome(sent: Result<(), lettre::transport::smtp::Error>) -> Outcome {
    match sent {
        Ok(()) => Outcome::Delivered,
        Err(error) if error.is_permanent() => Outcome::Refused(error.to_string()),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

impl MailServer {
    /// The open connections, or new ones if the configuration has changed or the server has no login.
    fn transport(
        &self,
        configuration: &Configuration,
        with_login: bool,
    ) -> Result<Transport, lettre::transport::smtp::Error> {
        let mut known = self.0.lock().expect("no holder of this lock panics");
        if let Some((of, transport)) = known.as_ref()
            && of == configuration
            && with_login
        {
            return Ok(transport.clone());
        }
        let transport = configuration.transport(with_login)?;
        *known = Some((configuration.clone(), transport.clone()));
        Ok(transport)
    }
}
