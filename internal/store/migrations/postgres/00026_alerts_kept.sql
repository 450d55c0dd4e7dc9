-- +goose Up

-- When an alert was last received, if more than once. Alerts that were not received for long are deleted.
ALTER TABLE alerts ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX alerts_received ON alerts (received_at);
CREATE INDEX alerts_joined ON alerts (lead);
