set local role pulsegate_owner;

-- resume_on_ping: a heartbeat that does not say down resumes the monitor while it is paused.
-- agent_is_target: the monitor stands for the machine of its agents, so it is down when none of them is connected any more.
alter table monitors
  add column resume_on_ping boolean not null default false,
  add column agent_is_target boolean not null default false;

reset role;
