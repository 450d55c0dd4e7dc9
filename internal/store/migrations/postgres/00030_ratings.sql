-- +goose Up

-- People's ratings of ended investigations: record.Rating.
CREATE TABLE ratings (
    investigation TEXT COLLATE "C" NOT NULL,
    author        TEXT COLLATE "C" NOT NULL,
    claim         TEXT COLLATE "C" NOT NULL, -- of the report; empty means the whole investigation
    at            BIGINT NOT NULL,
    rating        TEXT COLLATE "C" NOT NULL,
    note          TEXT NOT NULL,
    PRIMARY KEY (investigation, author, claim)
);

-- Confirmations and contradictions of learnings: learning.Judgement.
CREATE TABLE learning_judgements (
    learning      BIGINT NOT NULL,
    investigation TEXT COLLATE "C" NOT NULL, -- that judged it
    at            BIGINT NOT NULL,
    confirms      BIGINT NOT NULL, -- 0: it contradicts
    undone        BIGINT NOT NULL, -- 1: it does not count
    PRIMARY KEY (learning, investigation)
);
CREATE INDEX learning_judgements_by_investigation ON learning_judgements (investigation);

-- 1: people have withdrawn everything that the investigation taught.
ALTER TABLE learning_runs ADD COLUMN withdrawn BIGINT NOT NULL DEFAULT 0;
