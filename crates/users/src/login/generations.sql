-- Users whose tokens were revoked before start with generation 1. The table of revocation times is kept for older
-- nodes.
CREATE TABLE IF NOT EXISTS token_revocation (
    user_id uuid PRIMARY KEY,
    generation bigint NOT NULL,
    revoked timestamptz NOT NULL
);
DO $$ BEGIN
    IF to_regclass('tokens_ended') IS NOT NULL THEN
        INSERT INTO token_revocation (user_id, generation, revoked)
        SELECT user_id, 1, before FROM tokens_ended ON CONFLICT (user_id) DO NOTHING;
    END IF;
END $$
