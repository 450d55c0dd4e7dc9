-- +goose Up

-- When an alert was last received, where that was more than once: what nobody has spoken of for long is deleted.
ALTER TABLE alerts ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX alerts_received ON alerts (received_at);
CREATE INDEX alerts_joined ON alerts (lead);
