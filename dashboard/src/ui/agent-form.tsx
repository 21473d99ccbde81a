import { Button, Checkbox, Group, MultiSelect, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Answer } from '../api.ts'
import { useMonitors } from './monitor-choices.ts'
import { reportsByItself } from './monitor-values.ts'
import { ProblemAlert } from './problem-alert.tsx'
import { useSubmit } from './use-submit.ts'

export type Agent = Answer<'GET /v1/agents'>['data'][number]

const SCOPES = [
  { value: 'heartbeats:write', label: 'Report heartbeats' },
  { value: 'heartbeats:read', label: 'Read heartbeats' },
  { value: 'monitors:read', label: 'Read monitors' }
] as const

export type AgentValues = Pick<Agent, 'name' | 'kind' | 'monitorIds' | 'scopes'>

const KINDS = [
  { value: 'agent', label: 'Agent' },
  { value: 'service', label: 'Service' }
]
const MEANING = {
  agent:
    'Our agent on a machine of yours: it runs the checks of its monitors and reports over one outbound connection.',
  service: 'A program of your own (CI, automation, a third-party agent) that reports by the API.'
}

/** What the key may report: for an agent first of all what it checks by itself. */
function MonitorSet({ form }: { form: ReturnType<typeof useForm<AgentValues>> }) {
  const monitors = useMonitors()
  const { kind, monitorIds } = form.values
  const checked = monitors.filter((monitor) => !reportsByItself(monitor.kind))
  const others = monitors.filter((monitor) => reportsByItself(monitor.kind))
  const groups = [
    { group: 'Checked by agents', items: checked },
    { group: 'Reported by programs', items: others }
  ].filter(({ items }) => items.length > 0)
  const all = (kind === 'agent' ? checked : monitors).map(({ id }) => id)
  const isAll = all.every((id) => monitorIds.includes(id))
  return (
    <Stack gap={4}>
      <MultiSelect
        label="Monitors"
        description={
          monitors.length === 0 ? 'There are none yet; you can choose them later.' : 'What the key may report.'
        }
        data={groups.map(({ group, items }) => ({
          group,
          items: items.map(({ id, name }) => ({ value: id, label: name }))
        }))}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'Choose none' }}
        nothingFoundMessage="No such monitor"
        {...form.getInputProps('monitorIds')}
      />
      {isAll ? null : (
        <Group>
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() => form.setFieldValue('monitorIds', [...new Set([...monitorIds, ...all])])}
          >
            {kind === 'agent' ? 'Choose all that agents check' : 'Choose all'} ({all.length})
          </Button>
        </Group>
      )}
    </Stack>
  )
}

interface Props {
  initial: AgentValues
  action: 'Create' | 'Save'
  work: (values: AgentValues) => Promise<void>
  onCancel: () => void
}

/** What there is to say of an agent or service. What it is stays so once it is made. */
export function AgentForm({ initial, action, work, onCancel }: Props) {
  const form = useForm({ initialValues: initial })
  const { fault, busy, onSubmit } = useSubmit(form, work)
  const { kind } = form.values
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <ProblemAlert error={fault} />
        <TextInput label="Name" placeholder="web-1" required data-autofocus {...form.getInputProps('name')} />
        {action === 'Create' ? (
          <Stack gap="xs">
            <SegmentedControl aria-label="Kind" data={KINDS} {...form.getInputProps('kind')} />
            <Text size="sm" c="dimmed">
              {MEANING[kind]}
            </Text>
          </Stack>
        ) : null}
        <MonitorSet form={form} />
        {kind === 'agent' ? null : (
          <Checkbox.Group label="The key may" {...form.getInputProps('scopes')}>
            <Stack gap="xs" mt="xs">
              {SCOPES.map(({ value, label }) => (
                <Checkbox key={value} value={value} label={label} />
              ))}
            </Stack>
          </Checkbox.Group>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
