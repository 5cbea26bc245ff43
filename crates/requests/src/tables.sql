-- Records whose copies in open requests are outdated; counted, so that a change during a run of the job is not lost.
CREATE TABLE IF NOT EXISTS request_snapshot_due (kind text, id uuid, marks bigint NOT NULL, PRIMARY KEY (kind, id));
-- When an open request expires; the expression is the same as in expiry.rs.
CREATE INDEX IF NOT EXISTS request_ends ON request ((carrel.instant(CASE WHEN doc->>'status' = 'Open - Awaiting pickup'
    THEN doc->>'holdShelfExpirationDate' ELSE doc->>'requestExpirationDate' END)))
    WHERE is_open AND (CASE WHEN doc->>'status' = 'Open - Awaiting pickup'
    THEN doc->>'holdShelfExpirationDate' ELSE doc->>'requestExpirationDate' END) IS NOT NULL;
-- Pick and search slips; the conditions are those of reports/slips.rs.
CREATE INDEX IF NOT EXISTS request_slips ON request ((doc->'item'->>'itemEffectiveLocationId'), (doc->>'requestType'))
    WHERE doc->>'status' = 'Open - Not yet filled';
