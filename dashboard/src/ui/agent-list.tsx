import { Badge, Button, Card, Group, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api.ts'
import { AgentKeys } from './agent-keys.tsx'
import { AsyncView } from './async-view.tsx'
import { Confirm } from './confirm.tsx'
import { RelativeTime } from './relative-time.tsx'

type Agent = Answer<'GET /v1/agents'>['data'][number]

const PRESENCE = {
  never_connected: { color: 'gray', word: 'Never connected' },
  online: { color: 'teal', word: 'Online' },
  stale: { color: 'yellow', word: 'Stale' },
  offline: { color: 'red', word: 'Offline' },
  revoked: { color: 'gray', word: 'No valid key' }
} as const

function AgentCard({ agent, onKeys }: { agent: Agent; onKeys: () => void }) {
  const queries = useQueryClient()
  const { color, word } = PRESENCE[agent.presence]
  const monitors = agent.monitorIds.length === 1 ? '1 monitor' : `${agent.monitorIds.length} monitors`
  return (
    <Card component="li" withBorder padding="md">
      <Group justify="space-between" gap="sm">
        <Stack gap={2} miw={0}>
          <Group gap="xs">
            <Text fw={600}>{agent.name}</Text>
            <Badge variant="light" color={color} tt="none">
              {agent.kind === 'agent' ? word : agent.presence === 'revoked' ? word : 'Service'}
            </Badge>
          </Group>
          <Text size="sm" c="dimmed">
            {monitors} · last seen <RelativeTime at={agent.lastSeenAt} />
            {agent.version === null ? '' : ` · version ${agent.version}`}
          </Text>
        </Stack>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onKeys}>
            Keys
          </Button>
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
            Its keys stop working within a second. What it reported stays in the history.
          </Confirm>
        </Group>
      </Group>
    </Card>
  )
}

/** Every agent and service with what can be done to it. */
export function AgentList() {
  const [keysOf, setKeysOf] = useState<Agent | null>(null)
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
                <AgentCard key={agent.id} agent={agent} onKeys={() => setKeysOf(agent)} />
              ))}
            </Stack>
          )}
          {keysOf === null ? null : <AgentKeys agent={keysOf} onClose={() => setKeysOf(null)} />}
        </>
      )}
    </AsyncView>
  )
}
