import { Button, Group, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../api.ts'
import { Confirm } from './confirm.tsx'

/** What can be done to the selected monitors together. */
export function BulkBar({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) {
  const queries = useQueryClient()
  if (ids.length === 0) return null
  const many = ids.length === 1 ? '1 monitor' : `${ids.length} monitors`
  return (
    <Group gap="sm" role="region" aria-label="Selected monitors">
      <Text size="sm">{many} selected</Text>
      <Confirm
        title={`Delete ${many}?`}
        action="Delete"
        work={async () => {
          try {
            for (const id of ids) await call('DELETE /v1/monitors/{id}', { params: { id } })
            onDone()
          } finally {
            await queries.invalidateQueries({ queryKey: ['monitors'] })
          }
        }}
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
