import { useQuery } from '@tanstack/react-query'
import { call } from '../api.ts'

/** Every monitor, as far as one page goes; none while they are not known. */
export function useMonitors() {
  const { data } = useQuery({
    queryKey: ['monitors', 'choices'],
    queryFn: ({ signal }) => call('GET /v1/monitors', { query: { limit: 1000 } }, signal)
  })
  return data?.data ?? []
}

/** Monitors to choose from. */
export function useMonitorChoices() {
  return useMonitors().map(({ id, name }) => ({ value: id, label: name }))
}
