//! Refreshes of a list: start, cancellation, history.

use super::decide::{refuse_if_exporting, refuse_if_inactive, refuse_if_refreshing};
use super::route::permitted;
use super::{store, view};
use crate::answers::Outcome;
use crate::answers::lists::Action;
use crate::engine;
use crate::engine::jobs::{self, Job, Kind, NewJob};
use carrel_platform::{Answer, Call, Pipeline};
use carrel_records::Failure;
use serde_json::{Value, json};

/// `POST /lists/{id}/refresh`
pub async fn begin(call: Call) -> Outcome<Answer> {
    let list = permitted(&call, call.id(0)?, Action::Refresh).await?;
    refuse_if_inactive(&list, Action::Refresh)?;
    let Some(query) = list.fql_query.clone() else {
        return Err(Action::Refresh.without_query(list.id, &list.name));
    };
    refuse_if_refreshing(&list, Action::Refresh)?;
    refuse_if_exporting(&list, Action::Refresh)?;
    let (_, options) = engine::of_call(&call.node);
    let job = NewJob {
        fql_query: query,
        max_size: options.max_size,
        visible_for: options.visible_for,
        ..list.job(Kind::Refresh, call.caller.user_id)
    };
    let id = job.id;
    let tenant = call.tenant()?;
    let connection = tenant.writer().await?;
    let mut pipeline = Pipeline::new();
    job.add_to(&mut pipeline);
    if let Err(error) = connection.send(pipeline).await {
        if !error.is_unique_violation() {
            return Err(error.into());
        }
        // A refresh has been started in the meantime.
        let other = store::find(&connection, list.id).await?.and_then(|list| list.open_refresh);
        return Err(Action::Refresh.refreshing(
            list.id,
            &list.name,
            other.map(|job| job.id).unwrap_or_default(),
        ));
    }
    let job = jobs::find(&connection, id, Kind::Refresh).await?;
    drop(connection);
    engine::submit(&call.node, &tenant.id);
    let job = job.ok_or_else(|| Failure::internal("a stored refresh is not found"))?;
    Ok(Answer::json(&view::refresh(&job)))
}

/// `DELETE /lists/{id}/refresh`
pub async fn cancel(call: Call) -> Outcome<Answer> {
    let list = permitted(&call, call.id(0)?, Action::CancelRefresh).await?;
    let connection = call.tenant()?.writer().await?;
    match jobs::cancel_of_list(&connection, list.id, Kind::Refresh, None).await? {
        Some(id) => {
            engine::of(&call.node).cancelled(id);
            Ok(Answer::no_content())
        }
        None => Err(Action::CancelRefresh.not_refreshing(list.id, &list.name)),
    }
}

/// `GET /lists/{id}/refreshes`: the refreshes of a list with their users and times, the last first.
pub async fn history(call: Call) -> Outcome<Answer> {
    let list = permitted(&call, call.id(0)?, Action::Read).await?;
    let limit = call.query.number("limit", 100, 0, 1_000)?;
    let offset = call.query.number("offset", 0, 0, i64::MAX)?;
    let connection = call.tenant()?.reader().await?;
    let rows = connection
        .query(
            format!(
                "SELECT {} FROM list_job j WHERE j.list_id = $1 AND j.kind = 'refresh'
                 ORDER BY j.created DESC, j.id DESC LIMIT $2 OFFSET $3",
                jobs::COLUMNS
            ),
            vec![list.id.into(), limit.into(), offset.into()],
        )
        .await?;
    let shown: Vec<Value> = rows.iter().map(|row| view::refresh(&Job::of(row))).collect();
    Ok(Answer::json(&json!({"refreshes": shown})))
}
