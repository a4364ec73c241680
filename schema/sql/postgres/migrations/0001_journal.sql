-- The journal: events, and the small tables that are written with them.
-- Instants are milliseconds since the Unix epoch by this database's clock (_at); ids are ULIDs as 26 letters and
-- digits; digests are the 32 bytes of a SHA-256. Words of people that hold a NUL are kept as JSON behind U+E000.

COMMENT ON SCHEMA tribunal IS 'The journal of Tribunal: its events are never changed, its verdicts can be replayed.';
COMMENT ON TABLE schema_versions IS 'Which steps of the schema were applied.';
COMMENT ON COLUMN schema_versions.version IS 'The schema after the step.';
COMMENT ON COLUMN schema_versions.applied_at IS 'When, ms since the epoch.';

CREATE TABLE epochs (
  epoch bigint PRIMARY KEY,
  system_identifier text NOT NULL,
  since_at bigint NOT NULL
);
COMMENT ON TABLE epochs IS 'The clusters this database has lived in: each counts its transactions anew.';
COMMENT ON COLUMN epochs.epoch IS 'The first part of the feed''s order, from 1.';
COMMENT ON COLUMN epochs.system_identifier IS 'The cluster, as pg_control_system says.';
COMMENT ON COLUMN epochs.since_at IS 'Since when, ms since the epoch.';

CREATE TABLE events (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  epoch bigint NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  stream text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  command text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  type_version bigint NOT NULL,
  run text COLLATE "C",
  team text COLLATE "C" NOT NULL,
  payload text COLLATE "C" NOT NULL,
  causation text COLLATE "C",
  recorded_at bigint NOT NULL,
  digest bytea NOT NULL,
  CONSTRAINT stream_versions_are_unique UNIQUE (stream, version),
  CONSTRAINT stream_versions_start_at_one CHECK (version >= 1),
  CONSTRAINT digests_have_32_bytes CHECK (octet_length(digest) = 32)
);
COMMENT ON TABLE events IS 'The journal: append-only.';
COMMENT ON COLUMN events.position IS 'Place in the table; ascending, never given twice. Not the order of commits.';
COMMENT ON COLUMN events.epoch IS 'The cluster it was written in, see epochs.';
COMMENT ON COLUMN events.xid IS 'The transaction that wrote it: the feed''s order within an epoch.';
COMMENT ON COLUMN events.stream IS 'The stream: run-<ulid>, chunk-<run>-<number>, attempt-<ulid>, operator-<ulid>.';
COMMENT ON COLUMN events.category IS 'The word before the first dash of the stream.';
COMMENT ON COLUMN events.version IS 'Place in the stream, from 1, without gaps.';
COMMENT ON COLUMN events.id IS 'Follows from command, stream and place in the unit.';
COMMENT ON COLUMN events.command IS 'The command that caused it.';
COMMENT ON COLUMN events.type IS 'For example chunk.leased.';
COMMENT ON COLUMN events.type_version IS 'The version of the payload''s shape, from 1.';
COMMENT ON COLUMN events.run IS 'The run it is about; NULL when it is about none.';
COMMENT ON COLUMN events.team IS 'The team that owns the run.';
COMMENT ON COLUMN events.payload IS 'Canonical JSON text: sorted keys, integers and strings only.';
COMMENT ON COLUMN events.causation IS 'The id of the event that a policy reacted to; NULL when nobody did.';
COMMENT ON COLUMN events.recorded_at IS 'When its unit was written, ms since the epoch; not digested.';
COMMENT ON COLUMN events.digest IS 'The chain of the stream up to and including this event.';
CREATE INDEX events_by_feed ON events (epoch, xid, position);
CREATE INDEX events_by_run_and_feed ON events (run, epoch, xid, position) WHERE run IS NOT NULL;
CREATE INDEX events_by_run_and_stream ON events (run, stream, version) WHERE run IS NOT NULL;
CREATE TABLE leases (
  run text COLLATE "C" NOT NULL,
  chunk_number bigint NOT NULL,
  term bigint NOT NULL,
  grant_id text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  hard_deadline_at bigint NOT NULL,
  CONSTRAINT chunks_have_one_lease PRIMARY KEY (run, chunk_number),
  CONSTRAINT leases_end_by_their_hard_deadline CHECK (expires_at <= hard_deadline_at)
);
COMMENT ON TABLE leases IS 'Authority over chunks, live or run out; gone when it was ended.';
COMMENT ON COLUMN leases.run IS 'The run.';
COMMENT ON COLUMN leases.chunk_number IS 'The chunk''s number in its run, from 0.';
COMMENT ON COLUMN leases.term IS 'The fencing number, +1 at each grant.';
COMMENT ON COLUMN leases.grant_id IS 'This grant, unique even if a term were given twice.';
COMMENT ON COLUMN leases.holder IS 'The incarnation of the process that holds it.';
COMMENT ON COLUMN leases.expires_at IS 'When it ends without renewal, ms since the epoch; never after the hard deadline.';
COMMENT ON COLUMN leases.hard_deadline_at IS 'When it ends whatever happens, ms since the epoch.';
CREATE INDEX leases_by_holder ON leases (holder);
CREATE INDEX leases_by_expiry ON leases (expires_at);

