import { Badge } from '@mantine/core'

const LOOKS = {
  up: { color: 'teal', word: 'Up' },
  down: { color: 'red', word: 'Down' },
  degraded: { color: 'yellow', word: 'Degraded' },
  pending: { color: 'blue', word: 'Pending' },
  unknown: { color: 'gray', word: 'Unknown' },
  paused: { color: 'gray', word: 'Paused' }
} as const

export type State = keyof typeof LOOKS

/** The word is always there: colour alone tells nothing to many. */
export function StateBadge({ state, size = 'md' }: { state: State; size?: 'md' | 'lg' }) {
  const { color, word } = LOOKS[state]
  return (
    <Badge
      color={color}
      size={size}
      variant={state === 'paused' ? 'outline' : 'filled'}
      autoContrast
      tt="none"
      style={{ flexShrink: 0 }}
    >
      {word}
    </Badge>
  )
}
