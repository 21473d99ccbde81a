import {
  Alert,
  Badge,
  Button,
  Card,
  Group,
  SegmentedControl,
  Stack,
  Switch,
  Text,
  TextInput,
  Title
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api.ts'
import { useMe } from '../session.tsx'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { useProven } from '../ui/proven.ts'
import { RelativeTime } from '../ui/relative-time.tsx'
import { useSubmit } from '../ui/use-submit.ts'

type Sso = Answer<'GET /v1/organization/sso'>
type Connection = Sso['connections'][number]
const QUERY_KEY = ['sso'] as const
const NAMES = { entra: 'Microsoft Entra ID', google: 'Google Workspace' } as const

function useReload(): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: QUERY_KEY })
}

/** Runs one change at a time, and keeps what the API said against it. */
function useChange() {
  const proven = useProven()
  const reload = useReload()
  const [fault, setFault] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  async function change(work: () => Promise<unknown>): Promise<void> {
    setBusy(true)
    setFault(null)
    try {
      await proven(work)
      await reload()
    } catch (error) {
      setFault(error)
    } finally {
      setBusy(false)
    }
  }
  return { fault, busy, change: (work: () => Promise<unknown>) => void change(work) }
}

function Proof({ connection }: { connection: Connection }) {
  const { id, domain, proof } = connection
  const { fault, busy, change } = useChange()
  return (
    <Stack gap="xs">
      <Text size="sm">
        It lets nobody in yet. Show that {domain} is yours: make this TXT record in its DNS, then verify it.
      </Text>
      <CopyBlock text={proof.name} label="name of the record" />
      <CopyBlock text={proof.value} label="value of the record" />
      <ProblemAlert error={fault} />
      <Group>
        <Button
          size="xs"
          loading={busy}
          onClick={() => change(() => call('POST /v1/organization/sso/{id}/verify', { params: { id } }))}
        >
          Verify
        </Button>
      </Group>
    </Stack>
  )
}

function ConnectionCard({ connection, isOwner }: { connection: Connection; isOwner: boolean }) {
  const { id, provider, tenant, domain, provenAt } = connection
  const reload = useReload()
  return (
    <Card component="li" withBorder padding="md">
      <Stack gap="sm">
        <Group justify="space-between" gap="sm">
          <Stack gap={2} miw={0}>
            <Group gap="xs">
              <Text fw={600}>{NAMES[provider]}</Text>
              <Badge variant="light" color={provenAt === null ? 'yellow' : 'teal'} tt="none">
                {provenAt === null ? 'Not proven yet' : 'Proven'}
              </Badge>
            </Group>
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {domain}
              {tenant === domain ? '' : ` · tenant ${tenant}`}
              {provenAt === null ? null : (
                <>
                  {' '}
                  · proven <RelativeTime at={provenAt} />
                </>
              )}
            </Text>
          </Stack>
          {isOwner ? (
            <Confirm
              title={`Remove ${NAMES[provider]} of ${domain}?`}
              action="Remove"
              work={async () => {
                await call('DELETE /v1/organization/sso/{id}', { params: { id } })
                await reload()
              }}
              trigger={(open) => (
                <Button size="xs" variant="subtle" color="red" onClick={open}>
                  Remove
                </Button>
              )}
            >
              Nobody gets in by it any more. Who joined by it stays a member.
            </Confirm>
          ) : null}
        </Group>
        {provenAt === null && isOwner ? <Proof connection={connection} /> : null}
      </Stack>
    </Card>
  )
}

interface NewConnection {
  provider: 'entra' | 'google'
  tenant: string
  domain: string
}

function Add() {
  const reload = useReload()
  const initialValues: NewConnection = { provider: 'entra', tenant: '', domain: '' }
  const form = useForm({ initialValues })
  const { fault, busy, onSubmit } = useSubmit(form, async ({ provider, tenant, domain }) => {
    const body = provider === 'entra' ? { provider, tenant, domain } : { provider, domain }
    await call('POST /v1/organization/sso', { body })
    form.reset()
    await reload()
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack maw={420} gap="sm">
        <ProblemAlert error={fault} />
        <SegmentedControl
          aria-label="Provider"
          data={[
            { value: 'entra', label: NAMES.entra },
            { value: 'google', label: NAMES.google }
          ]}
          {...form.getInputProps('provider')}
        />
        {form.values.provider === 'entra' ? (
          <TextInput
            label="Tenant"
            description="Directory (tenant) ID, which Entra ID shows under Overview."
            required
            {...form.getInputProps('tenant')}
          />
        ) : null}
        <TextInput
          label="Domain"
          description={
            form.values.provider === 'entra'
              ? 'What the addresses of your people end in.'
              : 'Primary domain of the Workspace.'
          }
          placeholder="example.com"
          required
          {...form.getInputProps('domain')}
        />
        <Group>
          <Button type="submit" loading={busy}>
            Add
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function Required({ sso, isOwner }: { sso: Sso; isOwner: boolean }) {
  const { fault, busy, change } = useChange()
  return (
    <Stack gap="xs">
      <ProblemAlert error={fault} />
      <Switch
        label="Require single sign-on"
        description="People enter this organization by a connection above only. Everybody is signed out and comes back by it; who has only a password enters it once more, to be connected."
        checked={sso.required}
        disabled={!isOwner || busy}
        onChange={({ currentTarget: { checked: required } }) =>
          change(() => call('PATCH /v1/organization/sso', { body: { required } }))
        }
      />
    </Stack>
  )
}

/** How people of the organization sign in by their identity provider. */
export function SsoSection() {
  const isOwner = useMe().role === 'owner'
  const query = useQuery({
    queryKey: QUERY_KEY,
    queryFn: ({ signal }) => call('GET /v1/organization/sso', {}, signal)
  })
  return (
    <AsyncView query={query}>
      {(sso) => (
        <Stack>
          {isOwner ? null : <Alert variant="light">Only owners change how people sign in.</Alert>}
          <Card withBorder>
            <Title order={2} size="h4" mb="sm">
              Connections
            </Title>
            {sso.connections.length === 0 ? (
              <Text c="dimmed">None yet: people sign in by password.</Text>
            ) : (
              <Stack component="ul" gap="sm" className="plain-list">
                {sso.connections.map((connection) => (
                  <ConnectionCard key={connection.id} connection={connection} isOwner={isOwner} />
                ))}
              </Stack>
            )}
          </Card>
          {isOwner ? (
            <Card withBorder>
              <Title order={2} size="h4" mb="sm">
                Add a connection
              </Title>
              <Add />
            </Card>
          ) : null}
          <Card withBorder>
            <Title order={2} size="h4" mb="sm">
              Requirement
            </Title>
            <Required sso={sso} isOwner={isOwner} />
          </Card>
        </Stack>
      )}
    </AsyncView>
  )
}
