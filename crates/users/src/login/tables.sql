CREATE TABLE IF NOT EXISTS auth_credentials (
    user_id uuid PRIMARY KEY,
    id uuid NOT NULL,
    hash text NOT NULL,
    changed timestamptz NOT NULL
);
-- Passwords that the user had before.
CREATE TABLE IF NOT EXISTS auth_credentials_history (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    hash text NOT NULL,
    replaced timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS auth_credentials_history_user_id ON auth_credentials_history (user_id, replaced);
-- Attempts to log in, by account and address. The address '' counts an account over all addresses, the nil account an
-- address over all accounts. An unknown name has an account id computed from the name.
CREATE TABLE IF NOT EXISTS login_attempt (
    account_id uuid NOT NULL,
    address text NOT NULL,
    -- Attempts without success since window_start, each counted before its password was checked.
    attempts integer NOT NULL,
    window_start timestamptz NOT NULL,
    last_attempt timestamptz NOT NULL,
    last_success timestamptz,
    PRIMARY KEY (account_id, address)
);
-- Permissions to set a password without the old one, each valid once.
CREATE TABLE IF NOT EXISTS auth_password_action (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    ends timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS auth_password_action_user_id ON auth_password_action (user_id);
CREATE TABLE IF NOT EXISTS refresh_token (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    ends timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS refresh_token_user_id ON refresh_token (user_id);
CREATE INDEX IF NOT EXISTS refresh_token_ends ON refresh_token (ends);
-- The generation of a user's tokens: those of an earlier generation are refused. Users without a row have generation 0.
CREATE TABLE IF NOT EXISTS token_revocation (
    user_id uuid PRIMARY KEY,
    generation bigint NOT NULL,
    revoked timestamptz NOT NULL
);
