-- Who is told of what: dependencies between monitors, maintenance, channels, the outbox and what was delivered.
set local role pulsegate_owner;

-- A monitor that is down mutes those that depend on it. There are no circles: who writes here has looked.
create table monitor_parents (
  organization_id uuid not null,
  monitor_key bigint not null,
  parent_key bigint not null,
  primary key (monitor_key, parent_key),
  check (monitor_key <> parent_key),
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade,
  foreign key (organization_id, parent_key) references monitors (organization_id, key) on delete cascade
);
create index monitor_parents_parent_key on monitor_parents (parent_key);
create index monitor_parents_organization_id on monitor_parents (organization_id);

-- Versions of maintenance windows. A change ends the version that stood and begins another with the same id, so that what
-- was maintenance stays so, and nothing becomes maintenance after the fact. Once: starts_at to ends_at. Recurring: at each
-- slot of the schedule in its time zone for so many minutes.
create table maintenance_windows (
  version uuid primary key,
  id uuid not null,
  organization_id uuid not null references organizations (id) on delete cascade,
  title text not null,
  starts_at timestamptz,
  ends_at timestamptz,
  schedule text,
  timezone text,
  duration_minutes integer check (duration_minutes > 0),
  tags text[] not null default '{}',
  created_at timestamptz not null,
  valid_from timestamptz not null,
  valid_to timestamptz,
  unique (organization_id, version),
  check ((starts_at is not null and ends_at > starts_at and schedule is null)
    or (starts_at is null and ends_at is null and schedule is not null and timezone is not null and duration_minutes is not null))
);
create unique index maintenance_windows_id on maintenance_windows (id) where valid_to is null;
create index maintenance_windows_organization_id on maintenance_windows (organization_id, id);

-- The monitors that a version names; with tags it names none.
create table maintenance_monitors (
  organization_id uuid not null,
  version uuid not null,
  monitor_key bigint not null,
  primary key (version, monitor_key),
  foreign key (organization_id, version) references maintenance_windows (organization_id, version) on delete cascade,
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade
);
create index maintenance_monitors_monitor_key on maintenance_monitors (monitor_key);

create table alert_channels (
  id uuid primary key,
  organization_id uuid not null references organizations (id) on delete cascade,
  kind text not null check (kind in ('webhook')),
  name text not null,
  url text not null,
  secret_sealed bytea not null,
  events text[] not null,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  unique (organization_id, id)
);
create index alert_channels_organization_id on alert_channels (organization_id, id);

-- What people should hear of, one row each, written in the transaction of the state change with the decision already made.
-- due: tell it. held: decide again at due_at. muted: a parent is down. dropped: nobody will be told. told: handed to the
-- channels. opens: an outage, a degradation or the loss of an agent begins; of those ended_at says when it was over.
create table alert_outbox (
  id uuid primary key,
  organization_id uuid not null references organizations (id) on delete cascade,
  event text not null check (event in ('down', 'degraded', 'unknown', 'agent')),
  opens boolean not null,
  monitor_key bigint,
  agent_id uuid,
  from_state monitor_state not null,
  to_state monitor_state not null,
  at timestamptz not null,
  reason text not null,
  began_at timestamptz,
  status text not null check (status in ('due', 'held', 'muted', 'dropped', 'told')),
  cause text check (cause in ('maintenance', 'parent_down', 'parent_back', 'recovered', 'never_told', 'settling')),
  due_at timestamptz not null,
  ended_at timestamptz,
  created_at timestamptz not null default now(),
  unique (organization_id, id),
  check ((monitor_key is null) <> (agent_id is null)),
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade,
  foreign key (organization_id, agent_id) references agents (organization_id, id) on delete cascade
);
-- One outage of a monitor and one loss of an agent at a time, whoever sees it first.
create unique index alert_outbox_open_outage on alert_outbox (monitor_key)
  where event = 'down' and opens and ended_at is null;
create unique index alert_outbox_open_loss on alert_outbox (agent_id) where event = 'agent' and opens and ended_at is null;
create index alert_outbox_due on alert_outbox (due_at) where status in ('due', 'held');
create index alert_outbox_muted on alert_outbox (due_at) where status = 'muted' and ended_at is null;
create index alert_outbox_created_at on alert_outbox (created_at);
create index alert_outbox_monitor_key on alert_outbox (monitor_key);
create index alert_outbox_agent_id on alert_outbox (agent_id);

-- One message to one channel, with how it went. Its id is the webhook-id. outbox_id null: a test.
create table alert_deliveries (
  id uuid primary key,
  organization_id uuid not null,
  channel_id uuid not null,
  outbox_id uuid,
  type text not null,
  body text not null,
  status text not null check (status in ('waiting', 'delivered', 'failed')),
  attempts integer not null default 0,
  next_at timestamptz not null,
  last_attempt_at timestamptz,
  status_code integer,
  error text,
  response text,
  created_at timestamptz not null default now(),
  unique (outbox_id, channel_id),
  foreign key (organization_id, channel_id) references alert_channels (organization_id, id) on delete cascade,
  foreign key (organization_id, outbox_id) references alert_outbox (organization_id, id) on delete cascade
);
create index alert_deliveries_waiting on alert_deliveries (next_at) where status = 'waiting';
create index alert_deliveries_channel_id on alert_deliveries (channel_id, id desc);
create index alert_deliveries_created_at on alert_deliveries (created_at);

do $$
declare
  name text;
begin
  foreach name in array array['monitor_parents', 'maintenance_windows', 'maintenance_monitors', 'alert_channels',
    'alert_outbox', 'alert_deliveries'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy tenant on %I to pulsegate_api using (organization_id = current_organization_id())
      with check (organization_id = current_organization_id())', name);
    execute format('create policy system on %I to pulsegate_system using (true) with check (true)', name);
    execute format('grant select, insert, update, delete on %I to pulsegate_api, pulsegate_system', name);
  end loop;
end
$$;

reset role;
