-- What is watched, and who may report it.
-- Foreign keys look past row-level security, so those between tables of organizations compare the organization as well: else
-- whoever speaks for one could tie its rows to another's. They also make a key of its own to organizations needless.
set local role pulsegate_owner;

-- key is the short name that rows and jobs carry; it never leaves the database and the ingest path.
create table monitors (
  key bigint generated always as identity primary key,
  id uuid not null unique,
  organization_id uuid not null references organizations (id) on delete cascade,
  name text not null,
  kind text not null check (kind in ('http', 'tcp', 'dns', 'tls', 'ping', 'command', 'heartbeat', 'push')),
  target text,
  interval_seconds integer not null check (interval_seconds > 0),
  grace_seconds integer not null check (grace_seconds >= 0),
  timeout_seconds integer not null check (timeout_seconds > 0),
  settings jsonb not null default '{}',
  tags text[] not null default '{}',
  created_at timestamptz not null default now(),
  unique (organization_id, key)
);
create index monitors_organization_id on monitors (organization_id, id);

create type monitor_state as enum ('pending', 'up', 'down', 'degraded', 'unknown', 'paused');

-- What changes with every heartbeat, apart from the configuration and narrow: this is the row that the worker locks.
-- expected_at and deadline_at are the place of the deadlines. last_source_id told the newest live heartbeat; other_sources
-- maps every other active source to the timestamp (epoch ms) of its newest live one (worker/monitor-state.ts).
-- Half of each page stays free so that updates find room beside the row and touch no index.
create table monitor_states (
  monitor_key bigint primary key,
  organization_id uuid not null,
  state monitor_state not null default 'pending',
  state_reason text not null default 'created',
  state_since timestamptz not null default now(),
  last_heartbeat_at timestamptz,
  last_source_id uuid,
  expected_at timestamptz,
  deadline_at timestamptz,
  other_sources jsonb not null default '{}',
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade
) with (fillfactor = 50);

create table agents (
  id uuid primary key,
  organization_id uuid not null references organizations (id) on delete cascade,
  name text not null,
  kind text not null check (kind in ('agent', 'service')),
  scopes text[] not null,
  version text,
  last_seen_at timestamptz,
  created_at timestamptz not null default now(),
  unique (organization_id, id)
);

create table agent_monitors (
  organization_id uuid not null,
  agent_id uuid not null,
  monitor_key bigint not null,
  primary key (agent_id, monitor_key),
  foreign key (organization_id, agent_id) references agents (organization_id, id) on delete cascade,
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade
);
create index agent_monitors_monitor_key on agent_monitors (monitor_key);

-- Only an HMAC of the key is kept, with the version of the pepper that made it.
create table api_keys (
  id uuid primary key,
  organization_id uuid not null,
  agent_id uuid not null,
  digest bytea not null unique,
  pepper_version smallint not null,
  prefix text not null,
  suffix text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  foreign key (organization_id, agent_id) references agents (organization_id, id) on delete cascade
);
create index api_keys_agent_id on api_keys (agent_id);

-- The secret address of a push monitor: looked up by digest, sealed so that the dashboard can show it again.
-- Its id is the source of the heartbeats that come through it.
create table push_urls (
  id uuid primary key,
  organization_id uuid not null,
  monitor_key bigint not null unique,
  token_digest bytea not null unique,
  token_sealed bytea not null,
  pepper_version smallint not null,
  created_at timestamptz not null default now(),
  foreign key (organization_id, monitor_key) references monitors (organization_id, key) on delete cascade
);

do $$
declare
  name text;
begin
  foreach name in array array['monitors', 'monitor_states', 'agents', 'agent_monitors', 'api_keys', 'push_urls'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy tenant on %I to pulsegate_api using (organization_id = current_organization_id())
      with check (organization_id = current_organization_id())', name);
    execute format('create policy system on %I to pulsegate_system using (true) with check (true)', name);
    execute format('grant select, insert, update, delete on %I to pulsegate_api, pulsegate_system', name);
  end loop;
end
$$;

set local role pulsegate_system;

-- One look-up tells everything that the ingest door asks of a key. Revoked keys are simply not found.
create function find_api_key(wanted bytea)
  returns table (key_id uuid, agent_id uuid, kind text, organization_id uuid, plan text, suspended boolean, scopes text[],
    monitor_ids uuid[], monitor_keys bigint[])
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select k.id, a.id, a.kind, o.id, o.plan, o.suspended_at is not null, a.scopes,
      coalesce(array_agg(m.id order by m.key) filter (where m.key is not null), '{}'),
      coalesce(array_agg(m.key order by m.key) filter (where m.key is not null), '{}')
    from api_keys k
      join agents a on a.id = k.agent_id and a.organization_id = k.organization_id
      join organizations o on o.id = k.organization_id
      left join agent_monitors am on am.agent_id = a.id and am.organization_id = a.organization_id
      left join monitors m on m.key = am.monitor_key and m.organization_id = am.organization_id
    where k.digest = wanted and k.revoked_at is null
    group by k.id, a.id, o.id
  $$;

create function find_push_url(wanted bytea)
  returns table (push_url_id uuid, organization_id uuid, plan text, suspended boolean, monitor_id uuid, monitor_key bigint)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select p.id, o.id, o.plan, o.suspended_at is not null, m.id, m.key
    from push_urls p
      join organizations o on o.id = p.organization_id
      join monitors m on m.key = p.monitor_key and m.organization_id = p.organization_id
    where p.token_digest = wanted
  $$;

revoke all on function find_api_key(bytea), find_push_url(bytea) from public;
grant execute on function find_api_key(bytea), find_push_url(bytea) to pulsegate_api;

reset role;
