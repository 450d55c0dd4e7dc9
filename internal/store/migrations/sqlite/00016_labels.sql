-- +goose Up

-- The labels, metadata and overrides of requests.
ALTER TABLE investigations ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE investigations ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE investigations ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE investigations ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE investigations ADD COLUMN metadata TEXT NOT NULL DEFAULT 'null'; -- JSON, keys sorted
ALTER TABLE investigations ADD COLUMN overrides TEXT NOT NULL DEFAULT '{}'; -- JSON of agent.Overrides
CREATE INDEX investigations_by_fingerprint ON investigations (fingerprint) WHERE fingerprint <> '';
CREATE INDEX investigations_by_session ON investigations (session) WHERE session <> '';