CREATE TABLE ready (
  run text COLLATE "C" NOT NULL,
  chunk_number bigint NOT NULL,
  ready_seq bigint NOT NULL,
  lane text COLLATE "C" NOT NULL,
  due_at bigint NOT NULL,
  published_at bigint,
  publications bigint NOT NULL DEFAULT 0,
  CONSTRAINT chunks_have_one_ready_row PRIMARY KEY (run, chunk_number)
);
COMMENT ON TABLE ready IS 'Chunks that wait to be claimed: at most one row each.';
COMMENT ON COLUMN ready.run IS 'The run.';
COMMENT ON COLUMN ready.chunk_number IS 'The chunk''s number in its run, from 0.';
COMMENT ON COLUMN ready.ready_seq IS 'What a claim must name.';
COMMENT ON COLUMN ready.lane IS 'The lane that its work waits in.';
COMMENT ON COLUMN ready.due_at IS 'When it may be claimed, ms since the epoch.';
COMMENT ON COLUMN ready.published_at IS 'When its message was last handed to the outbox, ms since the epoch; NULL = not, or to be repeated.';
COMMENT ON COLUMN ready.publications IS 'How often that was done; each time doubles the age at which it is done again.';
CREATE INDEX ready_unpublished ON ready (lane, due_at) WHERE published_at IS NULL;
CREATE INDEX ready_published ON ready (lane) WHERE published_at IS NOT NULL;

CREATE TABLE cursors (
  run text COLLATE "C" PRIMARY KEY
);
COMMENT ON TABLE cursors IS 'Runs whose chunks may be dispatched.';
COMMENT ON COLUMN cursors.run IS 'The run.';

CREATE TABLE desired (
  run text COLLATE "C" PRIMARY KEY,
  desired text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  CONSTRAINT desired_states_are_known CHECK (desired IN ('running', 'paused', 'stopped'))
);
COMMENT ON TABLE desired IS 'What workers should do for a run: running, paused or stopped.';
COMMENT ON COLUMN desired.run IS 'The run.';
COMMENT ON COLUMN desired.desired IS 'running, paused or stopped.';
COMMENT ON COLUMN desired.version IS 'The version of the run''s stream that said so; a lower or equal one changes nothing.';

CREATE TABLE outbox_delivery_queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run text COLLATE "C",
  dedupe_key text COLLATE "C" NOT NULL,
  routing_key text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  claim_token text COLLATE "C",
  available_at bigint NOT NULL,
  CONSTRAINT deeds_are_published_once UNIQUE (dedupe_key)
);
COMMENT ON TABLE outbox_delivery_queue IS 'Messages that must be published; deleted when the broker confirmed them.';
COMMENT ON COLUMN outbox_delivery_queue.id IS 'Also the message id.';
COMMENT ON COLUMN outbox_delivery_queue.run IS 'The run that the message is about; NULL when it is about none.';
COMMENT ON COLUMN outbox_delivery_queue.dedupe_key IS 'The deed that the message is about: while it waits, it is put once.';
COMMENT ON COLUMN outbox_delivery_queue.routing_key IS 'Where to.';
COMMENT ON COLUMN outbox_delivery_queue.body IS 'The body as it is published.';
COMMENT ON COLUMN outbox_delivery_queue.attempts IS 'How often it was claimed.';
COMMENT ON COLUMN outbox_delivery_queue.claim_token IS 'The claim that has it; NULL when none has.';
COMMENT ON COLUMN outbox_delivery_queue.available_at IS 'When it may be claimed, ms since the epoch; a claim moves it into the future.';
CREATE INDEX outbox_by_availability ON outbox_delivery_queue (available_at);

