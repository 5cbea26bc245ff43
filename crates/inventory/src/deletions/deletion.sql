-- What is gone, for those who harvest the catalog: the last deletion of each record.
CREATE TABLE IF NOT EXISTS deletion (
    -- Table of the record.
    kind text NOT NULL,
    id uuid NOT NULL,
    -- The title that it belonged to; its own id where it was one.
    instance_id uuid NOT NULL,
    -- Of a title.
    source text,
    deleted timestamptz NOT NULL,
    PRIMARY KEY (kind, id)
);
CREATE INDEX IF NOT EXISTS deletion_kind_deleted ON deletion (kind, deleted);
