-- +goose Up

-- The project of an investigation.
ALTER TABLE investigations ADD COLUMN project TEXT NOT NULL DEFAULT 'default';
CREATE INDEX investigations_by_project ON investigations (project, started_at, id, workflow_id, chain, alert_type);
