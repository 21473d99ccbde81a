import { Button, Card, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { type Answer, call } from '../api.ts'
import { useFreshSession, useMe } from '../session.tsx'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { useSubmit } from '../ui/use-submit.ts'

function Rename() {
  const { organization, role } = useMe()
  const refresh = useFreshSession()
  const form = useForm({ initialValues: { name: organization.name } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('PATCH /v1/organization', { body })
    await refresh()
    notifications.show({ message: 'Saved.' })
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack maw={420}>
        <ProblemAlert error={fault} />
        <TextInput label="Name" required disabled={role === 'member'} {...form.getInputProps('name')} />
        {role === 'member' ? null : (
          <Group>
            <Button type="submit" loading={busy}>
              Save
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  )
}

type Details = Answer<'GET /v1/organization'>

function daysOf(days: number | null): string {
  return days === null ? 'for ever' : `for ${days} days`
}

function countOf(count: number | null, what: string): string {
  return count === null ? `any number of ${what}` : `up to ${count.toLocaleString('en')} ${what}`
}

function PlanWords({ plan, retentionDays, limits }: Details) {
  return (
    <Stack gap="xs">
      <Text size="sm">
        Plan <strong>{plan}</strong>: {countOf(limits.monitors, 'monitors')} and{' '}
        {countOf(limits.agents, 'agents and services')}, checked every {limits.minIntervalSeconds} seconds or less
        often.
      </Text>
      <Text size="sm">
        Single heartbeats are kept {daysOf(retentionDays.raw)}, summaries of five minutes {daysOf(retentionDays['5m'])},
        of an hour {daysOf(retentionDays['1h'])}, of a day {daysOf(retentionDays['1d'])}.
      </Text>
      <Text size="sm" c="dimmed">
        Whoever runs this installation can change the plan.
      </Text>
    </Stack>
  )
}

function Plan() {
  const { organization } = useMe()
  const query = useQuery({
    queryKey: ['organization', organization.id],
    queryFn: ({ signal }) => call('GET /v1/organization', {}, signal)
  })
  return <AsyncView query={query}>{(details) => <PlanWords {...details} />}</AsyncView>
}

function Found() {
  const [, navigate] = useLocation()
  const refresh = useFreshSession()
  const form = useForm({ initialValues: { name: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('POST /v1/organizations', { body })
    await refresh()
    navigate('/')
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack maw={420}>
        <ProblemAlert error={fault} />
        <TextInput label="Name of a further organization" required {...form.getInputProps('name')} />
        <Group>
          <Button type="submit" variant="default" loading={busy}>
            Found it
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

export function OrganizationSection() {
  const { organization } = useMe()
  const refresh = useFreshSession()
  return (
    <Stack>
      <Card withBorder>
        <Title order={2} size="h4" mb="sm">
          Organization
        </Title>
        <Rename />
      </Card>
      <Card withBorder>
        <Title order={2} size="h4" mb="sm">
          Plan and retention
        </Title>
        <Plan />
      </Card>
      <Card withBorder>
        <Title order={2} size="h4" mb="sm">
          Another organization
        </Title>
        <Found />
      </Card>
      <Card withBorder>
        <Title order={2} size="h4" mb="sm">
          Leave
        </Title>
        <Confirm
          title={`Leave ${organization.name}?`}
          action="Leave"
          work={async () => {
            await call('POST /v1/organization/leave')
            await refresh()
          }}
          trigger={(open) => (
            <Group>
              <Button variant="light" color="red" onClick={open}>
                Leave the organization
              </Button>
            </Group>
          )}
        >
          You see nothing of it any more, until somebody invites you again.
        </Confirm>
      </Card>
    </Stack>
  )
}
