import { Tooltip } from '@mantine/core'
import { useInterval } from '@mantine/hooks'
import { useState } from 'react'
import { agoOf, exactOf } from './format.ts'

/** "3 minutes ago", kept true; the exact time on hover and for assistive programs. */
export function RelativeTime({ at, never = 'never' }: { at: string | null; never?: string }) {
  const [now, setNow] = useState(Date.now())
  useInterval(() => setNow(Date.now()), 10_000, { autoInvoke: true })
  if (at === null) return <span>{never}</span>
  return (
    <Tooltip label={exactOf(at)}>
      <time dateTime={at}>{agoOf(at, Math.max(now, Date.parse(at)))}</time>
    </Tooltip>
  )
}
