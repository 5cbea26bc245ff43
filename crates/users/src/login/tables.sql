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
CREATE TABLE IF NOT EXISTS auth_attempts (
    user_id uuid PRIMARY KEY,
    failed integer NOT NULL,
    last_failed timestamptz NOT NULL
);
-- Leave to set a password without the old one, good once.
CREATE TABLE IF NOT EXISTS auth_password_action (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    ends timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS refresh_token (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    ends timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS refresh_token_user_id ON refresh_token (user_id);
CREATE INDEX IF NOT EXISTS refresh_token_ends ON refresh_token (ends);
-- Tokens of a user that were made before this moment are no good.
CREATE TABLE IF NOT EXISTS tokens_ended (
    user_id uuid PRIMARY KEY,
    before timestamptz NOT NULL
);
