-- +goose Up

-- How long the last calls of each tool took: how many took up to so many milliseconds, an older call
-- counting less. See tool.Times.
CREATE TABLE tool_times (
    tool   TEXT COLLATE "C" PRIMARY KEY,
    ms_1 DOUBLE PRECISION NOT NULL,
    ms_2 DOUBLE PRECISION NOT NULL,
    ms_5 DOUBLE PRECISION NOT NULL,
    ms_10 DOUBLE PRECISION NOT NULL,
    ms_20 DOUBLE PRECISION NOT NULL,
    ms_50 DOUBLE PRECISION NOT NULL,
    ms_100 DOUBLE PRECISION NOT NULL,
    ms_200 DOUBLE PRECISION NOT NULL,
    ms_500 DOUBLE PRECISION NOT NULL,
    ms_1000 DOUBLE PRECISION NOT NULL,
    ms_2000 DOUBLE PRECISION NOT NULL,
    ms_5000 DOUBLE PRECISION NOT NULL,
    slower DOUBLE PRECISION NOT NULL
);
