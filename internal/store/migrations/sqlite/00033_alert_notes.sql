-- +goose Up

-- What the sender of an alert reported and could not be read: a JSON list of texts. See webhook.Row.
ALTER TABLE alerts ADD COLUMN notes TEXT NOT NULL DEFAULT '[]';
