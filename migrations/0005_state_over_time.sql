-- Silence: schedules, deadlines, confirmations, runs, and what the sweep has to know.
set local role pulsegate_owner;

-- schedule: five cron fields, read in timezone; interval_seconds is then the shortest gap between its slots.
alter table monitors
  add column schedule text,
  add column timezone text,
  add column confirmations smallint not null default 1 check (confirmations between 1 and 20),
  add column recoveries smallint not null default 1 check (recoveries between 1 and 20),
  add column max_runtime_seconds integer check (max_runtime_seconds > 0),
  add check ((schedule is null) = (timezone is null));

-- observed: what the newest live heartbeat said, whether or not it is confirmed yet.
-- streak, streak_since: how many heartbeats in a row contradict the state, and the time of the first of them.
-- last_received_at: when the newest live heartbeat reached the edge; silence is counted from here.
-- by_socket: did it come over a socket? Null before the first.
-- running: a run that began has not ended, so every heartbeat has to be folded.
-- counted_from: silence is not counted from before this (a resume, a changed timing).
-- check_at: the sweep looks at the monitor from here on; never later than its deadline, and never touched by a heartbeat
-- that goes on saying the same: an index on a column that every heartbeat changes would double what the update costs.
-- also_missed_at: a deadline that passed while the monitor was down for another reason; void when older than last_received_at.
alter table monitor_states
  add column observed monitor_state,
  add column streak smallint not null default 0,
  add column streak_since timestamptz,
  add column last_received_at timestamptz,
  add column by_socket boolean,
  add column running boolean not null default false,
  add column counted_from timestamptz,
  add column check_at timestamptz,
  add column also_missed_at timestamptz;
-- steady: what a heartbeat has to say, and by which way it has to come, to change nothing but times (steadyCode in
-- shared/store/monitor-states.ts); null while anything else is needed. Computed anew only when one of its columns changes.
alter table monitor_states add column steady smallint generated always as (
  case when state = observed and streak = 0 and not running then
    (case state when 'up' then 0 when 'down' then 2 when 'degraded' then 4 end) + (case when by_socket then 1 else 0 end)
  end) stored;
-- Deadlines follow from the columns above; a stored one would have to be written by every heartbeat.
comment on column monitor_states.expected_at is 'not used since 0005';
comment on column monitor_states.deadline_at is 'not used since 0005';

-- Who was heard of before starts with a whole interval and grace from now.
update monitor_states s
set observed = case when s.state in ('up', 'down', 'degraded') then s.state end,
  last_received_at = s.last_heartbeat_at,
  counted_from = date_trunc('second', now()),
  check_at = case when s.state <> 'paused' then date_trunc('second', now()) + (m.interval_seconds + m.grace_seconds) * interval '1 second' end
from monitors m
where m.key = s.monitor_key and s.last_heartbeat_at is not null;

create index monitor_states_check_at on monitor_states (check_at) where check_at is not null;

-- Runs of jobs that say when they begin, by the id that the job gave to the run ('' for none). Open while started_at is
-- newer than ended_at. Both only ever grow, so neither order nor redelivery matters.
create table monitor_runs (
  monitor_key bigint not null,
  rid text not null,
  organization_id uuid not null,
  started_at timestamptz,
  ended_at timestamptz,
  hung_at timestamptz,
  primary key (monitor_key, rid),
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade
);
alter table monitor_runs enable row level security;
alter table monitor_runs force row level security;
create policy tenant on monitor_runs to pulsegate_api
  using (organization_id = current_organization_id()) with check (organization_id = current_organization_id());
create policy system on monitor_runs to pulsegate_system using (true) with check (true);
grant select, delete on monitor_runs to pulsegate_api;
grant select, insert, update, delete on monitor_runs to pulsegate_system;

-- Spans in which no heartbeat could get in through any door of ours. They belong to the installation.
create table ingest_outages (
  began_at timestamptz primary key,
  ended_at timestamptz,
  -- When the span was painted as unknown into the transitions of the monitors that it blinded.
  painted_at timestamptz,
  check (ended_at > began_at)
);
create unique index ingest_outages_one_open on ingest_outages ((true)) where ended_at is null;
grant select on ingest_outages to pulsegate_api;
grant select, insert, update, delete on ingest_outages to pulsegate_system;

-- One row: when a sweep last saw that heartbeats can get in.
create table sweep_state (
  only_row boolean primary key default true check (only_row),
  available_at timestamptz not null,
  -- How far deadlines have been judged.
  watermark_at timestamptz
);
grant select on sweep_state to pulsegate_api;
grant select, insert, update on sweep_state to pulsegate_system;

-- Pausing and resuming are changes of state by a person.
grant insert on transitions to pulsegate_api;

reset role;
