import { Button, Card, Group, Stack, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useLocation } from 'wouter'
import { call } from '../api.ts'
import { useFreshSession, useMe } from '../session.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { DeleteOrganization } from './delete-organization.tsx'
import { Plan } from './plan.tsx'

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
  const { organization, role } = useMe()
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
      {role === 'owner' ? (
        <Card withBorder>
          <Title order={2} size="h4" mb="sm">
            Delete
          </Title>
          <DeleteOrganization />
        </Card>
      ) : null}
    </Stack>
  )
}
