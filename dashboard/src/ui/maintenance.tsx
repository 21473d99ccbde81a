import { Badge, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Answer, call } from '../api.ts'
import { RelativeTime } from './relative-time.tsx'

export type MaintenanceWindow = Answer<'GET /v1/maintenance'>['data'][number]

/** Every maintenance window. The live stream tells when one begins, ends or is changed. */
export function useMaintenance() {
  return useQuery({
    queryKey: ['maintenance'],
    queryFn: ({ signal }) => call('GET /v1/maintenance', { query: { limit: 1000 } }, signal),
    refetchInterval: 60_000
  })
}

interface Scoped {
  id: string
  tags: readonly string[]
}

/** Tells under which window a monitor is now; undefined: under none. */
export function useMaintenanceOf(): (monitor: Scoped) => MaintenanceWindow | undefined {
  const now = useMaintenance().data?.data.filter(({ active }) => active) ?? []
  return ({ id, tags }) =>
    now.find((window) => window.monitorIds.includes(id) || window.tags.some((tag) => tags.includes(tag)))
}

/** Says of a monitor that it is under maintenance, and until when. */
export function MaintenanceNote({ monitor }: { monitor: Scoped }) {
  const window = useMaintenanceOf()(monitor)
  if (window === undefined) return null
  return (
    <>
      <Badge variant="default" size="lg" tt="none">
        Maintenance
      </Badge>
      <Text span size="sm">
        {window.title}, it ends <RelativeTime at={window.until} ahead />
      </Text>
    </>
  )
}
