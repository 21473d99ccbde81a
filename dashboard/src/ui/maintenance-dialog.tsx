import {
  Button,
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
import { useQueryClient } from '@tanstack/react-query'
import type { MaintenanceWindow } from './maintenance.tsx'
import { OWN_ZONE, saveMaintenance, type Values, valuesOf } from './maintenance-values.ts'
import { useMonitorChoices } from './monitor-choices.ts'
import { ProblemAlert } from './problem-alert.tsx'
import { useSubmit } from './use-submit.ts'

type Form = ReturnType<typeof useForm<Values>>

function Once({ form }: { form: Form }) {
  const zone = `Your time zone: ${OWN_ZONE}`
  return (
    <Group grow align="flex-start" preventGrowOverflow={false}>
      <TextInput label="Begins" type="datetime-local" description={zone} required {...form.getInputProps('from')} />
      <TextInput label="Ends" type="datetime-local" description={zone} required {...form.getInputProps('to')} />
    </Group>
  )
}

function Recurring({ form }: { form: Form }) {
  return (
    <>
      <TextInput
        label="Begins at"
        description="As in a crontab: minute, hour, day, month, weekday. 0 3 * * 0 is each Sunday at 3:00."
        placeholder="0 3 * * 0"
        required
        {...form.getInputProps('schedule')}
      />
      <Group grow align="flex-start">
        <NumberInput label="Minutes it takes" min={1} required {...form.getInputProps('durationMinutes')} />
        <Select
          label="Time zone"
          data={Intl.supportedValuesOf('timeZone')}
          searchable
          limit={50}
          allowDeselect={false}
          {...form.getInputProps('timezone')}
        />
      </Group>
    </>
  )
}

/** Plans maintenance, or changes the given window. */
export function MaintenanceDialog({ window, onClose }: { window?: MaintenanceWindow; onClose: () => void }) {
  const queries = useQueryClient()
  const choices = useMonitorChoices()
  const form = useForm<Values>({ initialValues: valuesOf(window) })
  const { fault, busy, onSubmit } = useSubmit(form, async (values) => {
    await saveMaintenance(window, values)
    await queries.invalidateQueries({ queryKey: ['maintenance'] })
    onClose()
  })
  return (
    <Modal
      opened
      onClose={onClose}
      title={window === undefined ? 'New maintenance' : `Change ${window.title}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <ProblemAlert error={fault} />
          <TextInput
            label="Title"
            placeholder="Database update"
            required
            data-autofocus
            {...form.getInputProps('title')}
          />
          <SegmentedControl
            aria-label="How often"
            data={[
              { value: 'once', label: 'Once' },
              { value: 'recurring', label: 'Again and again' }
            ]}
            {...form.getInputProps('kind')}
          />
          {form.values.kind === 'once' ? <Once form={form} /> : <Recurring form={form} />}
          <MultiSelect
            label="Monitors"
            data={choices}
            searchable
            clearable
            nothingFoundMessage="No such monitor"
            {...form.getInputProps('monitorIds')}
          />
          <TagsInput
            label="Or tags"
            description="Every monitor that has one of them, also those to come."
            {...form.getInputProps('tags')}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy}>
              {window === undefined ? 'Create' : 'Save'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
