import { Group, SegmentedControl, Select, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useSearchParams } from 'wouter'
import type { Monitor } from './monitor-row.tsx'

const STATES = ['all', 'down', 'degraded', 'up', 'unknown', 'paused'] as const
/** What needs a person comes first. */
const ORDER = { down: 0, degraded: 1, unknown: 2, pending: 3, up: 4, paused: 5 } as const

export interface Filters {
  state: string
  tag: string
  words: string
}

/** Filters live in the address, so that they can be sent to somebody and survive the way back. */
export function useFilters() {
  const [search, setSearch] = useSearchParams()
  const filters: Filters = {
    state: search.get('state') ?? 'all',
    tag: search.get('tag') ?? '',
    words: search.get('q') ?? ''
  }
  const set = (name: 'state' | 'tag' | 'q', value: string) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '' || value === 'all') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true }
    )
  return { filters, set }
}

export function findMonitors(monitors: readonly Monitor[], { state, tag, words }: Filters): Monitor[] {
  const wanted = words.trim().toLowerCase()
  return monitors
    .filter((monitor) => state === 'all' || monitor.state === state)
    .filter(({ tags }) => tag === '' || tags.includes(tag))
    .filter(({ name, target, tags }) =>
      [name, target ?? '', ...tags].some((text) => text.toLowerCase().includes(wanted))
    )
    .toSorted((a, b) => ORDER[a.state] - ORDER[b.state] || (a.name < b.name ? -1 : 1))
}

function labelOf(state: string, monitors: readonly Monitor[]): string {
  const count = state === 'all' ? monitors.length : monitors.filter((monitor) => monitor.state === state).length
  return `${state[0]?.toUpperCase()}${state.slice(1)} ${count}`
}

export function MonitorFilters({
  monitors,
  filters,
  set
}: { monitors: readonly Monitor[] } & ReturnType<typeof useFilters>) {
  const tags = [...new Set(monitors.flatMap((monitor) => monitor.tags))].sort()
  return (
    <Group gap="sm">
      <TextInput
        aria-label="Search monitors"
        placeholder="Search by name, target or tag"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={filters.words}
        onChange={(event) => set('q', event.currentTarget.value)}
        style={{ flex: '2 1 170px' }}
      />
      {tags.length === 0 ? null : (
        <Select
          aria-label="Tag"
          placeholder="Every tag"
          data={tags}
          value={filters.tag === '' ? null : filters.tag}
          onChange={(tag) => set('tag', tag ?? '')}
          clearable
          clearButtonProps={{ 'aria-label': 'Every tag' }}
          searchable
          style={{ flex: '1 1 130px' }}
          maw={260}
        />
      )}
      <div style={{ maxWidth: '100%', overflowX: 'auto' }}>
        <SegmentedControl
          aria-label="State"
          size="xs"
          value={filters.state}
          onChange={(value) => set('state', value)}
          data={STATES.map((value) => ({ value, label: labelOf(value, monitors) }))}
        />
      </div>
    </Group>
  )
}
