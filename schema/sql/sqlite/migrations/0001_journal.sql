-- The journal of one store: events, and the small tables that are written with them.
-- Instants are milliseconds since the Unix epoch by this database's clock (_at);
-- ids are ULIDs as 26 letters and digits; digests are the 32 bytes of a SHA-256.
-- SQLite keeps this text, so that `.schema` is the documentation of a store.

CREATE TABLE events (
  -- COMMENT Place in the table; ascending, never given twice. The feed's order.
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  -- COMMENT The stream: run-<ulid>, chunk-<run>-<number>, attempt-<ulid>, operator-<ulid>.
  stream TEXT NOT NULL,
  -- COMMENT The word before the first dash of the stream.
  category TEXT NOT NULL,
  -- COMMENT Place in the stream, from 1, without gaps.
  version INTEGER NOT NULL,
  -- COMMENT Follows from command, stream and place in the unit.
  id TEXT NOT NULL,
  -- COMMENT The command that caused it.
  command TEXT NOT NULL,
  -- COMMENT For example chunk.leased.
  type TEXT NOT NULL,
  -- COMMENT The version of the payload's shape, from 1.
  type_version INTEGER NOT NULL,
  -- COMMENT The run it is about; NULL when it is about none.
  run TEXT,
  -- COMMENT The team that owns the run.
  team TEXT NOT NULL,
  -- COMMENT Canonical JSON text: sorted keys, integers and strings only.
  payload TEXT NOT NULL,
  -- COMMENT The id of the event that a policy reacted to; NULL when nobody did.
  causation TEXT,
  -- COMMENT When its unit was written, ms since the epoch; not digested.
  recorded_at INTEGER NOT NULL,
  -- COMMENT The chain of the stream up to and including this event.
  digest BLOB NOT NULL,
  CONSTRAINT stream_versions_are_unique UNIQUE (stream, version),
  CONSTRAINT stream_versions_start_at_one CHECK (version >= 1),
  CONSTRAINT digests_have_32_bytes CHECK (length(digest) = 32)
) STRICT;

-- The feed of one run: the position is the index's own last column.
CREATE INDEX events_by_run ON events (run) WHERE run IS NOT NULL;
-- The heads of a run's streams, page by page.
CREATE INDEX events_by_run_and_stream ON events (run, stream, version) WHERE run IS NOT NULL;

CREATE TRIGGER events_are_append_only_no_update BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'events_are_append_only: an event is never changed');
END;

CREATE TRIGGER events_are_append_only_no_delete BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'events_are_append_only: an event is never deleted');
END;

-- INSERT OR REPLACE deletes without a delete trigger; this one comes before it.
CREATE TRIGGER events_are_append_only_no_replace BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE stream = NEW.stream AND version = NEW.version)
  OR EXISTS (SELECT 1 FROM events WHERE position = NEW.position)
BEGIN
  SELECT RAISE(ABORT, 'events_are_append_only: an event is never replaced');
END;

