-- Roles, organizations, people, signing keys.
-- Three roles share the work (docs/adr/0005): pulsegate_owner owns and migrates, pulsegate_api sees one tenant through
-- policies, pulsegate_system (gateway, worker) sees all through a policy of its own and owns the heartbeat tables, because
-- COPY is refused for a role under row security. No role needs BYPASSRLS, so a managed PostgreSQL will do.
-- Roles belong to the whole server, so another database of it may have made them already, even at this very moment.
-- A login that can neither make nor grant them needs them made and granted once by an administrator.
do $$
declare
  name text;
  -- Since PostgreSQL 16 a member may have been given a role without the right to take it.
  needed text := case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
  remedy text := '';
begin
  foreach name in array array['pulsegate_owner', 'pulsegate_api', 'pulsegate_system'] loop
    begin
      if to_regrole(name) is null then
        execute format('create role %I nologin', name);
      end if;
    exception when duplicate_object or unique_violation or insufficient_privilege then
      null;
    end;
    if to_regrole(name) is null then
      remedy := remedy || format('create role %I nologin; grant %I to %I; ', name, name, current_user);
      continue;
    end if;
    begin
      if not pg_has_role(current_user, name, needed) then
        execute format('grant %I to %I', name, current_user);
      end if;
    exception when unique_violation or invalid_grant_operation or insufficient_privilege then
      null;
    end;
    if not pg_has_role(current_user, name, needed) then
      remedy := remedy || format('grant %I to %I; ', name, current_user);
    end if;
  end loop;
  if remedy <> '' then
    raise exception using errcode = 'insufficient_privilege', message = format(
      'the login %I may not make or grant the roles of Pulsegate. An administrator of the server has to run once: %s',
      current_user, rtrim(remedy));
  end if;
end
$$;

grant usage on schema public to pulsegate_owner, pulsegate_api, pulsegate_system;
grant create on schema public to pulsegate_owner, pulsegate_system;
grant select on pgmigrations to pulsegate_owner, pulsegate_api, pulsegate_system;

set local role pulsegate_owner;

-- The tenant of the running transaction, or null: then every policy below is false. After a transaction that set it the
-- setting is '' and not null, hence nullif.
create function current_organization_id() returns uuid
  language sql stable
  as $$ select nullif(current_setting('app.organization_id', true), '')::uuid $$;

create table organizations (
  id uuid primary key,
  name text not null,
  plan text not null,
  suspended_at timestamptz,
  created_at timestamptz not null default now()
);
alter table organizations enable row level security;
alter table organizations force row level security;
create policy tenant on organizations to pulsegate_api
  using (id = current_organization_id()) with check (id = current_organization_id());
create policy system on organizations to pulsegate_system using (true) with check (true);
-- Plan and suspension belong to the operator.
grant select, insert (id, name, plan), update (name) on organizations to pulsegate_api;
grant select, insert, update, delete on organizations to pulsegate_system;

-- A person; may belong to several organizations, so visible wherever a membership says so.
create table users (
  id uuid primary key,
  email text not null unique,
  name text not null,
  password_hash text,
  created_at timestamptz not null default now()
);

create table memberships (
  organization_id uuid not null references organizations (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index memberships_user_id on memberships (user_id);
alter table memberships enable row level security;
alter table memberships force row level security;
create policy tenant on memberships to pulsegate_api
  using (organization_id = current_organization_id()) with check (organization_id = current_organization_id());
create policy system on memberships to pulsegate_system using (true) with check (true);
grant select, insert, update (role), delete on memberships to pulsegate_api;
grant select, insert, update, delete on memberships to pulsegate_system;

alter table users enable row level security;
alter table users force row level security;
create policy tenant on users for select to pulsegate_api
  using (exists (select from memberships where user_id = users.id and organization_id = current_organization_id()));
create policy tenant_insert on users for insert to pulsegate_api with check (true);
create policy system on users to pulsegate_system using (true) with check (true);
grant select (id, email, name, created_at), insert (id, email, name, password_hash) on users to pulsegate_api;
grant select, insert, update, delete on users to pulsegate_system;

-- Keys that sign JWTs. They belong to the installation, not to a tenant; the private part is encrypted at rest.
create table signing_keys (
  kid text primary key,
  state text not null check (state in ('next', 'active', 'retiring')),
  public_jwk jsonb not null,
  private_sealed bytea not null,
  created_at timestamptz not null default now()
);
create unique index signing_keys_one_active on signing_keys (state) where state = 'active';
grant select, insert on signing_keys to pulsegate_api;

-- Look-ups that come before a tenant is known. They run as pulsegate_system with a fixed search_path.
set local role pulsegate_system;

create function find_user_by_email(wanted text)
  returns table (id uuid, name text, email text, password_hash text)
  language sql stable security definer set search_path = public, pg_temp
  as $$ select u.id, u.name, u.email, u.password_hash from users u where u.email = wanted $$;

create function find_memberships(wanted uuid)
  returns table (organization_id uuid, organization_name text, plan text, role text, suspended boolean)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select o.id, o.name, o.plan, m.role, o.suspended_at is not null
    from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = wanted
    order by m.created_at, o.id
  $$;

-- A membership makes a person visible to the organization, so nobody is drawn into one by whoever speaks for it alone:
-- the API's role makes members only of people who belong nowhere yet. Who joins a second organization (an invitation, one
-- of their own) needs a function that runs with more rights and looks at what permits it.
create function has_membership(wanted uuid) returns boolean
  language sql stable security definer set search_path = public, pg_temp
  as $$ select exists (select from memberships where user_id = wanted) $$;

revoke all on function find_user_by_email(text), find_memberships(uuid), has_membership(uuid) from public;
grant execute on function find_user_by_email(text), find_memberships(uuid), has_membership(uuid) to pulsegate_api;

set local role pulsegate_owner;

create policy newcomers on memberships as restrictive for insert to pulsegate_api with check (not has_membership(user_id));

reset role;
