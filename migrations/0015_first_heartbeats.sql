set local role pulsegate_owner;

-- pending: nothing was heard of a monitor for days after it was made. That is told once, so its row stays as long as the
-- monitor.
alter table alert_outbox drop constraint alert_outbox_event_check;
alter table alert_outbox add constraint alert_outbox_event_check
  check (event in ('down', 'degraded', 'unknown', 'agent', 'pending'));
create unique index alert_outbox_one_reminder on alert_outbox (monitor_key) where event = 'pending';

reset role;
