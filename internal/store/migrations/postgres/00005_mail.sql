-- +goose Up

-- Messages from people to agents. A message to several running stages has a row for each.
CREATE TABLE mail (
    investigation TEXT COLLATE "C" NOT NULL,
    seq           BIGINT NOT NULL, -- assigned in the transaction
    source        TEXT COLLATE "C" NOT NULL, -- the receiving workflow: '' is the investigation, otherwise a stage's run or an execution
    ordinal       BIGINT NOT NULL, -- position among the messages of the source
    run_id        TEXT COLLATE "C" NOT NULL, -- run of the source
    agent         TEXT COLLATE "C" NOT NULL, -- the recipient; '' means all agents of the stage
    stage         TEXT COLLATE "C" NOT NULL, -- the run of the recipient's stage; '' means the first that reads it
    author        TEXT NOT NULL,
    text          TEXT NOT NULL, -- masked
    at            BIGINT NOT NULL,
    superseded    BIGINT NOT NULL, -- 1: a later run of the source received it again, or another row replaces it
    PRIMARY KEY (investigation, seq)
);

-- The entries that quote a message. A message is read if one of them is not superseded.
CREATE TABLE readings (
    investigation TEXT COLLATE "C" NOT NULL,
    mail          BIGINT NOT NULL,
    entry         BIGINT NOT NULL, -- seq of the entry
    PRIMARY KEY (investigation, mail, entry)
);

