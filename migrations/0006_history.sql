-- History over years: rollups of heartbeats, the last heartbeat of a monitor that outlives its days, and what an
-- organization was promised by the plan before this one.
set local role pulsegate_owner;

-- previous_retention: days by layer (null: for ever) that are kept until plan_changed_at + 14 days (shared/plans.ts).
alter table organizations add column plan_changed_at timestamptz, add column previous_retention jsonb;

-- Heartbeats of one monitor in one bucket (UTC). Latency is that of up and degraded alone; latency_slots and latency_counts
-- are its histogram in logarithmic slots (shared/latency-slots.ts). Seconds by state are not here: they are worked out from
-- the transitions, which are kept as long as the longest layer, so a repainted past needs no second pass.
do $$
declare
  name text;
begin
  foreach name in array array['rollups_5m', 'rollups_1h', 'rollups_1d'] loop
    execute format('create table %I (
      monitor_key bigint not null,
      at timestamptz not null,
      organization_id uuid not null,
      up integer not null,
      down integer not null,
      degraded integer not null,
      started integer not null,
      logged integer not null,
      latency_n integer not null,
      latency_sum double precision,
      latency_min double precision,
      latency_max double precision,
      latency_slots smallint[] not null,
      latency_counts integer[] not null,
      primary key (monitor_key, at)
    )', name);
  end loop;
end
$$;

-- The heartbeat that is left of a monitor when the day that held its newest one is dropped. status: as in heartbeats.
create table last_heartbeats (
  monitor_key bigint primary key,
  organization_id uuid not null,
  "timestamp" timestamptz not null,
  latency double precision,
  received_at timestamptz not null,
  source_id uuid not null,
  status smallint not null,
  message text,
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade
);

do $$
declare
  name text;
begin
  foreach name in array array['rollups_5m', 'rollups_1h', 'rollups_1d', 'last_heartbeats'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy tenant on %I for select to pulsegate_api
      using (organization_id = current_organization_id())', name);
    execute format('create policy system on %I to pulsegate_system using (true) with check (true)', name);
    execute format('grant select on %I to pulsegate_api', name);
    execute format('grant select, insert, update, delete on %I to pulsegate_system', name);
  end loop;
end
$$;

-- How far the rollups are. Heartbeats before closed_until that are written from now on leave a row in rollup_dirty; the
-- buckets before rolled_until are in the tables above. Between the two: writers that began before the closing (worker/rollup.ts).
create table rollup_state (
  single boolean primary key default true check (single),
  closed_until timestamptz not null,
  rolled_until timestamptz not null,
  retained_at timestamptz not null default '-infinity'
);
grant select on rollup_state to pulsegate_api;
grant select, insert, update on rollup_state to pulsegate_system;

-- Spans to be rolled up again because a heartbeat came late. Only ever appended and taken away, so writers never meet.
create table rollup_dirty (
  id bigint generated always as identity primary key,
  monitor_key bigint not null,
  from_at timestamptz not null,
  to_at timestamptz not null
);
grant select, insert, delete on rollup_dirty to pulsegate_system;

grant delete on transitions to pulsegate_system;

set local role pulsegate_system;

-- What is there already is rolled up by the first rounds of a worker.
insert into rollup_state (closed_until, rolled_until)
  select start, start
  from (select date_bin('24 hours', coalesce(min("timestamp"), now()), '1970-01-01 00:00Z') as start from heartbeats) oldest;

reset role;
