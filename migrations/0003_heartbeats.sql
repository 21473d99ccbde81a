-- History. pulsegate_system owns the heartbeats and makes and drops their days; for the API's role the policy of the parent
-- table applies (leaf partitions inherit neither policy nor grant, so it cannot read them around it).
set local role pulsegate_system;

-- One identity: (monitor, source, timestamp). status and latency ride in the index, so that a monitor's history is read
-- from the index alone. status: shared/store/heartbeats.ts.
create table heartbeats (
  monitor_key bigint not null,
  "timestamp" timestamptz not null,
  latency double precision,
  received_at timestamptz not null,
  source_id uuid not null,
  organization_id uuid not null,
  status smallint not null,
  message text,
  primary key (monitor_key, "timestamp", source_id) include (status, latency)
) partition by range ("timestamp");
alter table heartbeats enable row level security;
create policy tenant on heartbeats for select to pulsegate_api using (organization_id = current_organization_id());
grant select on heartbeats to pulsegate_api;

set local role pulsegate_owner;

-- A state change, written in the transaction that changed the state.
create table transitions (
  id bigint generated always as identity primary key,
  monitor_key bigint not null,
  organization_id uuid not null,
  from_state monitor_state not null,
  to_state monitor_state not null,
  at timestamptz not null,
  reason text not null,
  created_at timestamptz not null default now(),
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade
);
create index transitions_monitor_key on transitions (monitor_key, at desc, id desc);
alter table transitions enable row level security;
alter table transitions force row level security;
create policy tenant on transitions to pulsegate_api
  using (organization_id = current_organization_id()) with check (organization_id = current_organization_id());
create policy system on transitions to pulsegate_system using (true) with check (true);
grant select on transitions to pulsegate_api;
grant select, insert on transitions to pulsegate_system;

reset role;
