import { Button, Group } from '@mantine/core'

interface PagerProps {
  /** Cursors of the pages up to this one; the first page has none. */
  cursors: readonly string[]
  nextCursor: string | null
  /** Is the next page on its way? */
  isWaiting: boolean
  onTurn: (cursors: string[]) => void
}

/** Turns the pages of a list whose newest come first. */
export function Pager({ cursors, nextCursor, isWaiting, onTurn }: PagerProps) {
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" disabled={cursors.length === 0} onClick={() => onTurn(cursors.slice(0, -1))}>
        Newer
      </Button>
      <Button
        size="xs"
        variant="default"
        disabled={nextCursor === null || isWaiting}
        onClick={() => nextCursor === null || onTurn([...cursors, nextCursor])}
      >
        Older
      </Button>
    </Group>
  )
}
