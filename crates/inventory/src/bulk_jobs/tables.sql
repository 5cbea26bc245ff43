-- The progress of a bulk job; the row is deleted when the job ends. Under the former name `walk`, older programs that
-- still run see and change the same rows.
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass('walk') AND relkind = 'r') THEN
        ALTER TABLE walk RENAME TO bulk_job_progress;
        CREATE VIEW walk AS SELECT job_id, reached FROM bulk_job_progress;
        COMMENT ON VIEW walk IS 'former name';
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS bulk_job_progress (
    job_id uuid PRIMARY KEY,
    -- The last record that was processed, in the order of ids.
    reached uuid NOT NULL
);
