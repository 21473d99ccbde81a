import { Button, Group, Modal, Stack, Table, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api.ts'
import type { Agent } from './agent-form.tsx'
import { AsyncView } from './async-view.tsx'
import { Confirm } from './confirm.tsx'
import { NewKey } from './new-key.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import { RelativeTime } from './relative-time.tsx'
import { WideTable } from './wide-table.tsx'

type Key = Answer<'GET /v1/agents/{id}/keys'>['data'][number]

interface RowProps {
  agent: Agent
  apiKey: Key
  /** No other key of the agent is valid. */
  isLast: boolean
  reload: () => Promise<void>
}

function KeyRow({ agent, apiKey, isLast, reload }: RowProps) {
  const params = { id: agent.id, keyId: apiKey.id }
  return (
    <Table.Tr>
      <Table.Td>
        <code>
          {apiKey.prefix}…{apiKey.suffix}
        </code>
        <Text size="sm" c="dimmed">
          created <RelativeTime at={apiKey.createdAt} />
        </Text>
      </Table.Td>
      <Table.Td>
        <RelativeTime at={apiKey.lastUsedAt} />
      </Table.Td>
      <Table.Td ta="right">
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
            {isLast ? ` It is the only valid key of ${agent.name}, which cannot report until it has a new one.` : ''}
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

function KeyTable({ agent, keys, reload }: { agent: Agent; keys: readonly Key[]; reload: () => Promise<void> }) {
  const valid = keys.filter(({ revokedAt }) => revokedAt === null)
  return (
    <WideTable label="Keys" minWidth={300}>
      <Table horizontalSpacing={4}>
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
          {keys.map((key) => (
            <KeyRow key={key.id} agent={agent} apiKey={key} isLast={valid.length === 1} reload={reload} />
          ))}
        </Table.Tbody>
      </Table>
    </WideTable>
  )
}

/** Valid keys that an agent may have at a time. */
const MOST = 2

function AddKey({ validKeys, onAdd }: { validKeys: number; onAdd: () => void }) {
  const isFull = validKeys >= MOST
  return (
    <>
      <Text size="sm" c="dimmed">
        {isFull
          ? 'Two keys are valid. When the newer one is in use, revoke the older one.'
          : 'To change keys without a gap: add a second key, put it in place, see here that it is used, revoke the first.'}
      </Text>
      {isFull ? null : (
        <Group>
          <Button onClick={onAdd}>{validKeys === 0 ? 'Add a key' : 'Add a second key'}</Button>
        </Group>
      )}
    </>
  )
}

function KeyList({ agent, onKey }: { agent: Agent; onKey: (apiKey: string) => void }) {
  const queries = useQueryClient()
  const [fault, setFault] = useState<unknown>(null)
  const params = { id: agent.id }
  const query = useQuery({
    queryKey: ['agents', agent.id, 'keys'],
    queryFn: ({ signal }) => call('GET /v1/agents/{id}/keys', { params }, signal),
    refetchInterval: 5000
  })
  const reload = () => queries.invalidateQueries({ queryKey: ['agents'] })

  async function addKey(): Promise<void> {
    try {
      setFault(null)
      onKey((await call('POST /v1/agents/{id}/keys', { params })).apiKey)
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
        onKey((await call('POST /v1/agents/{id}/rotate', { params })).apiKey)
        await reload()
      }}
      trigger={(open) => (
        <Button variant="light" color="red" onClick={open}>
          Rotate
        </Button>
      )}
    >
      Every key of it stops working within a second, and you get a new one.{' '}
      {agent.kind === 'agent' ? 'Until it has that, it keeps what it measures and reports it later. ' : ''}
      To change keys without a gap, add a second key instead.
    </Confirm>
  )

  return (
    <Stack>
      <ProblemAlert error={fault} />
      <AsyncView query={query}>
        {({ data }) => (
          <>
            <KeyTable agent={agent} keys={data} reload={reload} />
            <AddKey validKeys={data.filter(({ revokedAt }) => revokedAt === null).length} onAdd={() => void addKey()} />
          </>
        )}
      </AsyncView>
      <Group justify="flex-end">{rotate}</Group>
    </Stack>
  )
}

/** The keys of one agent: a second one for overlap, revoking one, rotating all. */
export function AgentKeys({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const [apiKey, setApiKey] = useState<string | null>(null)
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={apiKey === null ? `Keys of ${agent.name}` : 'API key'}
      closeOnClickOutside={apiKey === null}
      closeOnEscape={apiKey === null}
      withCloseButton={apiKey === null}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {apiKey === null ? (
        <KeyList agent={agent} onKey={setApiKey} />
      ) : (
        <NewKey made={{ ...agent, apiKey }} onSaved={() => setApiKey(null)} />
      )}
    </Modal>
  )
}
