import { Anchor, Button, Card, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { type Answer, call } from '../api.ts'
import { AsyncView } from '../ui/async-view.tsx'
import { MonitorDialog } from '../ui/monitor-dialog.tsx'
import { Page } from '../ui/page.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { StateBadge } from '../ui/state-badge.tsx'

type Monitor = Answer<'GET /v1/monitors'>['data'][number]

/** What needs a person comes first. */
const ORDER = { down: 0, degraded: 1, unknown: 2, pending: 3, up: 4, paused: 5 } as const
const FILTERS = ['all', 'down', 'degraded', 'up', 'paused'] as const

function MonitorRow({ monitor }: { monitor: Monitor }) {
  return (
    <Card component="li" withBorder padding="sm">
      <Group justify="space-between" gap="sm" wrap="nowrap">
        <Group gap="sm" wrap="nowrap" miw={0}>
          <StateBadge state={monitor.state} />
          <Stack gap={0} miw={0}>
            <Anchor component={Link} href={`/monitors/${monitor.id}`} fw={600} className="clip">
              {monitor.name}
            </Anchor>
            <Text size="sm" c="dimmed" className="clip">
              {monitor.target ?? monitor.kind}
            </Text>
          </Stack>
        </Group>
        <Text size="sm" c="dimmed" ta="right" style={{ flexShrink: 0 }}>
          <RelativeTime at={monitor.lastHeartbeatAt} never="no heartbeat yet" />
        </Text>
      </Group>
    </Card>
  )
}

function Found({ monitors, state, words }: { monitors: Monitor[]; state: string; words: string }) {
  const wanted = words.toLowerCase()
  const found = monitors
    .filter((monitor) => state === 'all' || monitor.state === state)
    .filter(({ name, target, tags }) =>
      [name, target ?? '', ...tags].some((text) => text.toLowerCase().includes(wanted))
    )
    .toSorted((a, b) => ORDER[a.state] - ORDER[b.state] || a.name.localeCompare(b.name))
  if (found.length === 0) return <Text c="dimmed">No monitor fits.</Text>
  return (
    <Stack component="ul" gap="xs" className="plain-list">
      {found.map((monitor) => (
        <MonitorRow key={monitor.id} monitor={monitor} />
      ))}
    </Stack>
  )
}

export function MonitorsPage() {
  const [search, setSearch] = useSearchParams()
  const [creating, setCreating] = useState(false)
  const state = search.get('state') ?? 'all'
  const words = search.get('q') ?? ''
  const query = useQuery({
    queryKey: ['monitors'],
    queryFn: ({ signal }) => call('GET /v1/monitors', { query: { limit: 1000 } }, signal),
    refetchInterval: 5000
  })
  const set = (name: string, value: string) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '' || value === 'all') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true }
    )
  return (
    <Page
      title="Monitors"
      actions={
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
          New monitor
        </Button>
      }
    >
      <AsyncView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Card withBorder padding="xl">
              <Stack align="center">
                <Text>Nothing is watched yet.</Text>
                <Button component={Link} href="/welcome">
                  Set up the first monitor
                </Button>
              </Stack>
            </Card>
          ) : (
            <>
              <Group gap="sm">
                <TextInput
                  aria-label="Search monitors"
                  placeholder="Search by name, target or tag"
                  leftSection={<IconSearch size={16} aria-hidden />}
                  value={words}
                  onChange={(event) => set('q', event.currentTarget.value)}
                  style={{ flex: '1 1 220px' }}
                />
                <SegmentedControl
                  aria-label="State"
                  value={state}
                  onChange={(value) => set('state', value)}
                  data={FILTERS.map((value) => ({
                    value,
                    label: value === 'all' ? 'All' : value[0]?.toUpperCase() + value.slice(1)
                  }))}
                />
              </Group>
              <Found monitors={data} state={state} words={words} />
            </>
          )
        }
      </AsyncView>
      {creating ? <MonitorDialog onClose={() => setCreating(false)} /> : null}
    </Page>
  )
}
