-- To tell the percentiles of 2,160 buckets took most of a summary's time while they had to be worked out of the histograms.
set local role pulsegate_owner;

-- The slots of the median and of the 95th and 99th percentile (shared/latency-slots.ts), when the histogram had ranked_n
-- latencies. They hold only while latency_n is the same: rows of before, and those that a worker of the version before
-- writes anew, are read by their histograms.
do $$
declare
  name text;
begin
  foreach name in array array['rollups_5m', 'rollups_1h', 'rollups_1d'] loop
    execute format('alter table %I add column p50_slot smallint, add column p95_slot smallint, add column p99_slot smallint,
      add column ranked_n integer', name);
  end loop;
end
$$;

reset role;
