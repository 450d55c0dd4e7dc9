-- +goose Up

-- What people say to agents. A letter to several stages that run is a row for each.
CREATE TABLE mail (
    investigation TEXT COLLATE "C" NOT NULL,
    seq           BIGINT NOT NULL, -- counted in the transaction
    source        TEXT COLLATE "C" NOT NULL, -- the workflow that took it in: '' is the investigation, else a stage's run or an execution
    ordinal       BIGINT NOT NULL, -- of the source's letters
    run_id        TEXT COLLATE "C" NOT NULL, -- of the source
    agent         TEXT COLLATE "C" NOT NULL, -- whom it is for; '' = all of the stage
    stage         TEXT COLLATE "C" NOT NULL, -- the run of the stage that it is for; '' = the first that reads it
    author        TEXT NOT NULL,
    text          TEXT NOT NULL, -- masked
    at            BIGINT NOT NULL,
    superseded    BIGINT NOT NULL, -- 1: a later run of the source has taken it in again, or another row stands for it
    PRIMARY KEY (investigation, seq)
);

-- Which entries quote a letter. It is read if one of them is not superseded.
CREATE TABLE readings (
    investigation TEXT COLLATE "C" NOT NULL,
    mail          BIGINT NOT NULL,
    entry         BIGINT NOT NULL, -- its seq
    PRIMARY KEY (investigation, mail, entry)
);

