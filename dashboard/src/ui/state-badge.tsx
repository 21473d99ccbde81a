import './state-badge.css'

const WORDS = {
  up: 'Up',
  down: 'Down',
  degraded: 'Degraded',
  pending: 'Pending',
  unknown: 'Unknown',
  paused: 'Paused'
} as const

export type State = keyof typeof WORDS

/** The word is always there: colour alone tells nothing to many. What is well is quiet, what needs a person is not. */
export function StateBadge({ state, size = 'md' }: { state: State; size?: 'md' | 'lg' }) {
  return (
    <span className="state-badge" data-state={state} data-size={size}>
      {WORDS[state]}
    </span>
  )
}
