-- +goose Up

-- The kinds of tokens that have their own prices. See agent.Usage.
ALTER TABLE execution_sums ADD COLUMN cache_read_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE execution_sums ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE execution_sums ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE execution_sums ADD COLUMN image_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger_reserved ADD COLUMN cache_read_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger_reserved ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger_reserved ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger_reserved ADD COLUMN image_tokens BIGINT NOT NULL DEFAULT 0;
