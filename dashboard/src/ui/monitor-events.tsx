import { Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api.ts'
import { AsyncView } from './async-view.tsx'
import { durationOf } from './format.ts'
import { RelativeTime } from './relative-time.tsx'
import { StateBadge } from './state-badge.tsx'

const SHOWN = 20

/** The reasons of changes of state, for people. */
const REASONS: Readonly<Record<string, string>> = {
  created: 'was made',
  reported: 'a heartbeat said so',
  missed: 'no heartbeat came in time',
  hung: 'a run did not end in time',
  agent_offline: 'its agent is not connected',
  platform: 'Pulsegate could not take heartbeats'
}

function inWords(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll('_', ' ')
}

/** The times when it was down. */
export function Incidents({ monitorId }: { monitorId: string }) {
  const query = useQuery({
    queryKey: ['monitors', monitorId, 'incidents'],
    queryFn: ({ signal }) =>
      call('GET /v1/monitors/{id}/incidents', { params: { id: monitorId }, query: { limit: SHOWN } }, signal),
    refetchInterval: 10_000
  })
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Incidents
      </Title>
      <AsyncView query={query}>
        {({ data, nextCursor }) => (
          <>
            {data.length === 0 ? <Text c="dimmed">It was never down.</Text> : null}
            <Stack component="ul" gap={4} className="plain-list">
              {data.map(({ from, to, seconds, reason }) => (
                <Text component="li" size="sm" key={from}>
                  {to === null ? <b>Down since </b> : 'Down '}
                  <RelativeTime at={from} />, {to === null ? 'for ' : 'it lasted '}
                  {durationOf(seconds)}: {inWords(reason)}
                </Text>
              ))}
            </Stack>
            {nextCursor === null ? null : <Text size="sm">The newest {SHOWN} are shown.</Text>}
          </>
        )}
      </AsyncView>
    </Stack>
  )
}

export function Transitions({ monitorId }: { monitorId: string }) {
  const query = useQuery({
    queryKey: ['monitors', monitorId, 'transitions'],
    queryFn: ({ signal }) =>
      call('GET /v1/monitors/{id}/transitions', { params: { id: monitorId }, query: { limit: SHOWN } }, signal),
    refetchInterval: 10_000
  })
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        State changes
      </Title>
      <AsyncView query={query}>
        {({ data, nextCursor }) => (
          <>
            {data.length === 0 ? <Text c="dimmed">None yet.</Text> : null}
            <Stack component="ul" gap={6} className="plain-list">
              {data.map(({ from, to, at, reason }) => (
                <Group component="li" key={at + to} gap="xs" wrap="nowrap" align="flex-start">
                  <StateBadge state={to} />
                  <Text size="sm">
                    from {from}, <RelativeTime at={at} />: {inWords(reason)}
                  </Text>
                </Group>
              ))}
            </Stack>
            {nextCursor === null ? null : <Text size="sm">The newest {SHOWN} are shown.</Text>}
          </>
        )}
      </AsyncView>
    </Stack>
  )
}
