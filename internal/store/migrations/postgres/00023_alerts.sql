-- +goose Up

-- The alerts received by webhooks: one row each time an alert fires. See webhook.Row.
CREATE TABLE alerts (
    n             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id            TEXT COLLATE "C" NOT NULL UNIQUE,
    webhook       TEXT COLLATE "C" NOT NULL,
    project       TEXT COLLATE "C" NOT NULL,
    fingerprint   TEXT COLLATE "C" NOT NULL,
    grp           TEXT COLLATE "C" NOT NULL,    -- a hash
    group_name    TEXT NOT NULL,
    title         TEXT NOT NULL,
    place         TEXT COLLATE "C" NOT NULL,    -- waiting, started, joined, aside
    lead          TEXT COLLATE "C" NOT NULL,    -- the alert whose investigation it joined
    workflow      TEXT COLLATE "C" NOT NULL,    -- the workflow ID of its own investigation
    investigation TEXT COLLATE "C" NOT NULL,    -- the ID of its own investigation, once it runs
    request       TEXT NOT NULL,    -- JSON of agent.Request
    times         BIGINT NOT NULL, -- number of times it was received
    starts_at     BIGINT,
    received_at   BIGINT NOT NULL,
    resolved_at   BIGINT,
    started_at    BIGINT,
    ended_at      BIGINT,          -- when its own investigation ended
    told_at       BIGINT,          -- when joined alerts were last sent to its own investigation
    news          BIGINT NOT NULL  -- bits: what its investigation has not received yet, and what is being sent to it
);
CREATE INDEX alerts_by_fingerprint ON alerts (webhook, project, fingerprint);
CREATE INDEX alerts_waiting ON alerts (webhook, grp, n) WHERE place = 'waiting';
CREATE INDEX alerts_running ON alerts (webhook) WHERE place = 'started' AND ended_at IS NULL;
CREATE INDEX alerts_started ON alerts (webhook, started_at) WHERE place = 'started';
CREATE INDEX alerts_leading ON alerts (investigation) WHERE investigation <> '';
CREATE INDEX alerts_news ON alerts (lead) WHERE news <> 0;
