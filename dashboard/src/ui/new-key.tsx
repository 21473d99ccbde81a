import { Alert, Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { IconKey } from '@tabler/icons-react'
import { CopyBlock } from './copy-block.tsx'

interface Made {
  name: string
  kind: 'agent' | 'service'
  apiKey: string
}

function unitOf(name: string): string {
  return `[Unit]
Description=Pulsegate agent ${name}
After=network-online.target

[Service]
EnvironmentFile=/etc/pulsegate-agent.env
ExecStart=/usr/bin/env pulsegate-agent
Restart=always

[Install]
WantedBy=multi-user.target
`
}

function callOf(apiKey: string): string {
  return `curl -X POST '${globalThis.location.origin}/api/heartbeats' \\
  -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\
  -d '{"monitorId":"<monitor id>","status":"up","latency":12,"timestamp":"'"$(date -u +%FT%TZ)"'"}'`
}

/** The one time that a key is shown. */
export function NewKey({ made, onSaved }: { made: Made; onSaved: () => void }) {
  const { name, kind, apiKey } = made
  return (
    <Stack>
      <Alert icon={<IconKey aria-hidden />} color="yellow" variant="light">
        This is the only time that the key of <strong>{name}</strong> is shown. Save it before you close this.
      </Alert>
      <CopyBlock text={apiKey} label="API key" />
      <Tabs defaultValue={kind === 'agent' ? 'environment' : 'curl'}>
        <Tabs.List aria-label="How to use the key">
          {kind === 'agent' ? <Tabs.Tab value="environment">Environment</Tabs.Tab> : null}
          {kind === 'agent' ? <Tabs.Tab value="systemd">systemd</Tabs.Tab> : null}
          <Tabs.Tab value="curl">curl</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="environment" pt="sm">
          <Text size="sm" mb={4}>
            Set the variable where the agent runs, then start it with <code>npm run agent</code>:
          </Text>
          <CopyBlock text={`SERVICE_API_KEY=${apiKey}`} label="environment file" />
        </Tabs.Panel>
        <Tabs.Panel value="systemd" pt="sm">
          <Text size="sm" mb={4}>
            Put the variable into <code>/etc/pulsegate-agent.env</code> and this into a unit file:
          </Text>
          <CopyBlock text={unitOf(name)} label="systemd unit" />
        </Tabs.Panel>
        <Tabs.Panel value="curl" pt="sm">
          <CopyBlock text={callOf(apiKey)} label="curl command" />
        </Tabs.Panel>
      </Tabs>
      <Group justify="flex-end">
        <Button onClick={onSaved}>I have saved it</Button>
      </Group>
    </Stack>
  )
}
