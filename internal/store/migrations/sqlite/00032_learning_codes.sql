-- +goose Up

-- Codes of the vectors of learnings (learning.Code), in blocks of 256: learning n is number n % 256 of block n / 256.
CREATE TABLE learning_codes (
    block INTEGER PRIMARY KEY,
    model TEXT NOT NULL, -- learnings.vector_model
    codes BLOB NOT NULL  -- 256 bits that say which learnings have a code, then 256 codes
) STRICT;

-- Every vector needs a code. Workers make the vectors again.
UPDATE learnings SET vector_model = '', vector = x'';
