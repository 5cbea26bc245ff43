//! One connection of the floor: the least SQL that does a desk's work durably, prepared once, in two round trips.
//!
//! Pipeline 1: begin, read the patron and the item by barcode (a hold reads the queue too, by a join on the
//! barcode, so that it needs no third round trip). Pipeline 2: insert, update the item's status, commit.

use super::FloorKind;
use super::tables::{SCHEMA, connect};
use crate::barcode;
use crate::dice::Dice;
use crate::error::{Context, Result};
use crate::player::Desk;
use std::future::Future;
use std::time::SystemTime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, Row, Statement};
use uuid::Uuid;

/// What is bound to a statement.
type Values<'a, const N: usize> = [&'a (dyn ToSql + Sync); N];

/// A floor desk; which one of them acts does not matter to the tables.
pub struct FloorDesk {
    client: Client,
    statements: Statements,
    kind: FloorKind,
    items: u64,
    users: u64,
    dice: Dice,
}

struct Statements {
    begin: Statement,
    patron: Statement,
    item: Statement,
    queue: Statement,
    insert_loan: Statement,
    insert_request: Statement,
    set_status: Statement,
    commit: Statement,
}

impl FloorDesk {
    /// Opens desk `number` of a floor with the given rows.
    pub async fn open(
        config: &Config,
        kind: FloorKind,
        items: u64,
        users: u64,
        number: u64,
    ) -> Result<FloorDesk> {
        let client = connect(config).await?;
        client
            .batch_execute(&format!("set search_path = {SCHEMA}"))
            .await
            .context("entering the floor's schema")?;
        let statements = Statements::prepare(&client).await.context("preparing the floor's statements")?;
        let dice = Dice::new(u64::from(std::process::id()), 0, number);
        Ok(FloorDesk { client, statements, kind, items, users, dice })
    }

    async fn check_out(&self, patron: &str, item: &str) -> std::result::Result<(), Error> {
        let (client, do_) = (&self.client, &self.statements);
        let (by_patron, by_item): (Values<1>, Values<1>) = ([&patron], [&item]);
        let (_, patron, item) = tokio::try_join!(
            client.execute(&do_.begin, &[]),
            client.query_one(&do_.patron, &by_patron),
            client.query_one(&do_.item, &by_item),
        )?;
        let (loan, patron, item, now) = (Uuid::now_v7(), id(&patron), id(&item), SystemTime::now());
        let (loan, status): (Values<4>, Values<2>) = ([&loan, &patron, &item, &now], [&item, &"Checked out"]);
        tokio::try_join!(
            client.execute(&do_.insert_loan, &loan),
            client.execute(&do_.set_status, &status),
            client.execute(&do_.commit, &[]),
        )?;
        Ok(())
    }

    async fn hold(&self, patron: &str, item: &str) -> std::result::Result<(), Error> {
        let (client, do_) = (&self.client, &self.statements);
        let (by_patron, by_item): (Values<1>, Values<1>) = ([&patron], [&item]);
        let (_, patron, item, queue) = tokio::try_join!(
            client.execute(&do_.begin, &[]),
            client.query_one(&do_.patron, &by_patron),
            client.query_one(&do_.item, &by_item),
            client.query(&do_.queue, &by_item),
        )?;
        let position = queue.last().map_or(0, |row| row.get::<_, i32>(0)) + 1;
        let (request, patron, item) = (Uuid::now_v7(), id(&patron), id(&item));
        let (request, status): (Values<4>, Values<2>) =
            ([&request, &item, &patron, &position], [&item, &"Paged"]);
        tokio::try_join!(
            client.execute(&do_.insert_request, &request),
            client.execute(&do_.set_status, &status),
            client.execute(&do_.commit, &[]),
        )?;
        Ok(())
    }
}

impl Desk for FloorDesk {
    fn act(&mut self, _turn: u64) -> impl Future<Output = std::result::Result<(), String>> + Send {
        let patron = barcode::user(self.dice.between(1, self.users));
        let item = barcode::item(self.dice.between(1, self.items));
        async move {
            let done = match self.kind {
                FloorKind::CheckOut => self.check_out(&patron, &item).await,
                FloorKind::Hold => self.hold(&patron, &item).await,
            };
            if let Err(error) = done {
                let _ = self.client.batch_execute("rollback").await;
                return Err(crate::error::with_causes(&error));
            }
            Ok(())
        }
    }
}

impl Statements {
    async fn prepare(client: &Client) -> std::result::Result<Statements, Error> {
        Ok(Statements {
            begin: client.prepare("begin").await?,
            patron: client.prepare("select id, name from patron where barcode = $1").await?,
            item: client.prepare("select id, status from item where barcode = $1").await?,
            queue: client
                .prepare(
                    "select r.position, r.id, r.patron_id from item i join request r on r.item_id = i.id
                    where i.barcode = $1 order by r.position",
                )
                .await?,
            insert_loan: client
                .prepare("insert into loan (id, patron_id, item_id, loan_date) values ($1, $2, $3, $4)")
                .await?,
            insert_request: client
                .prepare("insert into request (id, item_id, patron_id, position) values ($1, $2, $3, $4)")
                .await?,
            set_status: client.prepare("update item set status = $2 where id = $1").await?,
            commit: client.prepare("commit").await?,
        })
    }
}

fn id(row: &Row) -> Uuid {
    row.get(0)
}
