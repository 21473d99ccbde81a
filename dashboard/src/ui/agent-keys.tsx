import { Button, Group, Modal, Stack, Table, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api.ts'
import { AsyncView } from './async-view.tsx'
import { Confirm } from './confirm.tsx'
import { NewKey } from './new-key.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import { RelativeTime } from './relative-time.tsx'

type Agent = Answer<'GET /v1/agents'>['data'][number]
type Key = Answer<'GET /v1/agents/{id}/keys'>['data'][number]

function KeyRow({ agent, apiKey, reload }: { agent: Agent; apiKey: Key; reload: () => Promise<void> }) {
  const params = { id: agent.id, keyId: apiKey.id }
  return (
    <Table.Tr>
      <Table.Td>
        <code>
          {apiKey.prefix}…{apiKey.suffix}
        </code>
      </Table.Td>
      <Table.Td>
        <RelativeTime at={apiKey.lastUsedAt} />
      </Table.Td>
      <Table.Td>
        {apiKey.revokedAt === null ? (
          <Confirm
            title="Revoke this key?"
            action="Revoke"
            work={async () => {
              await call('DELETE /v1/agents/{id}/keys/{keyId}', { params })
              await reload()
            }}
            trigger={(open) => (
              <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
                Revoke
              </Button>
            )}
          >
            Whoever uses it is disconnected within a second and refused from then on.
          </Confirm>
        ) : (
          <Text size="sm" c="dimmed">
            revoked <RelativeTime at={apiKey.revokedAt} />
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

/** The keys of one agent: a second one for overlap, revoking one, rotating all. */
export function AgentKeys({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const queries = useQueryClient()
  const [apiKey, setApiKey] = useState<string | null>(null)
  const [fault, setFault] = useState<unknown>(null)
  const params = { id: agent.id }
  const queryKey = ['agents', agent.id, 'keys']
  const query = useQuery({ queryKey, queryFn: ({ signal }) => call('GET /v1/agents/{id}/keys', { params }, signal) })
  const reload = () => queries.invalidateQueries({ queryKey: ['agents'] })

  async function addKey(): Promise<void> {
    try {
      setFault(null)
      setApiKey((await call('POST /v1/agents/{id}/keys', { params })).apiKey)
      await reload()
    } catch (error) {
      setFault(error)
    }
  }

  const rotate = (
    <Confirm
      title={`Rotate the keys of ${agent.name}?`}
      action="Rotate"
      work={async () => {
        setApiKey((await call('POST /v1/agents/{id}/rotate', { params })).apiKey)
        await reload()
      }}
      trigger={(open) => (
        <Button variant="light" color="red" onClick={open}>
          Rotate
        </Button>
      )}
    >
      Every key of it stops working at once, and you get a new one. To change keys without a gap, add a second key
      first.
    </Confirm>
  )

  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={`Keys of ${agent.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {apiKey === null ? (
        <Stack>
          <ProblemAlert error={fault} />
          <AsyncView query={query}>
            {({ data }) => (
              <Table>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Key</Table.Th>
                    <Table.Th>Last used</Table.Th>
                    <Table.Th>
                      <span className="visually-hidden">Actions</span>
                    </Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {data.map((key) => (
                    <KeyRow key={key.id} agent={agent} apiKey={key} reload={reload} />
                  ))}
                </Table.Tbody>
              </Table>
            )}
          </AsyncView>
          <Group justify="flex-end">
            {rotate}
            <Button onClick={() => void addKey()}>Add a second key</Button>
          </Group>
        </Stack>
      ) : (
        <NewKey made={{ name: agent.name, kind: agent.kind, apiKey }} onSaved={() => setApiKey(null)} />
      )}
    </Modal>
  )
}
