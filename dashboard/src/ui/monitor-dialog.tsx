import { Button, Group, Modal, NumberInput, Select, Stack, TagsInput, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { type Answer, call } from '../api.ts'
import { ProblemAlert } from './problem-alert.tsx'
import { useSubmit } from './use-submit.ts'

type Monitor = Answer<'GET /v1/monitors/{id}'>

const KINDS = [
  { value: 'push', label: 'Push URL: a script pings an address' },
  { value: 'http', label: 'HTTP: an agent opens a URL' },
  { value: 'tcp', label: 'TCP: an agent connects to a port' },
  { value: 'heartbeat', label: 'Heartbeat: a program calls the API' }
] as const
type Kind = (typeof KINDS)[number]['value']

const TARGETS: Partial<Record<string, string>> = { http: 'https://example.com/health', tcp: 'example.com:443' }

interface Values {
  name: string
  kind: string
  target: string
  intervalSeconds: number
  tags: string[]
}

async function save(monitor: Monitor | undefined, values: Values): Promise<string> {
  const { name, kind, target, intervalSeconds, tags } = values
  const common = { name, intervalSeconds, tags, ...(kind in TARGETS ? { target } : {}) }
  if (monitor === undefined) {
    return (await call('POST /v1/monitors', { body: { ...common, kind: kind as Kind } })).id
  }
  await call('PATCH /v1/monitors/{id}', { params: { id: monitor.id }, body: common })
  return monitor.id
}

/** Creates a monitor, or changes the given one. */
export function MonitorDialog({ monitor, onClose }: { monitor?: Monitor; onClose: () => void }) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const initialValues: Values = {
    name: monitor?.name ?? '',
    kind: monitor?.kind ?? 'push',
    target: monitor?.target ?? '',
    intervalSeconds: monitor?.intervalSeconds ?? 60,
    tags: monitor?.tags ?? []
  }
  const form = useForm({ initialValues })
  const { fault, busy, onSubmit } = useSubmit(form, async (values) => {
    const id = await save(monitor, values)
    await queries.invalidateQueries({ queryKey: ['monitors'] })
    onClose()
    navigate(`/monitors/${id}`)
  })
  const placeholder = TARGETS[form.values.kind]
  return (
    <Modal
      opened
      onClose={onClose}
      title={monitor === undefined ? 'New monitor' : `Change ${monitor.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <ProblemAlert error={fault} />
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          {monitor === undefined ? (
            <Select label="Kind" data={KINDS} allowDeselect={false} {...form.getInputProps('kind')} />
          ) : null}
          {placeholder === undefined ? null : (
            <TextInput label="Target" required placeholder={placeholder} {...form.getInputProps('target')} />
          )}
          <NumberInput
            label="Interval in seconds"
            description="How often a heartbeat is expected."
            min={10}
            required
            {...form.getInputProps('intervalSeconds')}
          />
          <TagsInput label="Tags" {...form.getInputProps('tags')} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy}>
              {monitor === undefined ? 'Create' : 'Save'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
