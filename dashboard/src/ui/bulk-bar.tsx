import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../api.ts'
import { Confirm } from './confirm.tsx'
import { messageOf } from './problem-alert.tsx'

/** Most that one call takes. */
const CHUNK = 500

/** What can be done to the selected monitors together. */
export function BulkBar({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) {
  const queries = useQueryClient()
  if (ids.length === 0) return null
  const many = ids.length === 1 ? '1 monitor' : `${ids.length} monitors`
  async function apply(action: 'pause' | 'resume' | 'delete'): Promise<void> {
    try {
      for (let i = 0; i < ids.length; i += CHUNK) {
        await call('POST /v1/monitors/bulk', { body: { ids: ids.slice(i, i + CHUNK), action } })
      }
      onDone()
    } finally {
      await queries.invalidateQueries({ queryKey: ['monitors'] })
    }
  }
  const attempt = (action: 'pause' | 'resume') =>
    void apply(action).catch((error: unknown) => notifications.show({ color: 'red', message: messageOf(error) }))
  return (
    <Group gap="sm" role="region" aria-label="Selected monitors">
      <Text size="sm">{many} selected</Text>
      <Button size="xs" variant="default" onClick={() => attempt('pause')}>
        Pause
      </Button>
      <Button size="xs" variant="default" onClick={() => attempt('resume')}>
        Resume
      </Button>
      <Confirm
        title={`Delete ${many}?`}
        action="Delete"
        work={() => apply('delete')}
        trigger={(open) => (
          <Button size="xs" variant="light" color="red" onClick={open}>
            Delete
          </Button>
        )}
      >
        They are no longer watched, and their history can no longer be read. This cannot be undone.
      </Confirm>
      <Button size="xs" variant="default" onClick={onDone}>
        Clear
      </Button>
    </Group>
  )
}
