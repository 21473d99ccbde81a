import { Center, Loader, Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ProblemAlert } from './problem-alert.tsx'

/** A query as a page shows it: waiting, failed, or there. What was there stays while it cannot be asked again. */
export function AsyncView<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) {
    return (
      <Stack gap="md">
        {query.isError ? <ProblemAlert error={query.error} again={() => void query.refetch()} /> : null}
        {children(query.data)}
      </Stack>
    )
  }
  if (query.isError) return <ProblemAlert error={query.error} again={() => void query.refetch()} />
  return (
    <Center mih={160}>
      <Loader role="status" aria-label="Loading" />
    </Center>
  )
}
