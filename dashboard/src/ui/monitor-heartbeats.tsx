import { Stack, Table, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api.ts'
import { AsyncView } from './async-view.tsx'
import { exactOf, latencyOf } from './format.ts'
import type { Heartbeat } from './history-query.ts'
import { Pager } from './pager.tsx'
import { RelativeTime } from './relative-time.tsx'
import { StateBadge } from './state-badge.tsx'

const PAGE = 25

/** The other things that a heartbeat says, `start` and `log`, are no state. */
function isState(status: Heartbeat['status']) {
  return status === 'up' || status === 'down' || status === 'degraded'
}

function Rows({ rows }: { rows: readonly Heartbeat[] }) {
  if (rows.length === 0) return <Text c="dimmed">No heartbeat yet.</Text>
  return (
    <Table.ScrollContainer
      minWidth={420}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': 'Heartbeats' } }}
    >
      <Table striped verticalSpacing={5} style={{ fontVariantNumeric: 'tabular-nums' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th>Latency</Table.Th>
            <Table.Th>Message</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={`${row.timestamp} ${row.source}`}>
              <Table.Td>
                <RelativeTime at={row.timestamp} />
                <Text span size="sm" c="dimmed" ml="sm" visibleFrom="md">
                  {exactOf(row.timestamp)}
                </Text>
              </Table.Td>
              <Table.Td>{isState(row.status) ? <StateBadge state={row.status} /> : row.status}</Table.Td>
              <Table.Td>{latencyOf(row.latency)}</Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{row.message ?? ''}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

/** Single heartbeats, page by page, the newest first. */
export function MonitorHeartbeats({ monitorId }: { monitorId: string }) {
  // Cursors of the pages up to the one that is shown.
  const [cursors, setCursors] = useState<string[]>([])
  const cursor = cursors.at(-1)
  const query = useQuery({
    queryKey: ['monitors', monitorId, 'heartbeats', cursor ?? 'newest'],
    queryFn: async ({ signal }) => {
      const page = await call('GET /api/heartbeats', { query: { monitorId, limit: PAGE, cursor } }, signal)
      // Single ones are what is answered when no resolution is asked for.
      return { ...page, data: page.data as Heartbeat[] }
    },
    refetchInterval: cursor === undefined ? 5000 : false,
    placeholderData: keepPreviousData
  })
  return (
    <Stack>
      <Title order={2} size="h4">
        Heartbeats
      </Title>
      <AsyncView query={query}>
        {({ data, nextCursor }) => (
          <>
            <Rows rows={data} />
            <Pager cursors={cursors} nextCursor={nextCursor} isWaiting={query.isPlaceholderData} onTurn={setCursors} />
          </>
        )}
      </AsyncView>
    </Stack>
  )
}