CREATE TABLE settlements (
  run text COLLATE "C" NOT NULL,
  chunk_number bigint NOT NULL,
  version bigint NOT NULL,
  ended_as text COLLATE "C" NOT NULL,
  tally text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  put_at bigint NOT NULL,
  CONSTRAINT chunks_settle_in_one_row PRIMARY KEY (run, chunk_number)
);
COMMENT ON TABLE settlements IS 'Ends of chunks that the control database has not recorded yet.';
COMMENT ON COLUMN settlements.run IS 'The run.';
COMMENT ON COLUMN settlements.chunk_number IS 'The chunk''s number in its run, from 0.';
COMMENT ON COLUMN settlements.version IS 'The version of the chunk''s stream that ended it.';
COMMENT ON COLUMN settlements.ended_as IS 'completed, quarantined, failed or cancelled.';
COMMENT ON COLUMN settlements.tally IS 'What it adds to the run: canonical JSON.';
COMMENT ON COLUMN settlements.digest IS 'The digest of the chunk''s stream at that version: the pin.';
COMMENT ON COLUMN settlements.put_at IS 'When it was put, ms since the epoch.';
CREATE INDEX settlements_by_age ON settlements (put_at, run, chunk_number);

CREATE TABLE intents (
  run text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  put_at bigint NOT NULL,
  CONSTRAINT intents_are_put_once PRIMARY KEY (run, kind)
);
COMMENT ON TABLE intents IS 'Work that recorded events call for: create, cancel or judge a run.';
COMMENT ON COLUMN intents.run IS 'The run.';
COMMENT ON COLUMN intents.kind IS 'create, cancel or judge.';
COMMENT ON COLUMN intents.put_at IS 'When it was put, ms since the epoch.';
CREATE INDEX intents_by_age ON intents (kind, put_at, run);

CREATE TABLE plan_rows (
  run text COLLATE "C" NOT NULL,
  chunk_number bigint NOT NULL,
  seeded text COLLATE "C" NOT NULL,
  CONSTRAINT chunks_are_planned_once PRIMARY KEY (run, chunk_number)
);
COMMENT ON TABLE plan_rows IS 'Chunks still to be seeded.';
COMMENT ON COLUMN plan_rows.run IS 'The run.';
COMMENT ON COLUMN plan_rows.chunk_number IS 'The chunk''s number in its run, from 0.';
COMMENT ON COLUMN plan_rows.seeded IS 'The canonical JSON of the chunk''s chunk.seeded.';

CREATE TABLE blobs (
  digest bytea PRIMARY KEY,
  bytes bytea NOT NULL,
  kept_at bigint NOT NULL
);
COMMENT ON TABLE blobs IS 'Bodies under their digest, each kept once.';
COMMENT ON COLUMN blobs.digest IS 'SHA-256 of the bytes.';
COMMENT ON COLUMN blobs.bytes IS 'The bytes.';
COMMENT ON COLUMN blobs.kept_at IS 'When it was first kept, ms since the epoch.';

CREATE TABLE blob_refs (
  digest bytea NOT NULL,
  run text COLLATE "C" NOT NULL,
  CONSTRAINT runs_refer_to_a_blob_once PRIMARY KEY (digest, run),
  CONSTRAINT referred_blobs_exist FOREIGN KEY (digest) REFERENCES blobs (digest)
);
COMMENT ON TABLE blob_refs IS 'Which run needs which blob: retention takes away what no run needs.';
COMMENT ON COLUMN blob_refs.digest IS 'SHA-256 of the bytes.';
COMMENT ON COLUMN blob_refs.run IS 'The run.';
CREATE INDEX blob_refs_by_run ON blob_refs (run);

CREATE TABLE poison (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  body bytea NOT NULL,
  reason text COLLATE "C" NOT NULL,
  received_at bigint NOT NULL
);
COMMENT ON TABLE poison IS 'Messages that could not be understood.';
COMMENT ON COLUMN poison.id IS 'Its number.';
COMMENT ON COLUMN poison.body IS 'The body as it was received.';
COMMENT ON COLUMN poison.reason IS 'What could not be understood.';
COMMENT ON COLUMN poison.received_at IS 'ms since the epoch.';

