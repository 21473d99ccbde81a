-- A stored generated column that an update does not touch has its expression read anew for every row (PostgreSQL 18.4:
-- ExecInitGenerated, 42 % of the database's CPU for a heartbeat); the update now says it itself (GOES_ON in
-- shared/store/monitor-states.ts). The other two follow from the rest (shared/schedule/deadline.ts).
set local role pulsegate_owner;

alter table monitor_states drop column steady, drop column expected_at, drop column deadline_at;

reset role;
