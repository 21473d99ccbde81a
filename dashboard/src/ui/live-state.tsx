import { Group, Text } from '@mantine/core'
import { useConnected, useLiveEvents } from './live-events.ts'

/** Follows what happens, and says whether it does. */
export function LiveState() {
  useLiveEvents()
  const live = useConnected()
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