CREATE TABLE runs (
  run text COLLATE "C" PRIMARY KEY,
  team text COLLATE "C" NOT NULL,
  profile text COLLATE "C" NOT NULL,
  profile_version text COLLATE "C" NOT NULL,
  dataset text COLLATE "C" NOT NULL,
  plan_digest bytea NOT NULL,
  cases bigint NOT NULL,
  executions bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  reason text COLLATE "C",
  verdict text COLLATE "C",
  score_ppm bigint,
  created_at bigint NOT NULL,
  ended_at bigint
);
COMMENT ON TABLE runs IS 'A view: runs with their verdicts.';
COMMENT ON COLUMN runs.run IS 'The run.';
COMMENT ON COLUMN runs.team IS 'The team that owns the run.';
COMMENT ON COLUMN runs.profile IS 'The name of the profile.';
COMMENT ON COLUMN runs.profile_version IS 'Its version.';
COMMENT ON COLUMN runs.dataset IS 'The name of the dataset.';
COMMENT ON COLUMN runs.plan_digest IS 'Equal for the same profile on the same cases.';
COMMENT ON COLUMN runs.cases IS 'How many cases.';
COMMENT ON COLUMN runs.executions IS 'Cases times repeats.';
COMMENT ON COLUMN runs.status IS 'Where it stands, in a word.';
COMMENT ON COLUMN runs.reason IS 'Why it is paused, halted, cancelled or failed.';
COMMENT ON COLUMN runs.verdict IS 'pass, fail or inconclusive; NULL while there is none.';
COMMENT ON COLUMN runs.score_ppm IS 'The mean score in parts per million, 0..=1000000.';
COMMENT ON COLUMN runs.created_at IS 'ms since the epoch.';
COMMENT ON COLUMN runs.ended_at IS 'ms since the epoch; NULL while it is not over.';
CREATE INDEX runs_by_age ON runs (created_at, run);

CREATE TABLE chunks (
  run text COLLATE "C" NOT NULL,
  chunk_number bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  term bigint NOT NULL,
  recoveries bigint NOT NULL,
  executions bigint NOT NULL,
  passed bigint NOT NULL,
  failed bigint NOT NULL,
  errored bigint NOT NULL,
  abstained bigint NOT NULL,
  PRIMARY KEY (run, chunk_number)
);
COMMENT ON TABLE chunks IS 'A view: chunks with their counts.';
COMMENT ON COLUMN chunks.run IS 'The run.';
COMMENT ON COLUMN chunks.chunk_number IS 'The chunk''s number in its run, from 0.';
COMMENT ON COLUMN chunks.status IS 'Where it stands, in a word.';
COMMENT ON COLUMN chunks.term IS 'The last term granted; 0 before the first.';
COMMENT ON COLUMN chunks.recoveries IS 'How often a lease of it expired.';
COMMENT ON COLUMN chunks.executions IS 'Cases times repeats.';
COMMENT ON COLUMN chunks.passed IS 'Executions that passed.';
COMMENT ON COLUMN chunks.failed IS 'Executions that failed.';
COMMENT ON COLUMN chunks.errored IS 'Executions that errored.';
COMMENT ON COLUMN chunks.abstained IS 'Executions whose evaluators abstained.';

CREATE TABLE executions (
  run text COLLATE "C" NOT NULL,
  case_number bigint NOT NULL,
  repeat bigint NOT NULL,
  attempt text COLLATE "C",
  outcome text COLLATE "C" NOT NULL,
  score_ppm bigint,
  failure text COLLATE "C",
  PRIMARY KEY (run, case_number, repeat)
);
COMMENT ON TABLE executions IS 'A view: one row an execution that has its outcome.';
COMMENT ON COLUMN executions.run IS 'The run.';
COMMENT ON COLUMN executions.case_number IS 'The case''s place in the dataset, from 0.';
COMMENT ON COLUMN executions.repeat IS 'From 0.';
COMMENT ON COLUMN executions.attempt IS 'The attempt that settled it; NULL when none was made.';
COMMENT ON COLUMN executions.outcome IS 'passed, failed, errored or abstained.';
COMMENT ON COLUMN executions.score_ppm IS 'Parts per million, 0..=1000000.';
COMMENT ON COLUMN executions.failure IS 'Why the target gave no answer.';

