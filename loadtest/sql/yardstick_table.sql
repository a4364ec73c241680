-- A table of the same columns and indexes as the journal's events, without its triggers.
DROP TABLE IF EXISTS tribunal.yardstick;
DROP SEQUENCE IF EXISTS tribunal.yardstick_stream;
CREATE SEQUENCE tribunal.yardstick_stream;
CREATE TABLE tribunal.yardstick (LIKE tribunal.events INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING INDEXES);
