import { Button, Card, Stack, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useDeferredValue, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { AsyncView } from '../ui/async-view.tsx'
import { BulkBar } from '../ui/bulk-bar.tsx'
import { MonitorDialog } from '../ui/monitor-dialog.tsx'
import { findMonitors, MonitorFilters, useFilters } from '../ui/monitor-filters.tsx'
import { monitorsQuery, overviewsQuery } from '../ui/monitor-lists.ts'
import { type Monitor, MonitorColumns, MonitorRow } from '../ui/monitor-row.tsx'
import { Page } from '../ui/page.tsx'

/** Rows that are there at once; the others follow while one may already click. */
const FIRST_ROWS = 30

function Empty() {
  return (
    <Card withBorder padding="xl">
      <Stack align="center">
        <Text>Nothing is watched yet.</Text>
        <Button component={Link} href="/welcome">
          Set up the first monitor
        </Button>
      </Stack>
    </Card>
  )
}

function Monitors({ monitors, more }: { monitors: Monitor[]; more: boolean }) {
  const { data: withOverviews, dataUpdatedAt } = useQuery(overviewsQuery)
  const overviews = useMemo(
    () => new Map(withOverviews?.data.map(({ id, overview }) => [id, overview])),
    [withOverviews]
  )
  const filtering = useFilters()
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const found = findMonitors(monitors, filtering.filters)
  const shown = useDeferredValue(found.length, FIRST_ROWS)
  const onPick = useCallback((id: string, yes: boolean) => {
    setPicked((before) => new Set(yes ? [...before, id] : [...before].filter((other) => other !== id)))
  }, [])
  const ids = monitors.filter(({ id }) => picked.has(id)).map(({ id }) => id)
  return (
    <>
      <MonitorFilters monitors={monitors} {...filtering} />
      <BulkBar ids={ids} onDone={() => setPicked(new Set())} />
      {more ? <Text size="sm">The newest 1,000 monitors are shown.</Text> : null}
      {found.length === 0 ? (
        <Text c="dimmed">No monitor fits.</Text>
      ) : (
        <div className="monitor-list">
          <MonitorColumns />
          <ul className="plain-list">
            {found.slice(0, shown).map((monitor) => (
              <MonitorRow
                key={monitor.id}
                monitor={monitor}
                overview={overviews.get(monitor.id)}
                readAt={dataUpdatedAt}
                picked={picked.has(monitor.id)}
                onPick={onPick}
              />
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

export function MonitorsPage() {
  const [creating, setCreating] = useState(false)
  const query = useQuery(monitorsQuery)
  return (
    <Page
      title="Monitors"
      wide
      actions={
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
          New monitor
        </Button>
      }
    >
      <AsyncView query={query}>
        {({ data, nextCursor }) =>
          data.length === 0 ? <Empty /> : <Monitors monitors={data} more={nextCursor !== null} />
        }
      </AsyncView>
      {creating ? <MonitorDialog onClose={() => setCreating(false)} /> : null}
    </Page>
  )
}
