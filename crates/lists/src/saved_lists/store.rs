//! The rows of lists and of their versions.

use crate::engine::jobs::{self, Job, Kind, NewJob};
use carrel_platform::{Bind, Connection, Pipeline};
use carrel_records::Failure;
use jiff::Timestamp;
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// A list with its refreshes.
#[derive(Debug, Clone)]
pub struct List {
    pub id: Uuid,
    pub name: String,
    pub description: Option<String>,
    pub entity_type_id: Uuid,
    pub fql_query: Option<String>,
    pub fields: Vec<String>,
    pub created_by: Option<Uuid>,
    pub created_by_name: Option<String>,
    pub created_date: Timestamp,
    pub updated_by: Option<Uuid>,
    pub updated_by_name: Option<String>,
    pub updated_date: Option<Timestamp>,
    pub is_active: bool,
    pub is_private: bool,
    pub is_canned: bool,
    pub is_deleted: bool,
    pub version: i32,
    pub refresh_every: Option<i64>,
    /// Whether an export of some user is running.
    pub is_exporting: bool,
    /// UUIDs that identify a record of the result.
    pub width: Option<i32>,
    pub open_refresh: Option<Job>,
    pub success: Option<Job>,
    pub failed: Option<Job>,
}

impl List {
    /// Work for the list as it is now, without limits.
    pub fn job(&self, kind: Kind, user_id: Option<Uuid>) -> NewJob {
        NewJob {
            id: Uuid::now_v7(),
            kind,
            list_id: Some(self.id),
            user_id,
            entity_type_id: self.entity_type_id,
            fql_query: String::new(),
            fields: self.fields.clone(),
            max_size: i64::MAX,
            list_version: Some(self.version),
            result_id: None,
            visible_for: Duration::ZERO,
        }
    }

    /// The owner of a private list is the user who updated it last.
    pub fn owner(&self) -> Option<Uuid> {
        self.updated_by.or(self.created_by)
    }
}

fn name_of(column: &str) -> String {
    format!(
        "(SELECT coalesce(nullif(concat_ws(', ', nullif(u.doc->'personal'->>'lastName', ''), \
         nullif(u.doc->'personal'->>'firstName', '')), ''), u.id::text) FROM users u WHERE u.id = {column})"
    )
}

fn columns() -> String {
    format!(
        "l.id, l.name, l.description, l.entity_type_id, l.fql_query, l.fields, l.created_by, {}, l.created_date, \
         l.updated_by, {}, l.updated_date, l.is_active, l.is_private, l.is_canned, l.is_deleted, l.version, l.refresh_every, \
         EXISTS (SELECT 1 FROM list_job x WHERE x.list_id = l.id AND x.kind = 'export' \
         AND x.state IN ('queued', 'running')), (SELECT r.width FROM list_result r WHERE r.id = l.result_id)",
        name_of("l.created_by"),
        name_of("l.updated_by")
    )
}

fn list(row: &Row) -> List {
    List {
        id: row.get(0),
        name: row.get(1),
        description: row.get(2),
        entity_type_id: row.get(3),
        fql_query: row.get(4),
        fields: row.get(5),
        created_by: row.get(6),
        created_by_name: row.get(7),
        created_date: row.get(8),
        updated_by: row.get(9),
        updated_by_name: row.get(10),
        updated_date: row.get(11),
        is_active: row.get(12),
        is_private: row.get(13),
        is_canned: row.get(14),
        is_deleted: row.get(15),
        version: row.get(16),
        refresh_every: row.get(17),
        is_exporting: row.get(18),
        width: row.get(19),
        open_refresh: None,
        success: None,
        failed: None,
    }
}

/// A list that is not deleted.
pub async fn find(connection: &Connection, id: Uuid) -> Result<Option<List>, Failure> {
    let mut pipeline = Pipeline::new();
    let lists = pipeline.add(
        format!("SELECT {} FROM list_details l WHERE l.id = $1 AND NOT l.is_deleted", columns()),
        vec![id.into()],
    );
    let refreshes = pipeline.add(refreshes_of(), vec![vec![id].into()]);
    let results = connection.send(pipeline).await?;
    let Some(mut found) = results.first(lists).map(list) else { return Ok(None) };
    for refresh in results.rows(refreshes) {
        add_refresh(&mut found, refresh);
    }
    Ok(Some(found))
}

/// Refreshes of the lists `$1` that are open or the last of their kind. Which of these a refresh is, the statement says
/// itself: the row of the list was read by another statement, and a refresh may have ended in between.
fn refreshes_of() -> String {
    format!(
        "SELECT {}, j.id = l.success_job_id AS is_success, j.id = l.failed_job_id AS is_failure
         FROM list_details l JOIN list_job j ON j.list_id = l.id AND j.kind = 'refresh'
             AND (j.state IN ('queued', 'running') OR j.id IN (l.success_job_id, l.failed_job_id))
         WHERE l.id = ANY ($1)",
        jobs::COLUMNS
    )
}

