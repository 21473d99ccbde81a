-- People over time: sessions, invitations, single sign-on, who did what.
set local role pulsegate_owner;

-- The person of the running transaction, or null: rows that belong to a person and not to a tenant.
create function current_user_id() returns uuid
  language sql stable
  as $$ select nullif(current_setting('app.user_id', true), '')::uuid $$;

alter table organizations add column sso_required boolean not null default false;
grant update (sso_required), delete on organizations to pulsegate_api;

create policy self on users to pulsegate_api using (id = current_user_id()) with check (id = current_user_id());
grant update (name, password_hash) on users to pulsegate_api;

-- A sign-in in one organization, by cookie and by refresh tokens alike. Who leaves the organization loses it.
-- authenticated_at: when the person last proved to be who they are.
create table sessions (
  id uuid primary key,
  user_id uuid not null,
  organization_id uuid not null,
  cookie_digest bytea not null unique,
  pepper_version smallint not null,
  method text not null check (method in ('password', 'entra', 'google')),
  authenticated_at timestamptz not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  user_agent text,
  address text,
  foreign key (organization_id, user_id) references memberships (organization_id, user_id) on delete cascade
);
create index sessions_user_id on sessions (user_id);
create index sessions_membership on sessions (organization_id, user_id);

-- A chain: each is used once and then replaced. One that comes twice ends its session.
create table refresh_tokens (
  digest bytea primary key,
  pepper_version smallint not null,
  session_id uuid not null references sessions (id) on delete cascade,
  created_at timestamptz not null default now(),
  used_at timestamptz
);
create index refresh_tokens_session_id on refresh_tokens (session_id);

