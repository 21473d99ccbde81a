import { Anchor, Button, Card, Group, Loader, Stack, Text, TextInput, ThemeIcon, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconCircleCheck } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { type Answer, call } from '../api.ts'
import { Page } from '../ui/page.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { PushSnippets } from '../ui/push-snippets.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { useSubmit } from '../ui/use-submit.ts'

type Monitor = Answer<'POST /v1/monitors'>

function NameIt({ onMade }: { onMade: (monitor: Monitor) => void }) {
  const queries = useQueryClient()
  const form = useForm({ initialValues: { name: 'Nightly backup' } })
  const { fault, busy, onSubmit } = useSubmit(form, async ({ name }) => {
    onMade(await call('POST /v1/monitors', { body: { name, kind: 'push' } }))
    await queries.invalidateQueries({ queryKey: ['monitors'] })
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack maw={420}>
        <ProblemAlert error={fault} />
        <TextInput
          label="What shall report?"
          description="A job, a script, a machine."
          required
          {...form.getInputProps('name')}
        />
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

/** The first run: a monitor, its address, its first heartbeat. */
export function WelcomePage() {
  const [monitor, setMonitor] = useState<Monitor | null>(null)
  return (
    <Page title="Your first heartbeat" lead="A name, a command, and you see it arrive.">
      <Stack component="ol" className="plain-list">
        <Step number={1} title="Create a monitor">
          {monitor === null ? <NameIt onMade={setMonitor} /> : <Text>{monitor.name}</Text>}
        </Step>
        <Step number={2} title="Run this anywhere">
          {monitor?.pushUrl === undefined ? (
            <Text c="dimmed">A command with the monitor's own address will stand here.</Text>
          ) : (
            <PushSnippets pushUrl={monitor.pushUrl} />
          )}
        </Step>
        <Step number={3} title="See it arrive">
          {monitor === null ? <Text c="dimmed">Live, on this page.</Text> : <WatchIt monitor={monitor} />}
        </Step>
      </Stack>
      <Text size="sm" c="dimmed">
        Want checks from a machine of yours instead?{' '}
        <Anchor component={Link} href="/agents" inherit underline="always">
          Make an agent
        </Anchor>
        .
      </Text>
    </Page>
  )
}
