-- How far a run over many records has come; gone when it has ended.
CREATE TABLE IF NOT EXISTS walk (
    job_id uuid PRIMARY KEY,
    -- The last record that was reached, in the order of ids.
    reached uuid NOT NULL
);
