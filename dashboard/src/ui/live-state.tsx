import { Group, Text } from '@mantine/core'
import { onlineManager, useQueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { Problem } from '../api.ts'

function isAway(error: unknown): boolean {
  return error instanceof Problem && (error.status === 0 || error.status >= 500)
}

/** Is what the page shows kept fresh? Not while the API is away or the machine has no network. */
function useIsLive(): boolean {
  const cache = useQueryClient().getQueryCache()
  return useSyncExternalStore(
    (changed) => {
      const ends = [cache.subscribe(changed), onlineManager.subscribe(changed)]
      return () => {
        for (const end of ends) end()
      }
    },
    () =>
      onlineManager.isOnline() &&
      !cache
        .getAll()
        .some((query) => query.isActive() && (isAway(query.state.error) || isAway(query.state.fetchFailureReason)))
  )
}

export function LiveState() {
  const live = useIsLive()
  return (
    <Group gap={6} wrap="nowrap" role="status">
      <span
        aria-hidden
        style={{
          width: 8,
          height: 8,
          borderRadius: '50%',
          background: live ? 'var(--mantine-color-teal-6)' : 'var(--mantine-color-orange-6)'
        }}
      />
      <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
        {live ? 'Live' : 'Reconnecting'}
      </Text>
    </Group>
  )
}
