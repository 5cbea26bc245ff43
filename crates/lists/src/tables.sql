-- A list: its query, its owner, and the result that it shows.
CREATE TABLE IF NOT EXISTS list_details (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    description text,
    entity_type_id uuid NOT NULL,
    fql_query text,
    fields text[] NOT NULL,
    created_by uuid,
    created_date timestamptz NOT NULL,
    updated_by uuid,
    updated_date timestamptz,
    is_active boolean NOT NULL,
    is_private boolean NOT NULL,
    is_canned boolean NOT NULL DEFAULT false,
    is_deleted boolean NOT NULL DEFAULT false,
    version integer NOT NULL,
    -- The result of the last successful refresh, and the jobs of the last success and of the failure after it.
    result_id uuid,
    success_job_id uuid,
    failed_job_id uuid,
    -- Number of successful refreshes.
    content_version integer NOT NULL DEFAULT 0,
    -- Seconds between two automatic refreshes; null: only on request.
    refresh_every bigint
);
CREATE TABLE IF NOT EXISTS list_versions (
    list_id uuid NOT NULL,
    version integer NOT NULL,
    name text NOT NULL,
    description text,
    fql_query text,
    fields text[] NOT NULL,
    is_active boolean NOT NULL,
    is_private boolean NOT NULL,
    updated_by uuid,
    updated_date timestamptz NOT NULL,
    PRIMARY KEY (list_id, version)
);
-- The result of a query. A complete result does not change; several lists may show the same one.
CREATE TABLE IF NOT EXISTS list_result (
    id uuid PRIMARY KEY,
    -- UUIDs that identify one record.
    width integer NOT NULL,
    created timestamptz NOT NULL
);
ALTER TABLE list_result ALTER COLUMN created SET DEFAULT clock_timestamp();
CREATE TABLE IF NOT EXISTS list_result_chunk (
    result_id uuid NOT NULL REFERENCES list_result (id) ON DELETE CASCADE,
    n integer NOT NULL,
    -- The concatenated identifiers of a thousand records.
    ids uuid[] NOT NULL,
    PRIMARY KEY (result_id, n)
);
ALTER TABLE list_result_chunk ALTER COLUMN ids SET STORAGE EXTERNAL;
-- ANALYZE would read every identifier, and nothing is looked up by them.
ALTER TABLE list_result_chunk ALTER COLUMN ids SET STATISTICS 0;
-- Refreshes, queries and exports. The node that works on one owns it until its lease ends.
CREATE TABLE IF NOT EXISTS list_job (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    -- queued, running; done, failed, cancelled, too_large
    state text NOT NULL,
    list_id uuid,
    user_id uuid,
    entity_type_id uuid NOT NULL,
    fql_query text NOT NULL,
    fields text[] NOT NULL,
    max_size bigint NOT NULL,
    -- Waiting jobs with the same value share one run.
    share text NOT NULL,
    list_version integer,
    content_version integer,
    created timestamptz NOT NULL,
    -- Shown as running until this time.
    visible_until timestamptz NOT NULL,
    started timestamptz,
    ended timestamptz,
    owner uuid,
    lease_ends timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    records bigint NOT NULL DEFAULT 0,
    result_id uuid,
    code text,
    message text
);
CREATE UNIQUE INDEX IF NOT EXISTS list_job_one_refresh ON list_job (list_id)
    WHERE kind = 'refresh' AND state IN ('queued', 'running');
CREATE UNIQUE INDEX IF NOT EXISTS list_job_one_export ON list_job (list_id, user_id)
    WHERE kind = 'export' AND state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS list_job_open ON list_job (created) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS list_job_of_list ON list_job (list_id, created);
CREATE INDEX IF NOT EXISTS list_job_ended ON list_job (ended) WHERE kind <> 'refresh';
CREATE INDEX IF NOT EXISTS list_job_of_result ON list_job (result_id);
CREATE INDEX IF NOT EXISTS list_details_of_result ON list_details (result_id);
-- The file of an export.
CREATE TABLE IF NOT EXISTS list_export_part (
    job_id uuid NOT NULL REFERENCES list_job (id) ON DELETE CASCADE,
    n integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (job_id, n)
);
-- The users of an entity type, such as mod-lists.
CREATE TABLE IF NOT EXISTS entity_type_used_by (
    entity_type_id uuid NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (entity_type_id, name)
);
INSERT INTO list_details (id, name, description, entity_type_id, fql_query, fields, created_by, created_date, is_active,
    is_private, is_canned, version)
VALUES
    ('605a345f-f456-4ab2-8968-22f49cf1fbb6', 'Missing items',
     'Returns all items with a status of: missing, aged to lost, claimed returned, declared lost, long missing',
     'd0213d22-32cf-490f-9196-d81c3c66e53f',
     '{"_version":"24","items.status_name":{"$in":["Missing","Aged to lost","Claimed returned","Declared lost","Long missing"]}}',
     '{items.id,items.hrid,items.effective_call_number,items.status_name,items.copy_number,items.barcode,items.created_date,items.updated_date,effective_location.name,loclibrary.name,loclibrary.code,mtypes.name,instances.title,instances.created_at,instances.updated_at,instances.instance_primary_contributor}',
     '7eb41f7c-ec2f-4637-8ceb-2e9573666ad0', clock_timestamp(), true, false, true, 1),
    ('97f5829f-1510-47bc-8454-ae7fa849baef', 'Inactive patrons with open loans',
     'Returns all loans with a status of open by inactive users', 'd6729885-f2fb-4dc7-b7d0-a865a7f461e4',
     '{"_version":"24","$and":[{"loans.status_name":{"$eq":"Open"}},{"users.active":{"$eq":"false"}}]}',
     '{users.last_name_first_name,users.active,users.barcode,users.expiration_date,groups.group,loans.id,loans.status_name,loans.due_date,lpolicy.name,cospi.name,instance.title,instance.instance_primary_contributor,items.barcode,items.status_name,mtypes.name}',
     '7eb41f7c-ec2f-4637-8ceb-2e9573666ad0', clock_timestamp(), true, false, true, 1)
ON CONFLICT (id) DO NOTHING;
-- A custom entity type, in the format of the API.
CREATE TABLE IF NOT EXISTS custom_entity_type (
    id uuid PRIMARY KEY,
    definition jsonb NOT NULL
);
