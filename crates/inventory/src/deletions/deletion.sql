-- The last deletion of each record, for harvesters of the catalog.
CREATE TABLE IF NOT EXISTS deletion (
    -- Table of the record.
    kind text NOT NULL,
    id uuid NOT NULL,
    -- The instance of the record; its own id if it was an instance.
    instance_id uuid NOT NULL,
    -- Of an instance.
    source text,
    deleted timestamptz NOT NULL,
    PRIMARY KEY (kind, id)
);
CREATE INDEX IF NOT EXISTS deletion_kind_deleted ON deletion (kind, deleted);
