import { Button, Checkbox, Group, Modal, MultiSelect, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api.ts'
import { NewKey } from './new-key.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import { useSubmit } from './use-submit.ts'

type Made = Answer<'POST /v1/agents'>
const SCOPES = [
  { value: 'heartbeats:write', label: 'Report heartbeats' },
  { value: 'heartbeats:read', label: 'Read heartbeats' },
  { value: 'monitors:read', label: 'Read monitors' }
] as const
type Scope = (typeof SCOPES)[number]['value']

interface Values {
  name: string
  kind: 'agent' | 'service'
  monitorIds: string[]
  scopes: Scope[]
}

/** Monitors to choose from. */
export function useMonitorChoices(enabled = true) {
  const query = useQuery({
    queryKey: ['monitors', 'choices'],
    queryFn: ({ signal }) => call('GET /v1/monitors', { query: { limit: 1000 } }, signal),
    enabled
  })
  return (query.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))
}

function AgentForm({ onMade, onCancel }: { onMade: (made: Made) => void; onCancel: () => void }) {
  const choices = useMonitorChoices()
  const queries = useQueryClient()
  const initialValues: Values = { name: '', kind: 'agent', monitorIds: [], scopes: ['heartbeats:write'] }
  const form = useForm({ initialValues })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    const made = await call('POST /v1/agents', { body })
    await queries.invalidateQueries({ queryKey: ['agents'] })
    onMade(made)
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <ProblemAlert error={fault} />
        <TextInput label="Name" placeholder="web-1" required data-autofocus {...form.getInputProps('name')} />
        <SegmentedControl
          aria-label="Kind"
          data={[
            { value: 'agent', label: 'Agent' },
            { value: 'service', label: 'Service' }
          ]}
          {...form.getInputProps('kind')}
        />
        <Text size="sm" c="dimmed">
          {form.values.kind === 'agent'
            ? 'Our agent on a machine of yours: it runs the checks of its monitors and reports over one outbound connection.'
            : 'A program of your own (CI, automation, a third-party agent) that reports by the API.'}
        </Text>
        <MultiSelect
          label="Monitors"
          description="What the key may report; you can change it later."
          data={choices}
          searchable
          clearable
          nothingFoundMessage="No such monitor"
          {...form.getInputProps('monitorIds')}
        />
        <Checkbox.Group label="The key may" {...form.getInputProps('scopes')}>
          <Stack gap="xs" mt="xs">
            {SCOPES.map(({ value, label }) => (
              <Checkbox key={value} value={value} label={label} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Makes an agent or a service and shows its key once. */
export function NewAgent() {
  const [opened, { open, close }] = useDisclosure(false)
  const [made, setMade] = useState<Made | null>(null)
  const shut = () => {
    close()
    setMade(null)
  }
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
        New Agent
      </Button>
      <Modal
        opened={opened}
        onClose={shut}
        title={made === null ? 'New agent' : 'API key'}
        size="lg"
        closeOnClickOutside={made === null}
        closeOnEscape={made === null}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {made === null ? <AgentForm onMade={setMade} onCancel={shut} /> : <NewKey made={made} onSaved={shut} />}
      </Modal>
    </>
  )
}
