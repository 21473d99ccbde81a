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

/** Says of a monitor that it is under maintenance, and until when. */
export function MaintenanceNote({ maintenance }: Pick<Answer<'GET /v1/monitors/{id}'>, 'maintenance'>) {
  if (maintenance === null) return null
  return (
    <>
      <Badge variant="default" size="lg" tt="none">
        Maintenance
      </Badge>
      <Text span size="sm">
        {maintenance.title}, it ends <RelativeTime at={maintenance.until} ahead />
      </Text>
    </>
  )
}
