import { Anchor, Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { AsyncView } from './async-view.tsx'
import { exactOf, latencyOf, percentOf } from './format.ts'
import { HeartbeatBar } from './heartbeat-bar.tsx'
import { beginOf, type Monitor, useFigures, useShown, WINDOWS, type Window } from './history-query.ts'
import { LatencyPlot } from './latency-plot.tsx'

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <Text component="dt" size="xs" c="dimmed">
        {label}
      </Text>
      <Text component="dd" m={0} fw={600} size="lg" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {value}
      </Text>
    </div>
  )
}

function Figures({ monitor, window }: { monitor: Monitor; window: Window }) {
  const { data } = useFigures(monitor, window)
  const latency = data?.latency ?? null
  const uptime = data?.uptime ?? null
  return (
    <SimpleGrid component="dl" cols={{ base: 2, xs: 4 }} spacing="sm" maw={640} m={0}>
      <Figure label="Uptime" value={uptime === null ? '–' : percentOf(uptime)} />
      <Figure label="Median" value={latencyOf(latency?.p50 ?? null)} />
      <Figure label="95th percentile" value={latencyOf(latency?.p95 ?? null)} />
      <Figure label="99th percentile" value={latencyOf(latency?.p99 ?? null)} />
    </SimpleGrid>
  )
}

/** Addresses of the same window for spreadsheets and programs. */
function Exports({ monitor, window }: { monitor: Monitor; window: Window }) {
  const address = (format: string) => {
    const from = new Date(beginOf(window, monitor, Date.now())).toISOString()
    const { resolution } = WINDOWS[window]
    return `/api/heartbeats?${new URLSearchParams({ monitorId: monitor.id, from, resolution, format })}`
  }
  return (
    <Text size="sm">
      Download this window:{' '}
      <Anchor href={address('csv')} download inherit underline="always">
        CSV
      </Anchor>
      ,{' '}
      <Anchor href={address('ndjson')} download inherit underline="always">
        NDJSON
      </Anchor>
    </Text>
  )
}

const GRAIN = { raw: 'single heartbeats', '5m': '5 minutes', '1h': 'hours', '1d': 'days' } as const

/** What the plan cuts, in words. */
function Kept({ window, retentionFrom, clamped }: { window: Window; retentionFrom: string | null; clamped: boolean }) {
  const grain = GRAIN[WINDOWS[window].resolution]
  const since = retentionFrom === null ? 'for good' : `back to ${exactOf(retentionFrom)}`
  return (
    <Text size="sm" c="dimmed">
      Drawn in {grain}; your plan keeps these {since}.{clamped ? ' What is older in this window is not shown.' : ''}
    </Text>
  )
}

export function MonitorHistory({ monitor }: { monitor: Monitor }) {
  const [search, setSearch] = useSearchParams()
  const wanted = search.get('window') ?? '24h'
  const window: Window = Object.hasOwn(WINDOWS, wanted) ? (wanted as Window) : '24h'
  const query = useShown(monitor, window)
  const names = useMemo(
    () => Object.keys(WINDOWS).map((value) => ({ value, label: value === 'all' ? 'All' : value })),
    []
  )
  const { words } = WINDOWS[window]
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h4">
          History
        </Title>
        <SegmentedControl
          aria-label="Window"
          size="xs"
          value={window}
          onChange={(value) => setSearch({ window: value }, { replace: true })}
          data={names}
        />
      </Group>
      <Figures monitor={monitor} window={window} />
      <AsyncView query={query}>
        {({ points, slices, retentionFrom, clamped }) => (
          <>
            <HeartbeatBar slices={slices} label={`The last ${words}`} from={points.from} to={points.to} height={32} />
            <LatencyPlot points={points} label={`Latency of the last ${words}`} />
            <Stack gap={2}>
              <Text size="sm" c="dimmed">
                Drag over the plot to look closer, double-click to see all of it. Grey: nothing was measured.
              </Text>
              <Kept window={window} retentionFrom={retentionFrom} clamped={clamped} />
            </Stack>
          </>
        )}
      </AsyncView>
      <Exports monitor={monitor} window={window} />
    </Stack>
  )
}
