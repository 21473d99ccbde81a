import { Anchor, Button, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { call, Problem } from '../api.ts'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { durationOf, exactOf } from '../ui/format.ts'
import type { Monitor } from '../ui/history-query.ts'
import { MaintenanceNote } from '../ui/maintenance.tsx'
import { MonitorDialog } from '../ui/monitor-dialog.tsx'
import { Incidents, Transitions } from '../ui/monitor-events.tsx'
import { MonitorHeartbeats } from '../ui/monitor-heartbeats.tsx'
import { MonitorHistory } from '../ui/monitor-history.tsx'
import { Page } from '../ui/page.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { PushSnippets } from '../ui/push-snippets.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { NotFoundPage } from './not-found.tsx'

/** Why the state is what it is, in the API's words. */
function Explanation({ monitor }: { monitor: Monitor }) {
  const { data } = useQuery({
    queryKey: ['monitors', monitor.id, 'explain'],
    queryFn: ({ signal }) => call('GET /v1/monitors/{id}/explain', { params: { id: monitor.id } }, signal),
    refetchInterval: 5000
  })
  return (
    <Stack gap={4} mt={6}>
      <Group gap="xs">
        <StateBadge state={monitor.state} size="lg" />
        <span style={{ minWidth: 0 }}>
          changed <RelativeTime at={monitor.stateSince} /> · last heartbeat{' '}
          <RelativeTime at={monitor.lastHeartbeatAt} />
        </span>
        <MaintenanceNote maintenance={monitor.maintenance} />
      </Group>
      {data === undefined ? null : (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {data.sentence.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, exactOf)}
        </Text>
      )}
    </Stack>
  )
}

function Actions({ monitor }: { monitor: Monitor }) {
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const [changing, setChanging] = useState(false)
  const [fault, setFault] = useState<unknown>(null)
  const paused = monitor.state === 'paused'
  async function turn(): Promise<void> {
    setFault(null)
    try {
      const params = { id: monitor.id }
      if (paused) await call('POST /v1/monitors/{id}/resume', { params })
      else await call('POST /v1/monitors/{id}/pause', { params })
    } catch (error) {
      setFault(error)
    }
    await queries.invalidateQueries({ queryKey: ['monitors'] })
  }
  return (
    <>
      <ProblemAlert error={fault} />
      <Button variant="default" onClick={() => void turn()}>
        {paused ? 'Resume' : 'Pause'}
      </Button>
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

/** Deleted, foreign or never there: the API does not tell which. */
function isGone(error: unknown): boolean {
  return error instanceof Problem && error.status === 404
}

export function MonitorPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['monitors', id],
    queryFn: ({ signal }) => call('GET /v1/monitors/{id}', { params: { id } }, signal),
    refetchInterval: ({ state }) => (isGone(state.error) ? false : 5000)
  })
  if (isGone(query.error)) return <NotFoundPage />
  return (
    <AsyncView query={query}>
      {(monitor) => (
        <Page
          back={
            <Anchor component={Link} href="/" size="sm">
              ← All monitors
            </Anchor>
          }
          title={monitor.name}
          wide
          lead={<Explanation monitor={monitor} />}
          actions={<Actions monitor={monitor} />}
        >
          {monitor.pushUrl === undefined ? null : (
            <Card withBorder>
              <Stack gap="xs">
                <Title order={2} size="h4">
                  Push URL
                </Title>
                <Text size="sm" c="dimmed">
                  Whoever has it may report. A heartbeat is expected every {durationOf(monitor.intervalSeconds)}.
                </Text>
                <PushSnippets pushUrl={monitor.pushUrl} />
              </Stack>
            </Card>
          )}
          <Card withBorder>
            <MonitorHistory monitor={monitor} />
          </Card>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Card withBorder>
              <Incidents monitorId={monitor.id} />
            </Card>
            <Card withBorder>
              <Transitions monitorId={monitor.id} />
            </Card>
          </SimpleGrid>
          <Card withBorder>
            <MonitorHeartbeats monitorId={monitor.id} />
          </Card>
        </Page>
      )}
    </AsyncView>
  )
}
