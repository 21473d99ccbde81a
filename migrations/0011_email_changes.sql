set local role pulsegate_owner;

-- A new address that waits until its mailbox is shown to be the person's; the next one takes its place.
create table email_changes (
  user_id uuid primary key references users (id) on delete cascade,
  email text not null,
  digest bytea not null unique,
  pepper_version smallint not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
alter table email_changes enable row level security;
alter table email_changes force row level security;
create policy self on email_changes to pulsegate_api
  using (user_id = current_user_id()) with check (user_id = current_user_id());
create policy system on email_changes to pulsegate_system using (true) with check (true);
grant select, insert, update, delete on email_changes to pulsegate_api, pulsegate_system;
grant update (email) on users to pulsegate_api;

set local role pulsegate_system;

create function find_email_change(wanted bytea) returns table (user_id uuid, email text, expires_at timestamptz)
  language sql stable security definer set search_path = public, pg_temp
  as $$ select c.user_id, c.email, c.expires_at from email_changes c where c.digest = wanted $$;
revoke all on function find_email_change(bytea) from public;
grant execute on function find_email_change(bytea) to pulsegate_api;

reset role;
