import { Button, Card, Group, Loader, SegmentedControl, Stack, Text, TextInput, ThemeIcon, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconCircleCheck } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { type Answer, call } from '../api.ts'
import { useMe } from '../session.tsx'
import { NewAgentCommand } from '../ui/new-key.tsx'
import { Page } from '../ui/page.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { PushSnippets } from '../ui/push-snippets.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { useSubmit } from '../ui/use-submit.ts'

type Monitor = Answer<'POST /v1/monitors'>
type Agent = Answer<'POST /v1/agents'>

interface Made {
  monitor: Monitor
  /** Who checks it; null where it is pinged. */
  agent: Agent | null
}

/** A monitor that waits for pings, or a website with an agent to check it. */
async function make(way: Way, { name, target }: { name: string; target: string }): Promise<Made> {
  if (way === 'push') return { monitor: await call('POST /v1/monitors', { body: { name, kind: 'push' } }), agent: null }
  const host = URL.canParse(target) ? new URL(target).host : target
  const monitor = await call('POST /v1/monitors', { body: { name: host, kind: 'http', target } })
  const agent = await call('POST /v1/agents', {
    body: { name: 'My first agent', kind: 'agent', monitorIds: [monitor.id] }
  })
  return { monitor, agent }
}

const WAYS = [
  { value: 'push', label: 'A job tells us' },
  { value: 'check', label: 'An agent checks' }
] as const
type Way = (typeof WAYS)[number]['value']

function NameIt({ onMade }: { onMade: (made: Made) => void }) {
  const { role } = useMe()
  const queries = useQueryClient()
  const [way, setWay] = useState<Way>('push')
  const form = useForm({ initialValues: { name: 'Nightly backup', target: 'https://' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (values) => {
    onMade(await make(way, values))
    await queries.invalidateQueries({ queryKey: ['monitors'] })
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack maw={420}>
        <ProblemAlert error={fault} />
        {role === 'member' ? null : (
          <SegmentedControl aria-label="How it reports" data={[...WAYS]} value={way} onChange={setWay} />
        )}
        {way === 'push' ? (
          <TextInput
            label="What shall report?"
            description="A job, a script, a machine."
            required
            {...form.getInputProps('name')}
          />
        ) : (
          <TextInput
            label="Which address shall it check?"
            description="A website or an API; the agent runs on a machine of yours."
            type="url"
            required
            {...form.getInputProps('target')}
          />
        )}
        <Group>
          <Button type="submit" loading={busy}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function WatchIt({ monitor }: { monitor: Monitor }) {
  const query = useQuery({
    queryKey: ['monitors', monitor.id],
    queryFn: ({ signal }) => call('GET /v1/monitors/{id}', { params: { id: monitor.id } }, signal),
    refetchInterval: ({ state }) => (state.data?.lastHeartbeatAt ? false : 1000)
  })
  const arrived = query.data?.lastHeartbeatAt ?? null
  return (
    <Stack>
      <Group gap="xs" role="status">
        {arrived === null ? (
          <Loader size="sm" aria-hidden />
        ) : (
          <IconCircleCheck color="var(--mantine-color-teal-6)" aria-hidden />
        )}
        <Text>
          {arrived === null ? (
            'Waiting for the first heartbeat …'
          ) : (
            <>
              The first heartbeat arrived <RelativeTime at={arrived} />.
            </>
          )}
        </Text>
      </Group>
      {arrived === null ? null : (
        <Group>
          <Button component={Link} href={`/monitors/${monitor.id}`}>
            See its page
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Card withBorder component="li">
      <Stack gap="sm">
        <Group gap="sm">
          <ThemeIcon radius="xl" aria-hidden>
            {number}
          </ThemeIcon>
          <Title order={2} size="h4">
            {title}
          </Title>
        </Group>
        {children}
      </Stack>
    </Card>
  )
}

function RunIt({ made }: { made: Made | null }) {
  if (made === null) return <Text c="dimmed">A command that is ready to paste will stand here.</Text>
  const { monitor, agent } = made
  if (agent !== null) return <NewAgentCommand made={agent} />
  return monitor.pushUrl === undefined ? null : <PushSnippets pushUrl={monitor.pushUrl} />
}

/** The first run: a monitor, its command, its first heartbeat. */
export function WelcomePage() {
  const [made, setMade] = useState<Made | null>(null)
  return (
    <Page title="Your first heartbeat" lead="A name, a command, and you see it arrive.">
      <Stack component="ol" className="plain-list">
        <Step number={1} title="Create a monitor">
          {made === null ? <NameIt onMade={setMade} /> : <Text>{made.monitor.name}</Text>}
        </Step>
        <Step number={2} title="Run this anywhere">
          <RunIt made={made} />
        </Step>
        <Step number={3} title="See it arrive">
          {made === null ? <Text c="dimmed">Live, on this page.</Text> : <WatchIt monitor={made.monitor} />}
        </Step>
      </Stack>
    </Page>
  )
}
