import { Badge, Button, Card, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../api.ts'
import { useFreshSession, useMe } from '../session.tsx'
import { AsyncView } from '../ui/async-view.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { messageOf, ProblemAlert } from '../ui/problem-alert.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { Email } from './email.tsx'
import { Identities } from './identities.tsx'

function Name() {
  const { user } = useMe()
  const refresh = useFreshSession()
  const form = useForm({ initialValues: { name: user.name } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('PATCH /v1/me', { body })
    await refresh()
    notifications.show({ message: 'Saved.' })
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack maw={420}>
        <ProblemAlert error={fault} />
        <TextInput label="Your name" required autoComplete="name" {...form.getInputProps('name')} />
        <Group>
          <Button type="submit" loading={busy}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function Password() {
  const form = useForm({ initialValues: { currentPassword: '', newPassword: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('POST /v1/me/password', { body })
    form.reset()
    notifications.show({ message: 'The password is changed; your other sessions have ended.' })
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack maw={420}>
        <ProblemAlert error={fault} />
        <PasswordField label="Current password" {...form.getInputProps('currentPassword')} />
        <PasswordField label="New password" chosen {...form.getInputProps('newPassword')} />
        <Group>
          <Button type="submit" loading={busy}>
            Change the password
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function Sessions() {
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => call('GET /v1/me/sessions', { query: { limit: 100 } }, signal)
  })
  async function end(id: string): Promise<void> {
    try {
      await call('DELETE /v1/me/sessions/{id}', { params: { id } })
    } catch (error) {
      notifications.show({ color: 'red', message: messageOf(error) })
    }
    await queries.invalidateQueries({ queryKey: ['sessions'] })
  }
  return (
    <AsyncView query={query}>
      {({ data }) => (
        <Stack component="ul" gap="sm" className="plain-list">
          {data.map(({ id, current, userAgent, address, lastUsedAt, organization }) => (
            <Group component="li" key={id} justify="space-between" wrap="nowrap">
              <div>
                <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {userAgent ?? 'a program'} {current ? <Badge size="sm">this one</Badge> : null}
                </Text>
                <Text size="sm" c="dimmed">
                  {organization.name} · {address ?? 'unknown address'} · used <RelativeTime at={lastUsedAt} />
                </Text>
              </div>
              {current ? null : (
                <Button size="compact-sm" variant="subtle" color="red" onClick={() => void end(id)}>
                  End
                </Button>
              )}
            </Group>
          ))}
        </Stack>
      )}
    </AsyncView>
  )
}

export function AccountSection() {
  return (
    <Stack>
      {(
        [
          ['My account', <Name key="name" />],
          ['E-mail address', <Email key="email" />],
          ['Password', <Password key="password" />],
          ['Single sign-on', <Identities key="identities" />],
          ['Sessions', <Sessions key="sessions" />]
        ] as const
      ).map(([title, body]) => (
        <Card key={title} withBorder>
          <Title order={2} size="h4" mb="sm">
            {title}
          </Title>
          {body}
        </Card>
      ))}
    </Stack>
  )
}
