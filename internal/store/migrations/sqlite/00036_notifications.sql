-- +goose Up

-- Notifications to send. An act of the audit log that people may be told about is written here in the same transaction, with an empty
-- channel. The process that sends notifications replaces it by a row for each channel, and deletes a row once it is sent.
CREATE TABLE notifications (
    n             INTEGER PRIMARY KEY AUTOINCREMENT,
    investigation TEXT NOT NULL,
    act           INTEGER NOT NULL, -- audit.n
    channel       TEXT NOT NULL, -- '' means that the routes have not been applied
    escalation    INTEGER NOT NULL, -- 0 means that the notification is no escalation
    due           INTEGER NOT NULL,
    tries         INTEGER NOT NULL, -- failed ones
    at            INTEGER NOT NULL  -- time of the act
) STRICT;
CREATE INDEX notifications_order ON notifications (investigation, channel, n);