fn add_refresh(list: &mut List, row: &Row) {
    let job = Job::of(row);
    let is = |name: &str| row.get::<_, Option<bool>>(name) == Some(true);
    if job.is_open() {
        list.open_refresh = Some(job);
    } else if is("is_success") {
        list.success = Some(job);
    } else if is("is_failure") {
        list.failed = Some(job);
    }
}

/// Search criteria for lists.
#[derive(Debug, Default)]
pub struct Search {
    pub ids: Vec<Uuid>,
    pub entity_types: Vec<Uuid>,
    pub text: Option<String>,
    pub is_active: Option<bool>,
    pub is_private: Option<bool>,
    pub is_canned: Option<bool>,
    pub with_deleted: bool,
    pub updated_as_of: Option<Timestamp>,
    /// One of [`SORTS`].
    pub sort_by: &'static str,
    pub is_descending: bool,
    pub offset: i64,
    pub limit: i64,
    /// Private lists of other users are excluded.
    pub user: Option<Uuid>,
}

/// The sort keys of lists, and their SQL.
pub const SORTS: [(&str, &str); 3] = [
    ("name", "lower(l.name)"),
    ("updatedDate", "l.updated_date"),
    ("recordsCount", "(SELECT s.records FROM list_job s WHERE s.id = l.success_job_id)"),
];

/// The lists that match, and their number.
pub async fn search(connection: &Connection, search: Search) -> Result<(Vec<List>, i64), Failure> {
    let text = search.text.map(|text| {
        let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        format!("%{escaped}%")
    });
    let condition = "l.entity_type_id = ANY ($1)
        AND (cardinality($2::uuid[]) = 0 OR l.id = ANY ($2))
        AND ($3::text IS NULL OR l.name ILIKE $3 OR l.description ILIKE $3)
        AND ($4::boolean IS NULL OR l.is_active = $4) AND ($5::boolean IS NULL OR l.is_private = $5)
        AND ($6::boolean IS NULL OR l.is_canned = $6) AND (NOT l.is_deleted OR $7)
        AND ($8::timestamptz IS NULL OR l.created_date >= $8 OR l.updated_date >= $8)
        AND (NOT l.is_private OR coalesce(l.updated_by, l.created_by) = $9)";
    let binds: Vec<Bind> = vec![
        search.entity_types.into(),
        search.ids.into(),
        text.into(),
        search.is_active.into(),
        search.is_private.into(),
        search.is_canned.into(),
        search.with_deleted.into(),
        search.updated_as_of.into(),
        search.user.into(),
    ];
    let order =
        SORTS.iter().find(|(name, _)| *name == search.sort_by).map_or("lower(l.name)", |(_, sql)| sql);
    let direction = if search.is_descending { "DESC NULLS LAST" } else { "ASC NULLS FIRST" };
    let mut pipeline = Pipeline::new();
    let total = pipeline.add(format!("SELECT count(*) FROM list_details l WHERE {condition}"), binds.clone());
    let mut paged = binds;
    paged.extend([search.limit.into(), search.offset.into()]);
    let page = pipeline.add(
        format!(
            "SELECT {} FROM list_details l WHERE {condition} ORDER BY {order} {direction}, l.id LIMIT $10 OFFSET $11",
            columns()
        ),
        paged,
    );
    let results = connection.send(pipeline).await?;
    let total: i64 = results.first(total).map_or(0, |row| row.get(0));
    let mut lists: Vec<List> = results.rows(page).iter().map(list).collect();
    let ids: Vec<Uuid> = lists.iter().map(|list| list.id).collect();
    for row in connection.query(refreshes_of(), vec![ids.into()]).await? {
        let list_id: Option<Uuid> = row.get(2);
        if let Some(list) = lists.iter_mut().find(|list| Some(list.id) == list_id) {
            add_refresh(list, &row);
        }
    }
    Ok((lists, total))
}

/// The properties of a list that is created or updated.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    pub name: String,
    pub description: Option<String>,
    pub fql_query: Option<String>,
    pub fields: Vec<String>,
    pub is_active: bool,
    pub is_private: bool,
    pub refresh_every: Option<i64>,
}

/// Adds the statements that store a new list with its first version.
pub fn insert(
    pipeline: &mut Pipeline,
    id: Uuid,
    entity_type: Uuid,
    content: &Content,
    user: Option<Uuid>,
    now: Timestamp,
) {
    pipeline.add(
        "INSERT INTO list_details (id, name, description, entity_type_id, fql_query, fields, created_by, created_date,
             is_active, is_private, is_canned, is_deleted, version, content_version, refresh_every)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, false, false, 1, 0, $11)",
        vec![
            id.into(),
            content.name.as_str().into(),
            content.description.clone().into(),
            entity_type.into(),
            content.fql_query.clone().into(),
            content.fields.clone().into(),
            user.into(),
            now.into(),
            content.is_active.into(),
            content.is_private.into(),
            content.refresh_every.into(),
        ],
    );
    insert_version(pipeline, id, 1, content, user, now);
}

