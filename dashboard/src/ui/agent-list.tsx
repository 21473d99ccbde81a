import { Badge, Button, Card, Group, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api.ts'
import type { Agent } from './agent-form.tsx'
import { AgentKeys } from './agent-keys.tsx'
import { AsyncView } from './async-view.tsx'
import { ChangeAgent } from './change-agent.tsx'
import { Confirm } from './confirm.tsx'
import { useMonitors } from './monitor-choices.ts'
import { RelativeTime } from './relative-time.tsx'

const PRESENCE = {
  never_connected: { color: 'gray', word: 'Never connected' },
  online: { color: 'teal', word: 'Online' },
  stale: { color: 'yellow', word: 'Stale' },
  offline: { color: 'red', word: 'Offline' },
  revoked: { color: 'gray', word: 'No valid key' }
} as const

/** More names than these are a number. */
const NAMED = 3

function monitorsOf({ monitorIds }: Agent, names: ReadonlyMap<string, string>): string {
  const known = monitorIds.flatMap((id) => names.get(id) ?? [])
  if (monitorIds.length === 0) return 'no monitors yet'
  if (known.length === monitorIds.length && known.length <= NAMED) return known.join(', ')
  return monitorIds.length === 1 ? '1 monitor' : `${monitorIds.length} monitors`
}

function badgeOf({ kind, presence }: Agent) {
  // A service need not hold a socket, so that it has none says nothing.
  if (kind === 'service' && presence !== 'online' && presence !== 'revoked') return { color: 'gray', word: 'Service' }
  const { color, word } = PRESENCE[presence]
  return { color, word: kind === 'service' ? `Service · ${word}` : word }
}

function DeleteAgent({ agent }: { agent: Agent }) {
  const queries = useQueryClient()
  return (
    <Confirm
      title={`Delete ${agent.name}?`}
      action="Delete"
      work={async () => {
        await call('DELETE /v1/agents/{id}', { params: { id: agent.id } })
        await queries.invalidateQueries({ queryKey: ['agents'] })
      }}
      trigger={(open) => (
        <Button size="xs" variant="subtle" color="red" onClick={open}>
          Delete
        </Button>
      )}
    >
      Its keys stop working within a second, and it cannot be brought back.{' '}
      {agent.monitorIds.length === 0
        ? ''
        : agent.kind === 'agent'
          ? 'Monitors that no other agent reports become unknown. '
          : 'Monitors that nobody else reports go down when their next heartbeat is missed. '}
      What it reported stays in the history.
    </Confirm>
  )
}

function AgentCard({
  agent,
  names,
  onKeys,
  onChange
}: {
  agent: Agent
  names: ReadonlyMap<string, string>
  onKeys: () => void
  onChange: () => void
}) {
  const { color, word } = badgeOf(agent)
  return (
    <Card component="li" withBorder padding="md">
      <Group justify="space-between" gap="sm">
        <Stack gap={2} style={{ flex: '1 1 240px', minWidth: 0 }}>
          <Group gap="xs">
            <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
              {agent.name}
            </Text>
            <Badge variant="light" color={color} tt="none">
              {word}
            </Badge>
          </Group>
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {monitorsOf(agent, names)} · last seen <RelativeTime at={agent.lastSeenAt} />
            {agent.version === null ? '' : ` · version ${agent.version}`}
          </Text>
        </Stack>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onChange}>
            Change
          </Button>
          <Button size="xs" variant="default" onClick={onKeys}>
            Keys
          </Button>
          <DeleteAgent agent={agent} />
        </Group>
      </Group>
    </Card>
  )
}

/** Every agent and service with what can be done to it. */
export function AgentList() {
  const [keysOf, setKeysOf] = useState<Agent | null>(null)
  const [changed, setChanged] = useState<Agent | null>(null)
  const names = new Map(useMonitors().map(({ id, name }) => [id, name]))
  const query = useQuery({
    queryKey: ['agents'],
    queryFn: ({ signal }) => call('GET /v1/agents', { query: { limit: 1000 } }, signal),
    refetchInterval: 10_000
  })
  return (
    <AsyncView query={query}>
      {({ data }) => (
        <>
          {data.length === 0 ? (
            <Card withBorder padding="xl">
              <Text ta="center" c="dimmed">
                No agents yet. One on each machine or network that you watch from is enough.
              </Text>
            </Card>
          ) : (
            <Stack component="ul" gap="sm" className="plain-list">
              {data.map((agent) => (
                <AgentCard
                  key={agent.id}
                  agent={agent}
                  names={names}
                  onKeys={() => setKeysOf(agent)}
                  onChange={() => setChanged(agent)}
                />
              ))}
            </Stack>
          )}
          {keysOf === null ? null : <AgentKeys agent={keysOf} onClose={() => setKeysOf(null)} />}
          {changed === null ? null : <ChangeAgent agent={changed} onClose={() => setChanged(null)} />}
        </>
      )}
    </AsyncView>
  )
}
