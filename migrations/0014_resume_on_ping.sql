set local role pulsegate_owner;

-- Does a heartbeat that does not say down resume the monitor while it is paused?
alter table monitors add column resume_on_ping boolean not null default false;

reset role;
