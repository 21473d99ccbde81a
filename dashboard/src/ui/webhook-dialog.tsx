import { Button, Checkbox, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api.ts'
import { ProblemAlert } from './problem-alert.tsx'
import { useSubmit } from './use-submit.ts'
import { WebhookSecret } from './webhook-secret.tsx'
import { type Channel, type ChannelEvent, EVENTS } from './webhook-words.ts'

interface Values {
  name: string
  url: string
  events: ChannelEvent[]
}

interface Made {
  name: string
  secret: string
}

interface Options {
  channel: Channel | undefined
  onMade: (made: Made) => void
  onClose: () => void
}

function WebhookForm({ channel, onMade, onClose }: Options) {
  const queries = useQueryClient()
  const { name = '', url = '', events = ['down', 'agent', 'pending'] } = channel ?? {}
  const form = useForm<Values>({ initialValues: { name, url, events } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    const made =
      channel === undefined ? await call('POST /v1/alerts/channels', { body: { kind: 'webhook', ...body } }) : undefined
    if (channel !== undefined) await call('PATCH /v1/alerts/channels/{id}', { params: { id: channel.id }, body })
    await queries.invalidateQueries({ queryKey: ['channels'] })
    if (made === undefined) onClose()
    else onMade(made)
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <ProblemAlert error={fault} />
        <TextInput label="Name" placeholder="On call" required data-autofocus {...form.getInputProps('name')} />
        <TextInput
          label="URL"
          type="url"
          description="Messages are posted to it as JSON. It has to be reachable from this installation."
          placeholder="https://example.com/hooks/pulsegate"
          required
          {...form.getInputProps('url')}
        />
        <Checkbox.Group label="Tell of" required {...form.getInputProps('events')}>
          <Stack gap="xs" mt="xs">
            {EVENTS.map((event) => (
              <Checkbox key={event.value} {...event} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            {channel === undefined ? 'Create' : 'Save'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Makes a webhook and shows its secret once, or changes the given one. */
export function WebhookDialog({ channel, onClose }: { channel?: Channel; onClose: () => void }) {
  const [made, setMade] = useState<Made | null>(null)
  const title = channel === undefined ? 'New webhook' : `Change ${channel.name}`
  return (
    <Modal
      opened
      onClose={onClose}
      title={made === null ? title : 'Secret of the webhook'}
      size="lg"
      closeOnClickOutside={made === null}
      closeOnEscape={made === null}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {made === null ? (
        <WebhookForm channel={channel} onMade={setMade} onClose={onClose} />
      ) : (
        <WebhookSecret {...made} onSaved={onClose} />
      )}
    </Modal>
  )
}