fn insert_version(
    pipeline: &mut Pipeline,
    id: Uuid,
    version: i32,
    content: &Content,
    user: Option<Uuid>,
    now: Timestamp,
) {
    pipeline.add(
        "INSERT INTO list_versions (list_id, version, name, description, fql_query, fields, is_active, is_private,
             updated_by, updated_date)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        version_binds(id, version, content, user, now),
    );
}

/// The list, its version, its content, and its author and time.
fn version_binds(id: Uuid, version: i32, content: &Content, user: Option<Uuid>, now: Timestamp) -> Vec<Bind> {
    vec![
        id.into(),
        version.into(),
        content.name.as_str().into(),
        content.description.clone().into(),
        content.fql_query.clone().into(),
        content.fields.clone().into(),
        content.is_active.into(),
        content.is_private.into(),
        user.into(),
        now.into(),
    ]
}

/// Adds the statements that replace this version of a list; the first returns no row if the list has another version by
/// now.
pub fn update(
    pipeline: &mut Pipeline,
    id: Uuid,
    version: i32,
    content: &Content,
    user: Option<Uuid>,
    now: Timestamp,
) -> usize {
    let mut binds = version_binds(id, version, content, user, now);
    binds.push(content.refresh_every.into());
    pipeline.add(
        "UPDATE list_details SET name = $3, description = $4, fql_query = $5, fields = $6, is_active = $7,
             is_private = $8, updated_by = $9, updated_date = $10, version = $2 + 1, refresh_every = $11,
             result_id = CASE WHEN $7 THEN result_id END, success_job_id = CASE WHEN $7 THEN success_job_id END
         WHERE id = $1 AND version = $2 AND NOT is_deleted RETURNING id",
        binds,
    )
}

/// Adds the statement that stores the version created by an update.
pub fn keep_version(
    pipeline: &mut Pipeline,
    id: Uuid,
    version: i32,
    content: &Content,
    user: Option<Uuid>,
    now: Timestamp,
) {
    insert_version(pipeline, id, version, content, user, now);
}

/// Adds the statements by which a list shows the result of a finished query, like a successful refresh.
pub fn adopt(pipeline: &mut Pipeline, list: Uuid, query: Uuid, user: Option<Uuid>, version: i32) {
    let refresh = Uuid::now_v7();
    pipeline.add(
        "INSERT INTO list_job (id, kind, state, list_id, user_id, entity_type_id, fql_query, fields, max_size, share,
             list_version, content_version, created, visible_until, started, ended, attempts, records, result_id)
         SELECT $1, 'refresh', 'done', l.id, $4, q.entity_type_id, q.fql_query, l.fields, q.max_size, q.share, $5,
             l.content_version + 1, clock_timestamp(), clock_timestamp(), q.started, clock_timestamp(), 1, q.records,
             q.result_id
         FROM list_job q, list_details l
         WHERE q.id = $2 AND q.kind = 'query' AND q.state = 'done' AND l.id = $3
           AND l.entity_type_id = q.entity_type_id",
        vec![refresh.into(), query.into(), list.into(), user.into(), version.into()],
    );
    pipeline.add(
        "UPDATE list_details l SET result_id = j.result_id, success_job_id = j.id, failed_job_id = NULL,
             content_version = j.content_version
         FROM list_job j WHERE j.id = $1 AND l.id = j.list_id",
        vec![refresh.into()],
    );
}

/// Adds the statement that marks a list as deleted; its row stays.
pub fn delete(pipeline: &mut Pipeline, id: Uuid) -> usize {
    pipeline.add(
        "UPDATE list_details SET is_deleted = true, result_id = NULL, success_job_id = NULL, refresh_every = NULL
         WHERE id = $1 AND NOT is_deleted RETURNING id",
        vec![id.into()],
    )
}

/// A version of a list.
#[derive(Debug, Clone)]
pub struct Version {
    pub list_id: Uuid,
    pub version: i32,
    pub name: String,
    pub description: Option<String>,
    pub fql_query: Option<String>,
    pub fields: Vec<String>,
    pub is_active: bool,
    pub is_private: bool,
    pub updated_by: Option<Uuid>,
    pub updated_by_name: Option<String>,
    pub updated_date: Timestamp,
}

/// The versions of a list, or one of them.
pub async fn versions(
    connection: &Connection,
    list: Uuid,
    version: Option<i32>,
) -> Result<Vec<Version>, Failure> {
    let rows = connection
        .query(
            format!(
                "SELECT v.list_id, v.version, v.name, v.description, v.fql_query, v.fields, v.is_active, v.is_private,
                     v.updated_by, {}, v.updated_date
                 FROM list_versions v WHERE v.list_id = $1 AND ($2::integer IS NULL OR v.version = $2)
                 ORDER BY v.version",
                name_of("v.updated_by")
            ),
            vec![list.into(), version.map_or(Bind::Null, Bind::from)],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| Version {
            list_id: row.get(0),
            version: row.get(1),
            name: row.get(2),
            description: row.get(3),
            fql_query: row.get(4),
            fields: row.get(5),
            is_active: row.get(6),
            is_private: row.get(7),
            updated_by: row.get(8),
            updated_by_name: row.get(9),
            updated_date: row.get(10),
        })
        .collect())
}
