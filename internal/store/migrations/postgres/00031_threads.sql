-- +goose Up

-- Conversations, open and closed. Ones from before this table get their row with their next turn.
CREATE TABLE threads (
    id          TEXT COLLATE "C" PRIMARY KEY,
    workflow_id TEXT COLLATE "C" NOT NULL,
    agent       TEXT NOT NULL,
    project     TEXT COLLATE "C" NOT NULL,
    about       TEXT COLLATE "C" NOT NULL, -- ID of the investigation that it is about; '' means none
    turns       BIGINT NOT NULL, -- number of turns so far
    started_at  BIGINT NOT NULL,
    active_at   BIGINT NOT NULL, -- end of the last turn
    ended_at    BIGINT           -- NULL: its workflow has not reported an end
);
CREATE INDEX threads_by_start ON threads (started_at, id);
CREATE INDEX threads_by_workflow ON threads (workflow_id, started_at);
CREATE INDEX threads_by_about ON threads (about) WHERE about <> '';

-- Their turns: a message, or a heartbeat, and how it was answered. The texts are in entries.
CREATE TABLE turns (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread      TEXT COLLATE "C" NOT NULL,
    n           BIGINT NOT NULL, -- from 1
    message     TEXT COLLATE "C" NOT NULL, -- ID of the message; '' means a heartbeat
    run_id      TEXT NOT NULL, -- run of the workflow that recorded it
    turn        TEXT NOT NULL, -- JSON of record.Turn, without the fields in other columns
    UNIQUE (thread, n)
);
CREATE INDEX turns_by_message ON turns (thread, message) WHERE message <> '';

-- The words of their messages and replies, by turns.id.
CREATE TABLE turn_words (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX turn_words_index ON turn_words USING gin (words);
