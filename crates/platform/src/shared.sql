-- A row for each timeline on which a primary was found. A standby that has one has replayed the promotion that began
-- the timeline, so that WAL positions of the primary can be compared with its own.
CREATE TABLE IF NOT EXISTS carrel.timeline (
    -- PostgreSQL's system identifier.
    system bigint NOT NULL,
    timeline bigint NOT NULL,
    PRIMARY KEY (system, timeline)
);
GRANT SELECT ON carrel.timeline TO PUBLIC;
