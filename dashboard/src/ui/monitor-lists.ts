import { queryOptions } from '@tanstack/react-query'
import { call } from '../api.ts'

/** Every monitor with its state. */
export const monitorsQuery = queryOptions({
  queryKey: ['monitors'],
  queryFn: ({ signal }) => call('GET /v1/monitors', { query: { limit: 1000 } }, signal),
  refetchInterval: 5000
})

/** What each row shows besides. Asked for by itself and less often: it is most of the bytes. */
export const overviewsQuery = queryOptions({
  queryKey: ['monitors', 'overview'],
  queryFn: ({ signal }) => call('GET /v1/monitors', { query: { limit: 1000, expand: 'overview' } }, signal),
  refetchInterval: 60_000,
  staleTime: 30_000
})