-- COMMENT Authority over chunks, live or run out; gone when it was ended.
CREATE TABLE leases (
  run TEXT NOT NULL,
  -- COMMENT The chunk's number in its run, from 0.
  chunk_number INTEGER NOT NULL,
  -- COMMENT The fencing number, +1 at each grant.
  term INTEGER NOT NULL,
  -- COMMENT This grant, unique even if a term were given twice.
  grant_id TEXT NOT NULL,
  -- COMMENT The incarnation of the process that holds it.
  holder TEXT NOT NULL,
  -- COMMENT When it ends without renewal, ms since the epoch; never after the hard deadline.
  expires_at INTEGER NOT NULL,
  -- COMMENT When it ends whatever happens, ms since the epoch.
  hard_deadline_at INTEGER NOT NULL,
  CONSTRAINT chunks_have_one_lease PRIMARY KEY (run, chunk_number),
  CONSTRAINT leases_end_by_their_hard_deadline CHECK (expires_at <= hard_deadline_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX leases_by_holder ON leases (holder);
CREATE INDEX leases_by_expiry ON leases (expires_at);

-- COMMENT Chunks that wait to be claimed: at most one row each.
CREATE TABLE ready (
  run TEXT NOT NULL,
  chunk_number INTEGER NOT NULL,
  -- COMMENT What a claim must name.
  ready_seq INTEGER NOT NULL,
  lane TEXT NOT NULL,
  -- COMMENT When it may be claimed, ms since the epoch.
  due_at INTEGER NOT NULL,
  -- COMMENT When its message was last handed to the outbox, ms since the epoch; NULL = not, or to be repeated.
  published_at INTEGER,
  -- COMMENT How often that was done; each time doubles the age at which it is done again.
  publications INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT chunks_have_one_ready_row PRIMARY KEY (run, chunk_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX ready_unpublished ON ready (lane, due_at) WHERE published_at IS NULL;
CREATE INDEX ready_published ON ready (lane) WHERE published_at IS NOT NULL;

-- COMMENT Runs whose chunks may be dispatched.
CREATE TABLE cursors (
  run TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- COMMENT What workers should do for a run: running, paused or stopped.
CREATE TABLE desired (
  run TEXT NOT NULL PRIMARY KEY,
  desired TEXT NOT NULL,
  -- COMMENT The version of the run's stream that said so; a lower or equal one changes nothing.
  version INTEGER NOT NULL,
  CONSTRAINT desired_states_are_known CHECK (desired IN ('running', 'paused', 'stopped'))
) STRICT, WITHOUT ROWID;

-- COMMENT Messages that must be published; deleted when the broker confirmed them.
CREATE TABLE outbox_delivery_queue (
  -- COMMENT Also the message id.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- COMMENT The deed that the message is about: while it waits, it is put once.
  dedupe_key TEXT NOT NULL,
  routing_key TEXT NOT NULL,
  body BLOB NOT NULL,
  -- COMMENT How often it was claimed.
  attempts INTEGER NOT NULL DEFAULT 0,
  -- COMMENT The claim that has it; NULL when none has.
  claim_token TEXT,
  -- COMMENT When it may be claimed, ms since the epoch; a claim moves it into the future.
  available_at INTEGER NOT NULL,
  CONSTRAINT deeds_are_published_once UNIQUE (dedupe_key)
) STRICT;
CREATE INDEX outbox_by_availability ON outbox_delivery_queue (available_at);

-- COMMENT Ends of chunks that the control database has not recorded yet.
CREATE TABLE settlements (
  run TEXT NOT NULL,
  chunk_number INTEGER NOT NULL,
  -- COMMENT The version of the chunk's stream that ended it.
  version INTEGER NOT NULL,
  -- COMMENT completed, quarantined, failed or cancelled.
  ended_as TEXT NOT NULL,
  -- COMMENT What it adds to the run: canonical JSON.
  tally TEXT NOT NULL,
  -- COMMENT The digest of the chunk's stream at that version: the pin.
  digest BLOB NOT NULL,
  -- COMMENT When it was put, ms since the epoch.
  put_at INTEGER NOT NULL,
  CONSTRAINT chunks_settle_in_one_row PRIMARY KEY (run, chunk_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX settlements_by_age ON settlements (put_at, run, chunk_number);

-- COMMENT Work that recorded events call for: create, cancel or judge a run.
CREATE TABLE intents (
  run TEXT NOT NULL,
  kind TEXT NOT NULL,
  -- COMMENT When it was put, ms since the epoch.
  put_at INTEGER NOT NULL,
  CONSTRAINT intents_are_put_once PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX intents_by_age ON intents (kind, put_at, run);

-- COMMENT Chunks still to be seeded.
CREATE TABLE plan_rows (
  run TEXT NOT NULL,
  chunk_number INTEGER NOT NULL,
  -- COMMENT The canonical JSON of the chunk's chunk.seeded.
  seeded TEXT NOT NULL,
  CONSTRAINT chunks_are_planned_once PRIMARY KEY (run, chunk_number)
) STRICT, WITHOUT ROWID;

-- COMMENT Bodies under their digest, each kept once.
CREATE TABLE blobs (
  -- COMMENT SHA-256 of the bytes.
  digest BLOB NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL,
  -- COMMENT When it was first kept, ms since the epoch.
  kept_at INTEGER NOT NULL
) STRICT;

-- COMMENT Which run needs which blob: retention takes away what no run needs.
CREATE TABLE blob_refs (
  digest BLOB NOT NULL,
  run TEXT NOT NULL,
  CONSTRAINT runs_refer_to_a_blob_once PRIMARY KEY (digest, run),
  CONSTRAINT referred_blobs_exist FOREIGN KEY (digest) REFERENCES blobs (digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_by_run ON blob_refs (run);

-- COMMENT Messages that could not be understood.
CREATE TABLE poison (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- COMMENT The body as it was received.
  body BLOB NOT NULL,
  -- COMMENT What could not be understood.
  reason TEXT NOT NULL,
  -- COMMENT ms since the epoch.
  received_at INTEGER NOT NULL
) STRICT;

-- Views: they follow from the events alone, can be rebuilt, and no decision reads them.

CREATE TABLE runs (
  run TEXT NOT NULL PRIMARY KEY,
  team TEXT NOT NULL,
  profile TEXT NOT NULL,
  profile_version TEXT NOT NULL,
  dataset TEXT NOT NULL,
  -- COMMENT Equal for the same profile on the same cases.
  plan_digest BLOB NOT NULL,
  cases INTEGER NOT NULL,
  -- COMMENT Cases times repeats.
  executions INTEGER NOT NULL,
  status TEXT NOT NULL,
  -- COMMENT Why it is paused, halted, cancelled or failed.
  reason TEXT,
  verdict TEXT,
  -- COMMENT The mean score in parts per million, 0..=1000000.
  score_ppm INTEGER,
  -- COMMENT ms since the epoch.
  created_at INTEGER NOT NULL,
  -- COMMENT ms since the epoch; NULL while it is not over.
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_age ON runs (created_at, run);

CREATE TABLE chunks (
  run TEXT NOT NULL,
  chunk_number INTEGER NOT NULL,
  status TEXT NOT NULL,
  -- COMMENT The last term granted; 0 before the first.
  term INTEGER NOT NULL,
  recoveries INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  passed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  errored INTEGER NOT NULL,
  abstained INTEGER NOT NULL,
  PRIMARY KEY (run, chunk_number)
) STRICT, WITHOUT ROWID;

CREATE TABLE executions (
  run TEXT NOT NULL,
  -- COMMENT The case's place in the dataset, from 0.
  case_number INTEGER NOT NULL,
  -- COMMENT From 0.
  repeat INTEGER NOT NULL,
  -- COMMENT The attempt that settled it; NULL when none was made.
  attempt TEXT,
  outcome TEXT NOT NULL,
  -- COMMENT Parts per million, 0..=1000000.
  score_ppm INTEGER,
  -- COMMENT Why the target gave no answer.
  failure TEXT,
  PRIMARY KEY (run, case_number, repeat)
) STRICT, WITHOUT ROWID;

CREATE TABLE outcomes (
  run TEXT NOT NULL,
  attempt TEXT NOT NULL,
  binding TEXT NOT NULL,
  -- COMMENT Canonical JSON: measured, abstained or errored, with what belongs to it.
  outcome TEXT NOT NULL,
  PRIMARY KEY (attempt, binding)
) STRICT, WITHOUT ROWID;

CREATE TABLE findings (
  run TEXT NOT NULL,
  attempt TEXT NOT NULL,
  binding TEXT NOT NULL,
  -- COMMENT The place among the binding's findings, from 0.
  finding_index INTEGER NOT NULL,
  -- COMMENT Canonical JSON: severity, category, message, evidence.
  finding TEXT NOT NULL,
  CONSTRAINT findings_are_recorded_once PRIMARY KEY (attempt, binding, finding_index, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE quarantine (
  run TEXT NOT NULL,
  chunk_number INTEGER NOT NULL,
  case_number INTEGER NOT NULL,
  repeat INTEGER NOT NULL,
  -- COMMENT The attempt whose end nobody knows.
  attempt TEXT NOT NULL,
  reason TEXT NOT NULL,
  status TEXT NOT NULL,
  -- COMMENT Since when, ms since the epoch.
  since_at INTEGER NOT NULL,
  PRIMARY KEY (run, case_number, repeat, attempt)
) STRICT, WITHOUT ROWID;
