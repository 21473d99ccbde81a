-- Rolling up a bucket of every monitor in one transaction kept PostgreSQL from reusing the room of updated monitor states
-- for as long as it took. Now a pass goes through the monitors in small transactions, and only through those that said
-- something.
set local role pulsegate_owner;

-- Timestamp of the newest record (start, log, back-fill) that is newer than last_heartbeat_at was then; nearly always null.
-- A monitor has rows of a bucket only if this or last_heartbeat_at is not older than the bucket. What is there already may
-- have such rows.
alter table monitor_states add column last_record_at timestamptz default now();
alter table monitor_states alter column last_record_at drop default;

-- The pass under way: buckets from rolled_until to rolling_until (null: none), of monitors up to rolling_key done.
alter table rollup_state add column rolling_until timestamptz, add column rolling_key bigint not null default 0;

reset role;
