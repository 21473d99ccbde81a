import { Alert, Badge, Button, Card, Group, Modal, Stack, Text, Title } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api.ts'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { WebhookDeliveries } from '../ui/webhook-deliveries.tsx'
import { WebhookDialog } from '../ui/webhook-dialog.tsx'
import { WebhookSecret } from '../ui/webhook-secret.tsx'
import { type Channel, eventsInWords, outcomeInWords } from '../ui/webhook-words.ts'

function Health({ enabled, failingSince }: Channel) {
  if (!enabled) {
    return (
      <Badge variant="outline" color="gray" tt="none">
        Paused
      </Badge>
    )
  }
  if (failingSince === null) {
    return (
      <Badge color="teal" autoContrast tt="none">
        Healthy
      </Badge>
    )
  }
  return (
    <>
      <Badge color="red" autoContrast tt="none">
        Failing
      </Badge>
      <Text size="sm" c="dimmed">
        since <RelativeTime at={failingSince} />
      </Text>
    </>
  )
}

/** Sends a test call and says how it went. */
function useTestCall(id: string) {
  const queries = useQueryClient()
  const test = useMutation({
    mutationFn: () => call('POST /v1/alerts/channels/{id}/test', { params: { id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['channels'] })
  })
  const good = test.data?.status === 'delivered'
  const outcome = test.isError ? (
    <ProblemAlert error={test.error} />
  ) : test.data === undefined ? null : (
    <Alert
      color={good ? 'teal' : 'red'}
      variant="light"
      role="status"
      withCloseButton
      closeButtonLabel="Close"
      onClose={test.reset}
      title={good ? 'The test call was taken' : 'The test call was not taken'}
    >
      {outcomeInWords(test.data)}
      {test.data.response ? (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          It said: {test.data.response.slice(0, 300)}
        </Text>
      ) : null}
    </Alert>
  )
  return { test, outcome }
}

type Opened = 'deliveries' | 'change' | null

function WebhookCard({ channel }: { channel: Channel }) {
  const { id, name, url, events, enabled } = channel
  const queries = useQueryClient()
  const [opened, setOpened] = useState<Opened>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const { test, outcome } = useTestCall(id)
  const reload = () => queries.invalidateQueries({ queryKey: ['channels'] })
  const turn = useMutation({
    mutationFn: () => call('PATCH /v1/alerts/channels/{id}', { params: { id }, body: { enabled: !enabled } }),
    onSettled: reload
  })
  const close = () => setOpened(null)
  return (
    <Card component="li" withBorder padding="md">
      <Stack gap="sm">
        <Stack gap={2}>
          <Group gap="xs">
            <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Text>
            <Health {...channel} />
          </Group>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {url}
          </Text>
          <Text size="sm" c="dimmed">
            Tells of: {eventsInWords(events)}
          </Text>
        </Stack>
        <ProblemAlert error={turn.error} />
        {outcome}
        <Group gap="xs">
          <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </Button>
          <Button size="xs" variant="default" onClick={() => setOpened('deliveries')}>
            Messages
          </Button>
          <Button size="xs" variant="default" onClick={() => setOpened('change')}>
            Change
          </Button>
          <Button size="xs" variant="default" loading={turn.isPending} onClick={() => turn.mutate()}>
            {enabled ? 'Pause' : 'Resume'}
          </Button>
          <Confirm
            title={`A new secret for ${name}?`}
            action="Make a new one"
            work={async () => {
              setSecret((await call('POST /v1/alerts/channels/{id}/rotate', { params: { id } })).secret)
            }}
            trigger={(open) => (
              <Button size="xs" variant="default" onClick={open}>
                New secret
              </Button>
            )}
          >
            From now on every call is signed with the new one. Your server refuses them until it knows it; they are
            tried again for 24 hours.
          </Confirm>
          <Confirm
            title={`Delete ${name}?`}
            action="Delete"
            work={async () => {
              await call('DELETE /v1/alerts/channels/{id}', { params: { id } })
              await reload()
            }}
            trigger={(open) => (
              <Button size="xs" variant="subtle" color="red" onClick={open}>
                Delete
              </Button>
            )}
          >
            Nothing more is sent to it, not even what waits, and the log of its messages goes with it.
          </Confirm>
        </Group>
      </Stack>
      {opened === 'deliveries' ? <WebhookDeliveries channel={channel} onClose={close} /> : null}
      {opened === 'change' ? <WebhookDialog channel={channel} onClose={close} /> : null}
      <Modal
        opened={secret !== null}
        onClose={() => setSecret(null)}
        title="Secret of the webhook"
        size="lg"
        closeOnClickOutside={false}
        closeOnEscape={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {secret === null ? null : <WebhookSecret name={name} secret={secret} onSaved={() => setSecret(null)} />}
      </Modal>
    </Card>
  )
}

/** Webhooks: who is told of what, and how that went. */
export function WebhooksSection() {
  const [creating, setCreating] = useState(false)
  const query = useQuery({
    queryKey: ['channels'],
    queryFn: ({ signal }) => call('GET /v1/alerts/channels', { query: { limit: 1000 } }, signal),
    refetchInterval: 10_000
  })
  return (
    <Card withBorder>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          Webhooks
        </Title>
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
          New webhook
        </Button>
      </Group>
      <AsyncView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed" ta="center" py="lg">
              Nobody is told of outages yet. A webhook posts a message to an address of yours when one begins and when
              it ends.
            </Text>
          ) : (
            <Stack component="ul" gap="sm" className="plain-list">
              {data.map((channel) => (
                <WebhookCard key={channel.id} channel={channel} />
              ))}
            </Stack>
          )
        }
      </AsyncView>
      {creating ? <WebhookDialog onClose={() => setCreating(false)} /> : null}
    </Card>
  )
}