create table password_resets (
  digest bytea primary key,
  pepper_version smallint not null,
  user_id uuid not null references users (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index password_resets_user_id on password_resets (user_id);

-- A person at an identity provider. tenant: Entra's tid, Google's hd; subject: oid, sub. Never looked up by e-mail.
create table identities (
  provider text not null check (provider in ('entra', 'google')),
  tenant text not null,
  subject text not null,
  user_id uuid not null references users (id) on delete cascade,
  email text,
  created_at timestamptz not null default now(),
  primary key (provider, tenant, subject)
);
create index identities_user_id on identities (user_id);

alter table sessions enable row level security;
alter table sessions force row level security;
-- In an organization's transaction its admins may end the sessions of those whom they remove.
create policy tenant on sessions to pulsegate_api
  using (user_id = current_user_id() or organization_id = current_organization_id())
  with check (user_id = current_user_id() or organization_id = current_organization_id());
alter table refresh_tokens enable row level security;
alter table refresh_tokens force row level security;
create policy self on refresh_tokens to pulsegate_api
  using (exists (select from sessions s where s.id = session_id and s.user_id = current_user_id()))
  with check (exists (select from sessions s where s.id = session_id and s.user_id = current_user_id()));
do $$
declare
  name text;
begin
  foreach name in array array['password_resets', 'identities'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy self on %I to pulsegate_api using (user_id = current_user_id())
      with check (user_id = current_user_id())', name);
  end loop;
  foreach name in array array['sessions', 'refresh_tokens', 'password_resets', 'identities'] loop
    execute format('create policy system on %I to pulsegate_system using (true) with check (true)', name);
    execute format('grant select, insert, update, delete on %I to pulsegate_api, pulsegate_system', name);
  end loop;
end
$$;

create table invitations (
  id uuid primary key,
  organization_id uuid not null references organizations (id) on delete cascade,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member')),
  token_digest bytea not null unique,
  pepper_version smallint not null,
  invited_by uuid references users (id) on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz
);
create unique index invitations_open on invitations (organization_id, email) where accepted_at is null;

-- What an organization binds to a provider. domain: what its people's addresses end in, believed once a DNS TXT record
-- shows proof_token.
create table sso_connections (
  id uuid primary key,
  organization_id uuid not null references organizations (id) on delete cascade,
  provider text not null check (provider in ('entra', 'google')),
  tenant text not null,
  domain text not null,
  proof_token text not null,
  proven_at timestamptz,
  created_at timestamptz not null default now(),
  unique (organization_id, provider, tenant)
);
create index sso_connections_tenant on sso_connections (provider, tenant);

-- Who did what from where; nobody changes it afterwards. actor_name and target_name as they were then.
create table audit_log (
  id uuid primary key,
  organization_id uuid not null references organizations (id) on delete cascade,
  at timestamptz not null default now(),
  actor_kind text not null check (actor_kind in ('user', 'key', 'operator', 'system')),
  actor_id uuid,
  actor_name text,
  action text not null,
  target_kind text,
  target_id text,
  target_name text,
  details jsonb not null default '{}',
  address text,
  request_id uuid
);
create index audit_log_organization_id on audit_log (organization_id, id desc);

do $$
declare
  name text;
begin
  foreach name in array array['invitations', 'sso_connections', 'audit_log'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy tenant on %I to pulsegate_api using (organization_id = current_organization_id())
      with check (organization_id = current_organization_id())', name);
    execute format('create policy system on %I to pulsegate_system using (true) with check (true)', name);
    execute format('grant select, insert on %I to pulsegate_api, pulsegate_system', name);
  end loop;
end
$$;
grant update, delete on invitations, sso_connections to pulsegate_api, pulsegate_system;

-- next: published, signs nothing yet. active: signs. retiring: its tokens are still valid.
alter table signing_keys add column state_since timestamptz not null default now();
create unique index signing_keys_one_next on signing_keys (state) where state = 'next';
grant select, insert, update (state, state_since), delete on signing_keys to pulsegate_api, pulsegate_system;

set local role pulsegate_system;

drop function find_memberships(uuid);

create function find_memberships(wanted uuid)
  returns table (organization_id uuid, organization_name text, plan text, role text, suspended boolean, sso_required boolean)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select o.id, o.name, o.plan, m.role, o.suspended_at is not null, o.sso_required
    from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = wanted
    order by m.created_at, o.id
  $$;

-- Where single sign-on is required, a session that a password opened is none: not even one that was being opened at the
-- moment when it came to be required.
create function find_session(wanted bytea)
  returns table (id uuid, user_id uuid, email text, name text, organization_id uuid, organization_name text, plan text,
    role text, suspended boolean, method text, authenticated_at timestamptz, last_used_at timestamptz, expires_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select s.id, u.id, u.email, u.name, o.id, o.name, o.plan, m.role, o.suspended_at is not null, s.method,
      s.authenticated_at, s.last_used_at, s.expires_at
    from sessions s
      join users u on u.id = s.user_id
      join organizations o on o.id = s.organization_id
      join memberships m on m.organization_id = s.organization_id and m.user_id = s.user_id
    where s.cookie_digest = wanted and s.ended_at is null and not (o.sso_required and s.method = 'password')
  $$;

create function find_refresh_token(wanted bytea)
  returns table (session_id uuid, user_id uuid, organization_id uuid, used_at timestamptz, ended boolean,
    last_used_at timestamptz, expires_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select s.id, s.user_id, s.organization_id, r.used_at, s.ended_at is not null, s.last_used_at, s.expires_at
    from refresh_tokens r
      join sessions s on s.id = r.session_id
      join organizations o on o.id = s.organization_id
    where r.digest = wanted and not (o.sso_required and s.method = 'password')
  $$;

create function find_password_reset(wanted bytea)
  returns table (user_id uuid, expires_at timestamptz, used_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  as $$ select p.user_id, p.expires_at, p.used_at from password_resets p where p.digest = wanted $$;

create function find_invitation(wanted bytea)
  returns table (id uuid, organization_id uuid, organization_name text, plan text, sso_required boolean, email text,
    role text, expires_at timestamptz, accepted_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select i.id, o.id, o.name, o.plan, o.sso_required, i.email, i.role, i.expires_at, i.accepted_at
    from invitations i join organizations o on o.id = i.organization_id
    where i.token_digest = wanted and o.suspended_at is null
  $$;

-- Sets a password only where the stored one is still what was looked at, so that of two changes at once the later one sees
-- that it is late. The API's role may write hashes but not read them.
create function replace_password_hash(person uuid, old_hash text, new_hash text) returns boolean
  language sql security definer set search_path = public, pg_temp
  as $$
    with changed as (update users set password_hash = new_hash where id = person and password_hash = old_hash returning id)
    select exists (select from changed)
  $$;

-- The invitation is what permits a person of other organizations to join this one. True when it was still good; a person
-- who is in already keeps the role.
create function accept_invitation(wanted bytea, joining uuid, at timestamptz) returns boolean
  language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    invited invitations;
  begin
    update invitations set accepted_at = at
      where token_digest = wanted and accepted_at is null and expires_at > at
      returning * into invited;
    if not found then
      return false;
    end if;
    insert into memberships (organization_id, user_id, role) values (invited.organization_id, joining, invited.role)
      on conflict do nothing;
    return true;
  end
  $$;

-- A further organization of a person who belongs to others.
create function found_organization(new_id uuid, new_name text, new_plan text, founder uuid) returns void
  language sql security definer set search_path = public, pg_temp
  as $$
    insert into organizations (id, name, plan) values (new_id, new_name, new_plan);
    insert into memberships (organization_id, user_id, role) values (new_id, founder, 'owner');
  $$;

create function find_identity(wanted_provider text, wanted_tenant text, wanted_subject text) returns uuid
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select user_id from identities
    where provider = wanted_provider and tenant = wanted_tenant and subject = wanted_subject
  $$;

-- Organizations bound to this tenant of a provider whose domain is proven, oldest first.
create function find_sso_connections(wanted_provider text, wanted_tenant text)
  returns table (id uuid, organization_id uuid, organization_name text, plan text, suspended boolean, domain text)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select c.id, o.id, o.name, o.plan, o.suspended_at is not null, c.domain
    from sso_connections c join organizations o on o.id = c.organization_id
    where c.provider = wanted_provider and c.tenant = wanted_tenant and c.proven_at is not null
    order by c.created_at, c.id
  $$;

-- A proven connection is what permits a person of that tenant to join as a member.
create function join_by_sso(connection uuid, joining uuid) returns boolean
  language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    bound sso_connections;
  begin
    select * into bound from sso_connections where id = connection and proven_at is not null;
    if not found then
      return false;
    end if;
    insert into memberships (organization_id, user_id, role) values (bound.organization_id, joining, 'member')
      on conflict do nothing;
    return true;
  end
  $$;

-- What a person did outside of any one organization (a password reset) is told in each of theirs.
create function audit_person(person uuid, entry_ids uuid[], what text, entry_details jsonb, from_address text, request uuid)
  returns void
  language sql security definer set search_path = public, pg_temp
  as $$
    insert into audit_log (id, organization_id, actor_kind, actor_id, actor_name, action, target_kind, target_id, target_name,
      details, address, request_id)
    select entry_ids[m.place], m.organization_id, 'user', u.id, u.email, what, 'user', u.id::text, u.email, entry_details,
      from_address, request
    from (select organization_id, user_id, row_number() over (order by organization_id) as place
          from memberships where user_id = person) m
      join users u on u.id = m.user_id
    where m.place <= cardinality(entry_ids)
  $$;

-- API processes see one tenant at a time, and note the use of many tenants' keys at once.
create function note_api_keys_used(ids uuid[], times timestamptz[]) returns void
  language sql security definer set search_path = public, pg_temp
  as $$
    -- A row that is locked is left out: whoever holds it writes the same, or revokes the key.
    update api_keys k set last_used_at = used.at
    from (
      select one.id, u.at
      from unnest(ids, times) as u (id, at) join api_keys one on one.id = u.id
      where one.last_used_at is null or one.last_used_at < u.at
      for no key update of one skip locked
    ) as used
    where k.id = used.id
  $$;

do $$
declare
  signature text;
begin
  foreach signature in array array[
    'find_memberships(uuid)', 'find_session(bytea)', 'find_refresh_token(bytea)', 'find_password_reset(bytea)',
    'replace_password_hash(uuid, text, text)',
    'find_invitation(bytea)', 'accept_invitation(bytea, uuid, timestamptz)', 'found_organization(uuid, text, text, uuid)',
    'find_identity(text, text, text)', 'find_sso_connections(text, text)', 'join_by_sso(uuid, uuid)',
    'audit_person(uuid, uuid[], text, jsonb, text, uuid)', 'note_api_keys_used(uuid[], timestamptz[])'] loop
    execute format('revoke all on function %s from public', signature);
    execute format('grant execute on function %s to pulsegate_api', signature);
  end loop;
end
$$;

reset role;
