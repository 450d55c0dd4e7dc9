-- +goose Up

-- Messages from people to agents. A message to several running stages has a row for each.
CREATE TABLE mail (
    investigation TEXT NOT NULL,
    seq           INTEGER NOT NULL, -- assigned in the transaction
    source        TEXT NOT NULL, -- the receiving workflow: '' is the investigation, otherwise a stage's run or an execution
    ordinal       INTEGER NOT NULL, -- position among the messages of the source
    run_id        TEXT NOT NULL, -- run of the source
    agent         TEXT NOT NULL, -- the recipient; '' means all agents of the stage
    stage         TEXT NOT NULL, -- the run of the recipient's stage; '' means the first that reads it
    author        TEXT NOT NULL,
    text          TEXT NOT NULL, -- masked
    at            INTEGER NOT NULL,
    superseded    INTEGER NOT NULL, -- 1: a later run of the source received it again, or another row replaces it
    PRIMARY KEY (investigation, seq)
) STRICT;

-- The entries that quote a message. A message is read if one of them is not superseded.
CREATE TABLE readings (
    investigation TEXT NOT NULL,
    mail          INTEGER NOT NULL,
    entry         INTEGER NOT NULL, -- seq of the entry
    PRIMARY KEY (investigation, mail, entry)
) STRICT;

