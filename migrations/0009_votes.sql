-- Monitors that several agents watch: how many of them have to say that it is down.
set local role pulsegate_owner;

alter table monitors add column quorum text not null default 'any'
  check (quorum ~ '^(any|majority|all|count:([1-9]|[1-4][0-9]|50))$');

-- What every other agent than that of the newest heartbeat last said over its socket (shared/vote.ts); observed is what that
-- one said. Who left the vote is missing here, and then is not last_source_id either.
alter table monitor_states add column other_votes jsonb not null default '{}';

reset role;
