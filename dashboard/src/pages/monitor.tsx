import { Anchor, Button, Card, Group, SegmentedControl, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { type Answer, call } from '../api.ts'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { latencyOf } from '../ui/format.ts'
import { HeartbeatBar } from '../ui/heartbeat-bar.tsx'
import { LatencyPlot } from '../ui/latency-plot.tsx'
import { MonitorDialog } from '../ui/monitor-dialog.tsx'
import { Page } from '../ui/page.tsx'
import { PushSnippets } from '../ui/push-snippets.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { slicesOf } from '../ui/slices.ts'
import { StateBadge } from '../ui/state-badge.tsx'

type Monitor = Answer<'GET /v1/monitors/{id}'>
type Row = Extract<Answer<'GET /api/heartbeats'>['data'][number], { status: string }>

const HOUR_MS = 3_600_000
const WINDOWS = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS } as const
type Window = keyof typeof WINDOWS
const SLICES = 60

function useHistory(monitorId: string, window: Window) {
  return useQuery({
    queryKey: ['monitors', monitorId, 'history', window],
    queryFn: async ({ signal }) => {
      const to = Date.now()
      const from = new Date(to - WINDOWS[window]).toISOString()
      const page = await call(
        'GET /api/heartbeats',
        { query: { monitorId, from, limit: 1000, resolution: 'raw' } },
        signal
      )
      // Asked for raw ones, so all are.
      return { ...page, data: page.data as Row[], from: Date.parse(from), to }
    },
    refetchInterval: 5000
  })
}

function Heartbeats({ rows }: { rows: Row[] }) {
  if (rows.length === 0) return <Text c="dimmed">No heartbeat in this window.</Text>
  return (
    <Table.ScrollContainer minWidth={420}>
      <Table striped>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th>Latency</Table.Th>
            <Table.Th>Message</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.slice(0, 50).map((row) => (
            <Table.Tr key={`${row.timestamp} ${row.source}`}>
              <Table.Td>
                <RelativeTime at={row.timestamp} />
              </Table.Td>
              <Table.Td>{row.status}</Table.Td>
              <Table.Td>{latencyOf(row.latency)}</Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{row.message ?? ''}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function History({ monitor }: { monitor: Monitor }) {
  const [search, setSearch] = useSearchParams()
  const wanted = search.get('window') ?? '1h'
  const window: Window = wanted in WINDOWS ? (wanted as Window) : '1h'
  const query = useHistory(monitor.id, window)
  const shown = useMemo(() => {
    const { data = [], from = 0, to = 1 } = query.data ?? {}
    const oldestFirst = data.toReversed()
    return {
      slices: slicesOf(data, from, to, SLICES),
      points: {
        times: oldestFirst.map((row) => Date.parse(row.timestamp) / 1000),
        latencies: oldestFirst.map((row) => row.latency)
      }
    }
  }, [query.data])
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
          data={Object.keys(WINDOWS)}
        />
      </Group>
      <AsyncView query={query}>
        {({ data, nextCursor }) => (
          <>
            <HeartbeatBar slices={shown.slices} label={`Heartbeats of the last ${window}: ${data.length}`} />
            <LatencyPlot points={shown.points} label={`Latency of the last ${window}`} />
            {nextCursor === null ? null : <Text size="sm">The newest 1,000 heartbeats of the window are drawn.</Text>}
            <Heartbeats rows={data} />
          </>
        )}
      </AsyncView>
    </Stack>
  )
}

function Transitions({ monitorId }: { monitorId: string }) {
  const query = useQuery({
    queryKey: ['monitors', monitorId, 'transitions'],
    queryFn: ({ signal }) =>
      call('GET /v1/monitors/{id}/transitions', { params: { id: monitorId }, query: { limit: 20 } }, signal),
    refetchInterval: 10_000
  })
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        State changes
      </Title>
      <AsyncView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">None yet.</Text>
          ) : (
            <Stack component="ul" gap={4} className="plain-list">
              {data.map(({ from, to, at, reason }) => (
                <Group component="li" key={at + to} gap="xs">
                  <StateBadge state={to} />
                  <Text size="sm">
                    from {from}, <RelativeTime at={at} /> ({reason.replaceAll('_', ' ')})
                  </Text>
                </Group>
              ))}
            </Stack>
          )
        }
      </AsyncView>
    </Stack>
  )
}

function Actions({ monitor }: { monitor: Monitor }) {
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const [changing, setChanging] = useState(false)
  return (
    <>
      <Button variant="default" onClick={() => setChanging(true)}>
        Change
      </Button>
      <Confirm
        title={`Delete ${monitor.name}?`}
        action="Delete"
        work={async () => {
          await call('DELETE /v1/monitors/{id}', { params: { id: monitor.id } })
          navigate('/')
          await queries.invalidateQueries({ queryKey: ['monitors'] })
        }}
        trigger={(open) => (
          <Button variant="light" color="red" onClick={open}>
            Delete
          </Button>
        )}
      >
        It is no longer watched, and its history can no longer be read. This cannot be undone.
      </Confirm>
      {changing ? <MonitorDialog monitor={monitor} onClose={() => setChanging(false)} /> : null}
    </>
  )
}

export function MonitorPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['monitors', id],
    queryFn: ({ signal }) => call('GET /v1/monitors/{id}', { params: { id } }, signal),
    refetchInterval: 5000
  })
  return (
    <AsyncView query={query}>
      {(monitor) => (
        <Page
          title={monitor.name}
          lead={
            <Group gap="xs">
              <StateBadge state={monitor.state} size="lg" />
              <span style={{ minWidth: 0 }}>
                since <RelativeTime at={monitor.stateSince} /> ({monitor.stateReason.replaceAll('_', ' ')}) · last
                heartbeat <RelativeTime at={monitor.lastHeartbeatAt} />
              </span>
            </Group>
          }
          actions={<Actions monitor={monitor} />}
        >
          <Anchor component={Link} href="/" size="sm">
            ← All monitors
          </Anchor>
          {monitor.pushUrl === undefined ? null : (
            <Card withBorder>
              <Stack gap="xs">
                <Title order={2} size="h4">
                  Push URL
                </Title>
                <Text size="sm" c="dimmed">
                  Whoever has it may report. A heartbeat is expected every {monitor.intervalSeconds} s.
                </Text>
                <PushSnippets pushUrl={monitor.pushUrl} />
              </Stack>
            </Card>
          )}
          <Card withBorder>
            <History monitor={monitor} />
          </Card>
          <Card withBorder>
            <Transitions monitorId={monitor.id} />
          </Card>
        </Page>
      )}
    </AsyncView>
  )
}