CREATE TABLE outcomes (
  run text COLLATE "C" NOT NULL,
  attempt text COLLATE "C" NOT NULL,
  binding text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  PRIMARY KEY (attempt, binding)
);
COMMENT ON TABLE outcomes IS 'A view: what each binding said of an answer.';
COMMENT ON COLUMN outcomes.run IS 'The run.';
COMMENT ON COLUMN outcomes.attempt IS 'The attempt.';
COMMENT ON COLUMN outcomes.binding IS 'The binding''s id.';
COMMENT ON COLUMN outcomes.outcome IS 'Canonical JSON: measured, abstained or errored, with what belongs to it.';

CREATE TABLE findings (
  run text COLLATE "C" NOT NULL,
  attempt text COLLATE "C" NOT NULL,
  binding text COLLATE "C" NOT NULL,
  finding_index bigint NOT NULL,
  finding text COLLATE "C" NOT NULL,
  CONSTRAINT findings_are_recorded_once PRIMARY KEY (attempt, binding, finding_index, run)
);
COMMENT ON TABLE findings IS 'A view: observations of evaluators.';
COMMENT ON COLUMN findings.run IS 'The run.';
COMMENT ON COLUMN findings.attempt IS 'The attempt.';
COMMENT ON COLUMN findings.binding IS 'The binding''s id.';
COMMENT ON COLUMN findings.finding_index IS 'The place among the binding''s findings, from 0.';
COMMENT ON COLUMN findings.finding IS 'Canonical JSON: severity, category, message, evidence.';

CREATE TABLE quarantine (
  run text COLLATE "C" NOT NULL,
  chunk_number bigint NOT NULL,
  case_number bigint NOT NULL,
  repeat bigint NOT NULL,
  attempt text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  since_at bigint NOT NULL,
  PRIMARY KEY (run, case_number, repeat, attempt)
);
COMMENT ON TABLE quarantine IS 'A view: executions that wait, or waited, for a person.';
COMMENT ON COLUMN quarantine.run IS 'The run.';
COMMENT ON COLUMN quarantine.chunk_number IS 'The chunk''s number in its run, from 0.';
COMMENT ON COLUMN quarantine.case_number IS 'The case''s place in the dataset, from 0.';
COMMENT ON COLUMN quarantine.repeat IS 'The repeat, from 0.';
COMMENT ON COLUMN quarantine.attempt IS 'The attempt whose end nobody knows.';
COMMENT ON COLUMN quarantine.reason IS 'Why, in words.';
COMMENT ON COLUMN quarantine.status IS 'Where it stands, in a word.';
COMMENT ON COLUMN quarantine.since_at IS 'Since when, ms since the epoch.';


CREATE FUNCTION events_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events_are_append_only: an event is never changed, deleted or replaced';
END
$$;
COMMENT ON FUNCTION events_are_append_only IS 'Refuses whatever would change the past, also for the owner.';
CREATE TRIGGER events_are_append_only_by_row BEFORE UPDATE OR DELETE ON events
FOR EACH ROW EXECUTE FUNCTION events_are_append_only();
CREATE TRIGGER events_are_append_only_by_table BEFORE TRUNCATE ON events
FOR EACH STATEMENT EXECUTE FUNCTION events_are_append_only();
-- Also in a session that replicates.
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only_by_row;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only_by_table;

-- The role that a process should log in with: it may append and read, and nothing else with events. Where the
-- migrating role may not make roles, an administrator can make it beforehand; it is left out otherwise.
DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'tribunal_app') THEN
    CREATE ROLE tribunal_app NOLOGIN;
  END IF;
EXCEPTION
  -- Another database of the cluster makes it at the same moment, or this role may not.
  WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
END
$$;
DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'tribunal_app') THEN
    GRANT USAGE ON SCHEMA tribunal TO tribunal_app;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tribunal TO tribunal_app;
    REVOKE UPDATE, DELETE, TRUNCATE ON events FROM tribunal_app;
    REVOKE INSERT, UPDATE, DELETE ON schema_versions FROM tribunal_app;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA tribunal TO tribunal_app;
  END IF;
END
$$;
