import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api.ts'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { durationOf, exactOf } from '../ui/format.ts'
import { type MaintenanceWindow, useMaintenance } from '../ui/maintenance.tsx'
import { MaintenanceDialog } from '../ui/maintenance-dialog.tsx'
import { useMonitorChoices } from '../ui/monitor-choices.ts'
import { RelativeTime } from '../ui/relative-time.tsx'

/** Past windows that are listed. */
const SHOWN = 20
/** Monitors that a window names before it only counts them. */
const NAMED = 3

function timesInWords({ from, to, schedule, timezone, durationMinutes = 0 }: MaintenanceWindow): string {
  if (from !== undefined && to !== undefined) return `${exactOf(from)} – ${exactOf(to)}`
  return `${schedule} (${timezone}), each time for ${durationOf(durationMinutes * 60)}`
}

function scopeInWords({ monitorIds, tags }: MaintenanceWindow, names: ReadonlyMap<string, string>): string {
  if (tags.length > 0) return `Monitors with ${tags.map((tag) => `#${tag}`).join(' or ')}`
  const named = monitorIds.slice(0, NAMED).map((id) => names.get(id) ?? 'a monitor')
  const rest = monitorIds.length - named.length
  if (named.length === 0) return 'Its monitors were deleted'
  return rest === 0 ? named.join(', ') : `${named.join(', ')} and ${rest} more`
}

function When({ active, until, next }: MaintenanceWindow) {
  if (active) {
    return (
      <>
        <Badge color="yellow" autoContrast tt="none">
          Now
        </Badge>
        <Text size="sm">
          ends <RelativeTime at={until} ahead />
        </Text>
      </>
    )
  }
  if (next === null) return null
  return (
    <Text size="sm">
      begins <RelativeTime at={next} ahead />
    </Text>
  )
}

function Actions({ window, onChange }: { window: MaintenanceWindow; onChange: () => void }) {
  const { id, title, active, next, schedule } = window
  const queries = useQueryClient()
  const reload = () => queries.invalidateQueries({ queryKey: ['maintenance'] })
  const params = { id }
  const over = !active && next === null
  return (
    <Group gap="xs">
      {active ? (
        <Confirm
          title={`End ${title} now?`}
          action="End now"
          work={async () => {
            await call('POST /v1/maintenance/{id}/end', { params })
            await reload()
          }}
          trigger={(open) => (
            <Button size="xs" variant="default" onClick={open}>
              End now
            </Button>
          )}
        >
          What is down then is told at once.{schedule === undefined ? '' : ' It begins again at its next time.'}
        </Confirm>
      ) : null}
      {over ? null : (
        <Button size="xs" variant="default" onClick={onChange}>
          Change
        </Button>
      )}
      <Confirm
        title={`Delete ${title}?`}
        action="Delete"
        work={async () => {
          await call('DELETE /v1/maintenance/{id}', { params })
          await reload()
        }}
        trigger={(open) => (
          <Button size="xs" variant="subtle" color="red" onClick={open}>
            Delete
          </Button>
        )}
      >
        {over
          ? 'It leaves this list. What was maintenance stays so in the history.'
          : 'It does not begin again, and ends if it is now. What was maintenance stays so in the history.'}
      </Confirm>
    </Group>
  )
}

function WindowCard({ window, names }: { window: MaintenanceWindow; names: ReadonlyMap<string, string> }) {
  const [changing, setChanging] = useState(false)
  return (
    <Card component="li" withBorder padding="md">
      <Group justify="space-between" gap="sm">
        <Stack gap={2} miw={0}>
          <Group gap="xs">
            <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
              {window.title}
            </Text>
            <When {...window} />
          </Group>
          <Text size="sm">{timesInWords(window)}</Text>
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {scopeInWords(window, names)}
          </Text>
        </Stack>
        <Actions window={window} onChange={() => setChanging(true)} />
      </Group>
      {changing ? <MaintenanceDialog window={window} onClose={() => setChanging(false)} /> : null}
    </Card>
  )
}

function Windows({ title, windows }: { title: string; windows: readonly MaintenanceWindow[] }) {
  const names = new Map(useMonitorChoices().map(({ value, label }) => [value, label]))
  if (windows.length === 0) return null
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        {title}
      </Title>
      <Stack component="ul" gap="sm" className="plain-list" aria-label={title}>
        {windows.slice(0, SHOWN).map((window) => (
          <WindowCard key={window.id} window={window} names={names} />
        ))}
      </Stack>
      {windows.length > SHOWN ? <Text size="sm">The first {SHOWN} are shown.</Text> : null}
    </Stack>
  )
}

function byNext(a: MaintenanceWindow, b: MaintenanceWindow): number {
  return (a.next ?? '').localeCompare(b.next ?? '')
}

/** When people are told of nothing: what is now, what comes, what was. */
export function MaintenanceSection() {
  const [creating, setCreating] = useState(false)
  const query = useMaintenance()
  return (
    <Card withBorder>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          Maintenance
        </Title>
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
          New maintenance
        </Button>
      </Group>
      <AsyncView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed" ta="center" py="lg">
              Nothing is planned. During maintenance monitors go on, nobody is told of outages before its end, and the
              time does not count for uptime.
            </Text>
          ) : (
            <Stack>
              <Windows title="Now" windows={data.filter(({ active }) => active)} />
              <Windows
                title="Upcoming"
                windows={data.filter(({ active, next }) => !active && next !== null).sort(byNext)}
              />
              <Windows title="Past" windows={data.filter(({ active, next }) => !active && next === null)} />
            </Stack>
          )
        }
      </AsyncView>
      {creating ? <MaintenanceDialog onClose={() => setCreating(false)} /> : null}
    </Card>
  )
}
