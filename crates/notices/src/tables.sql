-- E-mails to be sent. A row exists until its e-mail is delivered or its attempts are used up. A sender first moves
-- `next_attempt` into the future and sets `leased`, so that no other node takes the e-mail.
CREATE TABLE IF NOT EXISTS email_delivery (
    id uuid PRIMARY KEY REFERENCES email_statistics (id) ON DELETE CASCADE,
    next_attempt timestamptz NOT NULL,
    leased boolean NOT NULL
);
CREATE INDEX IF NOT EXISTS email_delivery_next_attempt_idx ON email_delivery (next_attempt);
-- When a user last got a mail about a forgotten password or username.
CREATE TABLE IF NOT EXISTS forgotten_credentials_mail (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind text NOT NULL,
    mailed timestamptz NOT NULL,
    PRIMARY KEY (user_id, kind)
);
