-- +goose Up

-- With the project first, the index finds alerts without their webhook, too.
DROP INDEX alerts_by_fingerprint;
CREATE INDEX alerts_by_fingerprint ON alerts (project, fingerprint, webhook);
