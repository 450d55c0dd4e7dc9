-- +goose Up

-- The alerts received by webhooks: one row each time an alert fires. See webhook.Row.
CREATE TABLE alerts (
    n             INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    webhook       TEXT NOT NULL,
    project       TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    grp           TEXT NOT NULL,    -- a hash
    group_name    TEXT NOT NULL,
    title         TEXT NOT NULL,
    place         TEXT NOT NULL,    -- waiting, started, joined, aside
    lead          TEXT NOT NULL,    -- the alert whose investigation it joined
    workflow      TEXT NOT NULL,    -- the workflow ID of its own investigation
    investigation TEXT NOT NULL,    -- the ID of its own investigation, once it runs
    request       TEXT NOT NULL,    -- JSON of agent.Request
    times         INTEGER NOT NULL, -- number of times it was received
    starts_at     INTEGER,
    received_at   INTEGER NOT NULL,
    resolved_at   INTEGER,
    started_at    INTEGER,
    ended_at      INTEGER,          -- when its own investigation ended
    told_at       INTEGER,          -- when joined alerts were last sent to its own investigation
    news          INTEGER NOT NULL  -- bits: what its investigation has not received yet, and what is being sent to it
) STRICT;
CREATE INDEX alerts_by_fingerprint ON alerts (webhook, project, fingerprint);
CREATE INDEX alerts_waiting ON alerts (webhook, grp, n) WHERE place = 'waiting';
CREATE INDEX alerts_running ON alerts (webhook) WHERE place = 'started' AND ended_at IS NULL;
CREATE INDEX alerts_started ON alerts (webhook, started_at) WHERE place = 'started';
CREATE INDEX alerts_leading ON alerts (investigation) WHERE investigation <> '';
CREATE INDEX alerts_news ON alerts (lead) WHERE news <> 0;
