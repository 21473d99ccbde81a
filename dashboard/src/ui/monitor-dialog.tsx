import {
  Button,
  Checkbox,
  Collapse,
  Group,
  Modal,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  TagsInput,
  TextInput
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDisclosure } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { useMonitorChoices } from './monitor-choices.ts'
import {
  KINDS,
  type Monitor,
  QUORUMS,
  reportsByItself,
  saveMonitor,
  TARGETS,
  type Values,
  valuesOf
} from './monitor-values.ts'
import { ProblemAlert } from './problem-alert.tsx'
import { useSubmit } from './use-submit.ts'

type Form = ReturnType<typeof useForm<Values>>

/** When the next heartbeat is expected. */
function Timing({ form }: { form: Form }) {
  const { kind, timing } = form.values
  const scheduled = timing === 'schedule' && reportsByItself(kind)
  return (
    <>
      {reportsByItself(kind) ? (
        <SegmentedControl
          aria-label="Expected"
          data={[
            { value: 'interval', label: 'By interval' },
            { value: 'schedule', label: 'By schedule' }
          ]}
          {...form.getInputProps('timing')}
        />
      ) : null}
      {scheduled ? (
        <>
          <TextInput
            label="Schedule"
            description="As in a crontab: minute, hour, day, month, weekday."
            placeholder="30 2 * * *"
            required
            {...form.getInputProps('schedule')}
          />
          <Select
            label="Time zone"
            data={Intl.supportedValuesOf('timeZone')}
            searchable
            limit={50}
            {...form.getInputProps('timezone')}
          />
        </>
      ) : (
        <NumberInput
          label="Interval in seconds"
          description="How often a heartbeat is expected."
          min={10}
          required
          {...form.getInputProps('intervalSeconds')}
        />
      )}
    </>
  )
}

/** Who decides, where several agents check it. */
function Quorum({ form }: { form: Form }) {
  return (
    <>
      <Select
        label="Down when"
        description="Of the agents that check it and are online. With one agent all of these are the same."
        data={QUORUMS}
        allowDeselect={false}
        {...form.getInputProps('quorum')}
      />
      {form.values.quorum === 'count' ? (
        <NumberInput
          label="How many agents"
          description="All of them, when fewer are online."
          min={1}
          max={50}
          {...form.getInputProps('quorumCount')}
        />
      ) : null}
    </>
  )
}

function More({ form, ownId }: { form: Form; ownId: string | undefined }) {
  const { kind } = form.values
  const choices = useMonitorChoices().filter(({ value }) => value !== ownId)
  return (
    <Stack>
      <NumberInput
        label="Grace in seconds"
        description="How late a heartbeat may be. Empty: a fifth of the interval, at least 30."
        min={0}
        {...form.getInputProps('graceSeconds')}
      />
      {reportsByItself(kind) ? null : (
        <NumberInput
          label="Time-out in seconds"
          description="Empty: 10."
          min={1}
          {...form.getInputProps('timeoutSeconds')}
        />
      )}
      {kind === 'push' ? (
        <NumberInput
          label="Longest run in seconds"
          description="A run that said it starts and has not ended by then is down. Empty: no bound."
          min={1}
          {...form.getInputProps('maxRuntimeSeconds')}
        />
      ) : null}
      <Group grow align="flex-start">
        <NumberInput
          label="Confirmations"
          description="Reports of down in a row before it is."
          min={1}
          {...form.getInputProps('confirmations')}
        />
        <NumberInput
          label="Recoveries"
          description="Reports of up in a row before it is."
          min={1}
          {...form.getInputProps('recoveries')}
        />
      </Group>
      {reportsByItself(kind) ? (
        <Checkbox
          label="A heartbeat resumes it"
          description="While it is paused, a heartbeat that does not say down ends the pause."
          {...form.getInputProps('resumeOnPing', { type: 'checkbox' })}
        />
      ) : (
        <>
          <Quorum form={form} />
          <Checkbox
            label="It is the machine of its agent"
            description="When the agent is gone it is down, and not unknown."
            {...form.getInputProps('agentIsTarget', { type: 'checkbox' })}
          />
        </>
      )}
      <MultiSelect
        label="Depends on"
        description="While one of them is down, nobody is told of this one."
        data={choices}
        searchable
        clearable
        {...form.getInputProps('parentIds')}
      />
      <TagsInput label="Tags" {...form.getInputProps('tags')} />
    </Stack>
  )
}

/** Creates a monitor, or changes the given one. */
export function MonitorDialog({ monitor, onClose }: { monitor?: Monitor; onClose: () => void }) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [more, { toggle }] = useDisclosure(monitor !== undefined)
  const form = useForm({ initialValues: valuesOf(monitor) })
  const { fault, busy, onSubmit } = useSubmit(form, async (values) => {
    const id = await saveMonitor(monitor, values)
    await queries.invalidateQueries({ queryKey: ['monitors'] })
    onClose()
    navigate(`/monitors/${id}`)
  })
  const placeholder = TARGETS[form.values.kind]
  const title = monitor === undefined ? 'New monitor' : `Change ${monitor.name}`
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
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
          <Timing form={form} />
          <Group>
            <Button variant="subtle" size="compact-sm" onClick={toggle} aria-expanded={more}>
              {more ? 'Fewer options' : 'More options'}
            </Button>
          </Group>
          <Collapse expanded={more}>
            <More form={form} ownId={monitor?.id} />
          </Collapse>
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
