-- +goose Up

-- Notifications to send. An act of the audit log that people may be told about is written here in the same transaction, with an empty
-- channel. The process that sends notifications replaces it by a row for each channel, and deletes a row once it is sent.
CREATE TABLE notifications (
    n             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    investigation TEXT COLLATE "C" NOT NULL,
    act           BIGINT NOT NULL, -- audit.n
    channel       TEXT COLLATE "C" NOT NULL, -- '' means that the routes have not been applied
    escalation    BIGINT NOT NULL, -- 0 means that the notification is no escalation
    due           BIGINT NOT NULL,
    tries         BIGINT NOT NULL, -- failed ones
    at            BIGINT NOT NULL  -- time of the act
);
CREATE INDEX notifications_order ON notifications (investigation, channel, n);
