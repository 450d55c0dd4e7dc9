-- +goose Up

-- Which process does a job that only one process may do. See store.Lease.
CREATE TABLE leases (
    name  TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT NOT NULL,
    until BIGINT NOT NULL
);

-- Messages that we post in chats, by what they are about. A row is written before its message is sent; ts is empty until the chat
-- has confirmed the message. See record.ChatMessage.
CREATE TABLE chat_messages (
    investigation TEXT COLLATE "C" NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL,
    channel       TEXT COLLATE "C" NOT NULL,
    thread        TEXT COLLATE "C" NOT NULL,
    ts            TEXT NOT NULL,
    state         TEXT COLLATE "C" NOT NULL,
    about         TEXT NOT NULL,
    at            BIGINT NOT NULL,
    PRIMARY KEY (investigation, kind)
);
CREATE INDEX chat_messages_thread ON chat_messages (channel, thread) WHERE kind = 'thread';
CREATE INDEX chat_messages_open ON chat_messages (state) WHERE kind = 'thread';

-- What people do in chats, until it is carried out. The rows are kept for a while, because a chat may deliver the same thing again.
CREATE TABLE chat_inputs (
    n       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      TEXT COLLATE "C" NOT NULL UNIQUE,
    lane    TEXT NOT NULL,
    body    TEXT NOT NULL, -- empty once it is done
    at      BIGINT NOT NULL,
    done_at BIGINT
);
CREATE INDEX chat_inputs_open ON chat_inputs (n) WHERE done_at IS NULL;
