import { Button, Card, Group, Select, Stack, Table, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api.ts'
import { useMe } from '../session.tsx'
import { AgentList } from '../ui/agent-list.tsx'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { NewAgent } from '../ui/new-agent.tsx'
import { messageOf, ProblemAlert } from '../ui/problem-alert.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { WideTable } from '../ui/wide-table.tsx'

type Member = Answer<'GET /v1/team/members'>['data'][number]
type Role = Member['role']

function rolesFor(role: Role): Role[] {
  return role === 'owner' ? ['owner', 'admin', 'member'] : ['admin', 'member']
}

function MemberRow({ member }: { member: Member }) {
  const { user, role } = useMe()
  const queries = useQueryClient()
  const reload = () => queries.invalidateQueries({ queryKey: ['team'] })
  const mayTouch = role !== 'member' && (role === 'owner' || member.role !== 'owner')
  async function change(wanted: Role): Promise<void> {
    try {
      await call('PATCH /v1/team/members/{id}', { params: { id: member.id }, body: { role: wanted } })
    } catch (error) {
      notifications.show({ color: 'red', message: messageOf(error) })
    }
    await reload()
  }
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={600}>
          {member.name}
          {member.id === user.id ? ' (you)' : ''}
        </Text>
        <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {member.email}
        </Text>
      </Table.Td>
      <Table.Td>
        {mayTouch ? (
          <Select
            aria-label={`Role of ${member.name}`}
            size="xs"
            w={110}
            allowDeselect={false}
            data={rolesFor(role)}
            value={member.role}
            onChange={(wanted) => void change(wanted as Role)}
          />
        ) : (
          member.role
        )}
      </Table.Td>
      <Table.Td>
        <RelativeTime at={member.lastSeenAt} />
      </Table.Td>
      <Table.Td ta="right">
        {mayTouch && member.id !== user.id ? (
          <Confirm
            title={`Remove ${member.name}?`}
            action="Remove"
            work={async () => {
              await call('DELETE /v1/team/members/{id}', { params: { id: member.id } })
              await reload()
            }}
            trigger={(open) => (
              <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
                Remove
              </Button>
            )}
          >
            They are signed out of this organization at once and see nothing of it any more.
          </Confirm>
        ) : null}
      </Table.Td>
    </Table.Tr>
  )
}

function Members() {
  const query = useQuery({
    queryKey: ['team', 'members'],
    queryFn: ({ signal }) => call('GET /v1/team/members', { query: { limit: 1000 } }, signal)
  })
  return (
    <AsyncView query={query}>
      {({ data }) => (
        <WideTable label="People" minWidth={460}>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Person</Table.Th>
                <Table.Th>Role</Table.Th>
                <Table.Th>Last seen</Table.Th>
                <Table.Th>
                  <span className="visually-hidden">Actions</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.map((member) => (
                <MemberRow key={member.id} member={member} />
              ))}
            </Table.Tbody>
          </Table>
        </WideTable>
      )}
    </AsyncView>
  )
}

function Invite() {
  const { role } = useMe()
  const queries = useQueryClient()
  const [link, setLink] = useState<string | null>(null)
  const initialValues: { email: string; role: Role } = { email: '', role: 'member' }
  const form = useForm({ initialValues })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    setLink(null)
    const { url } = await call('POST /v1/team/invitations', { body })
    if (url === undefined) notifications.show({ message: `An invitation is on its way to ${body.email}.` })
    else setLink(url)
    form.reset()
    await queries.invalidateQueries({ queryKey: ['team'] })
  })
  return (
    <Stack gap="sm">
      <form onSubmit={onSubmit} noValidate>
        <Group align="flex-start" gap="sm">
          <TextInput
            label="E-mail"
            type="email"
            required
            placeholder="bob@example.com"
            style={{ flex: '1 1 220px' }}
            {...form.getInputProps('email')}
          />
          <Select label="Role" w={130} allowDeselect={false} data={rolesFor(role)} {...form.getInputProps('role')} />
          <Button type="submit" loading={busy} mt={25}>
            Invite
          </Button>
        </Group>
      </form>
      <ProblemAlert error={fault} />
      {link === null ? null : (
        <Stack gap={4} role="status">
          <Text size="sm">Hand this link over; it is good for 7 days and shown only now.</Text>
          <CopyBlock text={link} label="invitation link" />
        </Stack>
      )}
    </Stack>
  )
}

function Invitations() {
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: ['team', 'invitations'],
    queryFn: ({ signal }) => call('GET /v1/team/invitations', { query: { limit: 1000 } }, signal)
  })
  async function takeBack(id: string): Promise<void> {
    try {
      await call('DELETE /v1/team/invitations/{id}', { params: { id } })
    } catch (error) {
      notifications.show({ color: 'red', message: messageOf(error) })
    }
    await queries.invalidateQueries({ queryKey: ['team'] })
  }
  return (
    <AsyncView query={query}>
      {({ data }) => (
        <Stack component="ul" gap={4} className="plain-list">
          {data.map(({ id, email, role, expiresAt }) => (
            <Group component="li" key={id} justify="space-between">
              <Text size="sm">
                {email} as {role}, expires <RelativeTime at={expiresAt} ahead />
              </Text>
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => void takeBack(id)}>
                Take back
              </Button>
            </Group>
          ))}
        </Stack>
      )}
    </AsyncView>
  )
}

export function TeamSection() {
  const { role } = useMe()
  return (
    <Stack>
      <Card withBorder>
        <Title order={2} size="h4" mb="sm">
          People
        </Title>
        <Stack>
          <Members />
          {role === 'member' ? null : (
            <>
              <Title order={3} size="h5">
                Invite somebody
              </Title>
              <Invite />
              <Invitations />
            </>
          )}
        </Stack>
      </Card>
      {role === 'member' ? null : (
        <Card withBorder>
          <Group justify="space-between" mb="sm">
            <Title order={2} size="h4">
              Credentials
            </Title>
            <NewAgent />
          </Group>
          <AgentList />
        </Card>
      )}
    </Stack>
  )
}
