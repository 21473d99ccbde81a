import { Alert, Button, Group, Loader, Stack, Tabs, Text } from '@mantine/core'
import { IconCircleCheck, IconKey } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api.ts'
import type { Agent } from './agent-form.tsx'
import { CopyBlock } from './copy-block.tsx'
import { type Installation, useInstallation } from './installation.ts'
import { callOf, ENVIRONMENT_FILE, environmentOf, installationOf, terminalOf, unitOf } from './key-snippets.ts'

type Made = Agent & { apiKey: string }

/** Ways to start an agent with its key. */
function AgentSnippets({ made, installation }: { made: Made; installation: Installation }) {
  return (
    <Tabs defaultValue="terminal">
      <Tabs.List aria-label="How to use the key">
        <Tabs.Tab value="terminal">Terminal</Tabs.Tab>
        <Tabs.Tab value="environment">Environment file</Tabs.Tab>
        <Tabs.Tab value="systemd">systemd</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="terminal" pt="sm">
        <Text size="sm" mb={4}>
          In a clone of Pulsegate, on the machine that is to check:
        </Text>
        <CopyBlock text={terminalOf(made.apiKey, installation)} label="terminal command" />
      </Tabs.Panel>
      <Tabs.Panel value="environment" pt="sm">
        <Text size="sm" mb={4}>
          As <code>{ENVIRONMENT_FILE}</code> for the systemd unit, or wherever your agents find their variables:
        </Text>
        <CopyBlock text={environmentOf(made.apiKey, installation)} label="environment file" />
      </Tabs.Panel>
      <Tabs.Panel value="systemd" pt="sm">
        <Stack gap="xs">
          <Text size="sm">
            With the environment file in place and a built clone in <code>/opt/pulsegate</code>, save this as{' '}
            <code>/etc/systemd/system/pulsegate-agent.service</code>
          </Text>
          <CopyBlock text={unitOf(made.name)} label="systemd unit" />
          <Text size="sm">and start it, as root:</Text>
          <CopyBlock text={installationOf(installation)} label="systemd command" />
        </Stack>
      </Tabs.Panel>
    </Tabs>
  )
}

/** Tells when an agent that is new connects for the first time. */
function Arrival({ agent }: { agent: Agent }) {
  const { data } = useQuery({
    queryKey: ['agents', agent.id],
    queryFn: ({ signal }) => call('GET /v1/agents/{id}', { params: { id: agent.id } }, signal),
    refetchInterval: ({ state }) => (state.data?.presence === 'online' ? false : 1000)
  })
  const isThere = data?.presence === 'online'
  return (
    <Group gap="xs" role="status" wrap="nowrap">
      {isThere ? (
        <IconCircleCheck color="var(--mantine-color-teal-6)" size={20} aria-hidden style={{ flex: 'none' }} />
      ) : (
        <Loader size="xs" aria-hidden />
      )}
      <Text size="sm">{isThere ? 'It is connected.' : 'Waiting for it to connect …'}</Text>
    </Group>
  )
}

function OnlyNow({ name }: { name: string }) {
  return (
    <Alert icon={<IconKey aria-hidden />} color="yellow" variant="light">
      The key of <strong>{name}</strong> is shown only this once. Save it before you go on.
    </Alert>
  )
}

/** How to start an agent that was just made. */
export function NewAgentCommand({ made }: { made: Made }) {
  const installation = useInstallation()
  return (
    <Stack>
      <OnlyNow name={made.name} />
      {installation === undefined ? null : <AgentSnippets made={made} installation={installation} />}
      <Arrival agent={made} />
    </Stack>
  )
}

/** The one time that a key is shown. */
export function NewKey({ made, onSaved }: { made: Made; onSaved: () => void }) {
  const installation = useInstallation()
  return (
    <Stack>
      <OnlyNow name={made.name} />
      <CopyBlock text={made.apiKey} label="API key" />
      {installation === undefined ? null : made.kind === 'agent' ? (
        <AgentSnippets made={made} installation={installation} />
      ) : (
        <CopyBlock text={callOf(made, installation)} label="curl command" />
      )}
      {made.kind === 'agent' && made.monitorIds.length === 0 ? (
        <Text size="sm">It has no monitors yet, and so nothing to check. Give it some by Change.</Text>
      ) : null}
      <Group justify="space-between">
        <span>{made.kind === 'agent' && made.presence === 'never_connected' ? <Arrival agent={made} /> : null}</span>
        <Button onClick={onSaved}>I have saved it</Button>
      </Group>
    </Stack>
  )
}
